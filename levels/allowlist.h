/* SPDX-License-Identifier: Apache-2.0 */
/* allowlist: the topics that requests may name as their target (configuration key `targets`). It
   prevents producers from using the bridge's rights to write to other topics. */
#ifndef DELAYBRIDGE_LEVELS_ALLOWLIST_H
#define DELAYBRIDGE_LEVELS_ALLOWLIST_H

#include "levels/topic_name.h"

/* Both pointers are borrowed and must outlive the struct. */
struct allowlist {
    const char *const *patterns; /* '*' matches any run of characters; all others are literal */
    size_t patterns_n;
    const char *schedule; /* S: the schedule topic; the bridge's own topics are never targets */
};

/* Returns whether a pattern consists of the characters of topic names and '*'. */
bool allowlist_pattern_is_legal(struct bytes pattern);

/* Returns whether a name matches one pattern. */
bool allowlist_pattern_matches(const char *pattern, struct bytes name);

/* Returns whether a name can match both patterns. */
bool allowlist_patterns_overlap(const char *a, const char *b);

/* Returns true for a legal name that is not internal and matches a pattern. Also returns true for
   S.canary: processes with and without a canary must judge it the same. */
bool allowlist_allows(const struct allowlist *allowlist, struct bytes name);

/* Returns the index of the pattern that applies to a name, or -1 if none matches and for S.canary.
   Of several that match, the one with the longest literal beginning applies; of equal ones, the
   last. */
int allowlist_entry(const struct allowlist *allowlist, struct bytes name);

#endif
