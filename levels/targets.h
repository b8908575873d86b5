/* SPDX-License-Identifier: Apache-2.0 */
/* targets: the allow-list of topics that requests may name. It prevents producers from using the
   bridge's rights to write to other topics. */
#ifndef DELAYBRIDGE_LEVELS_TARGETS_H
#define DELAYBRIDGE_LEVELS_TARGETS_H

#include "levels/bytes.h"

#include <stdbool.h>

/* Both pointers are borrowed and must outlive the struct. */
struct targets {
    const char *const *patterns; /* '*' matches any run of characters; all others are literal */
    size_t patterns_n;
    const char *schedule; /* S: the schedule topic; its own topics are never targets */
};

enum { TOPIC_NAME_MAX = 249 };

/* Returns true for a name that Kafka accepts: 1 to 249 of [A-Za-z0-9._-], but not "." or "..". */
bool topic_name_is_legal(struct bytes name);

/* Returns true for the bridge's own topics and Kafka's internal ones (__*). The bridge's own are S,
   S.DURATION, S.pulse, S.dead-letter, S.cancelled, S.events and S.canary. */
bool topic_is_internal(const char *schedule, struct bytes name);

/* Returns true for a legal name that is not internal and matches a pattern. Also returns true for
   S.canary: processes with and without a canary must judge it the same. */
bool targets_allow(const struct targets *targets, struct bytes name);

/* Returns the index of the pattern that applies to a name, or -1 if none matches and for S.canary.
   Of several that match, the one with the longest literal beginning applies; of equal ones, the
   last. */
int targets_entry(const struct targets *targets, struct bytes name);

#endif
