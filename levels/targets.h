/* SPDX-License-Identifier: Apache-2.0 */
/* targets: which topics a request may name. The allow-list that keeps the bridge from writing where
   its users could not. */
#ifndef DELAYBRIDGE_LEVELS_TARGETS_H
#define DELAYBRIDGE_LEVELS_TARGETS_H

#include "levels/bytes.h"

#include <stdbool.h>

/* Both pointers are borrowed and must outlive the struct. */
struct targets {
    const char *const *patterns; /* '*' stands for any run of characters, all else is literal */
    size_t patterns_n;
    const char *schedule; /* S: the schedule topic; its companions are never targets */
};

enum { TOPIC_NAME_MAX = 249 };

/* A name Kafka would accept: 1 to 249 of [A-Za-z0-9._-], not "." nor "..". */
bool topic_name_is_legal(struct bytes name);

/* One of the bridge's own topics: S, S.<a duration>, S.pulse, S.dead-letter, S.cancelled, S.events,
   S.canary; or a Kafka internal one (__*). */
bool topic_is_internal(const char *schedule, struct bytes name);

/* Legal, not internal, and matched by at least one pattern; or S.canary, which processes with and
   without a canary must agree about. */
bool targets_allow(const struct targets *targets, struct bytes name);

/* The place in patterns of the entry that counts for an allowed name: the one that matches with the
   longest literal beginning, of equal ones the later; -1: none matches, or S.canary. */
int targets_entry(const struct targets *targets, struct bytes name);

#endif
