/* SPDX-License-Identifier: Apache-2.0 */
/* workload: requests as producers write them, valid and invalid, each with its required outcome. */
#ifndef DELAYBRIDGE_TESTS_SIM_WORKLOAD_H
#define DELAYBRIDGE_TESTS_SIM_WORKLOAD_H

#include "tests/sim/oracle.h"

/* Indices of world.targets. */
enum { TARGET_DEFAULT, TARGET_A, TARGET_B, TARGET_GHOST, TARGET_DENIED };

/* A request to write. All 0: due at once, to the default target, without key and value. */
struct ask {
    int lane;
    int64_t delay_ms;  /* counted from the record's timestamp; may be negative if absolute */
    bool absolute;     /* dlb-deliver-at, not dlb-delay */
    bool no_timestamp; /* the record has no timestamp; only with dlb-delay */
    int64_t age_ms;    /* age of its timestamp */
    int target;
    const char *key, *id; /* NULL: none */
    const char *override_key;
    bool override_null;
    bool has_value;
    size_t value_len;
    int64_t expires_in_ms;         /* counted from due; 0: never; negative: expired already */
    int headers;                   /* number of user headers */
    enum code fault;               /* its fault; CODE_OK: none */
    enum request_op op;            /* REQUEST_CANCEL: only lane, key, id and fault count */
    int64_t spread_ms;             /* 0: none */
    const struct retry_ask *retry; /* dlb-retry in place of a time; NULL: none */
    bool etf1; /* written with the headers of etf1's scheduler: a replace, or with a null
                  value a cancel. Only key, delay_ms and target count, in seconds */
};

void workload_init(struct world *world);
struct request *workload_send(struct world *world, const struct ask *ask);

/* Returns a text of len bytes, for ask.key. */
const char *workload_long_key(struct world *world, size_t len);

/* Writes a random request with a delay of at most most_ms. */
struct request *workload_random(struct world *world, int64_t most_ms);

/* A cancel or replace of a name that others have. */
struct request *workload_cancel(struct world *world, int64_t most_ms);

/* Appends a batch of n records that no client can read. One entry represents it. */
struct entry *workload_unreadable(struct world *world, int topic, int lane, int n);
/* Appends a record that no bridge wrote to a level topic. damaged: it begins like an envelope. */
struct entry *workload_foreign(struct world *world, int topic, int lane, bool damaged);

#endif
