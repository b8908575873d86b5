/* SPDX-License-Identifier: Apache-2.0 */
/* workload: requests as producers write them, valid and invalid, each with its required outcome. */
#ifndef DELAYBRIDGE_TESTS_SIM_WORKLOAD_H
#define DELAYBRIDGE_TESTS_SIM_WORKLOAD_H

#include "tests/sim/oracle.h"

/* Indices of world.targets. */
enum { TARGET_DEFAULT, TARGET_A, TARGET_B, TARGET_GHOST, TARGET_DENIED };

/* A request to be. All 0: due at once, to the default target, without key and value. */
struct ask {
    int lane;
    int64_t delay_ms;  /* from the record's timestamp; may be negative if absolute */
    bool absolute;     /* dlb-deliver-at, not dlb-delay */
    bool no_timestamp; /* the record has none: only with dlb-delay */
    int64_t age_ms;    /* its timestamp lies so far back */
    int target;
    const char *key, *id; /* NULL: none */
    const char *override_key;
    bool override_null;
    bool has_value;
    size_t value_len;
    int64_t expires_in_ms; /* after due; 0: never. Negative: it comes expired */
    int headers;           /* of the business */
    enum code fault;       /* its fault; CODE_OK: none */
};

void workload_init(struct world *world);
struct request *workload_send(struct world *world, const struct ask *ask);

/* Text of so many bytes, for ask.key. */
const char *workload_long_key(struct world *world, size_t len);

/* One like any, with a delay of at most most_ms. */
struct request *workload_random(struct world *world, int64_t most_ms);

/* A batch of n records that no client can read. One entry stands for it. */
struct entry *workload_unreadable(struct world *world, int topic, int lane, int n);
/* A record on a level topic that no bridge wrote. damaged: it begins like an envelope. */
struct entry *workload_foreign(struct world *world, int topic, int lane, bool damaged);

#endif
