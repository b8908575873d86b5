/* SPDX-License-Identifier: Apache-2.0 */
/* retry: the wait before the next try of a consumer that sends a record back with dlb-retry. Pure:
   the clock is a parameter, and equal parameters give equal waits. */
#ifndef DELAYBRIDGE_LEVELS_RETRY_H
#define DELAYBRIDGE_LEVELS_RETRY_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdint.h>

enum { RETRY_DELAYS_MAX = 64, RETRY_ATTEMPTS_MAX = 65535, RETRY_NAME_MAX = 64 };

/* A list of delays, or an exponential series if delays_n is 0. The owner of the policy owns the
   name. */
struct retry_policy {
    char *name;                          /* the value of dlb-retry; at most RETRY_NAME_MAX bytes */
    int64_t delays_ms[RETRY_DELAYS_MAX]; /* each from 1 */
    int delays_n;
    int64_t first_ms;    /* of the series, from 1 */
    int64_t longest_ms;  /* its bound, from first_ms */
    double factor;       /* from 1 */
    int attempts;        /* of the series: the number of retries, from 1 to RETRY_ATTEMPTS_MAX */
    double jitter;       /* from 0 to 1: a wait becomes longer or shorter by at most this part */
    int64_t deadline_ms; /* from the first request to the last accepted retry; 0: none */
};

/* Where a request stands. */
struct retry_state {
    int attempt;      /* the retries so far: 0 in the first request */
    int64_t first_ms; /* epoch: the timestamp of the first request */
    uint32_t lane;    /* of this request, for the jitter */
    int64_t offset;
};

enum retry_answer { RETRY_WAITS, RETRY_OUT_OF_ATTEMPTS, RETRY_PAST_DEADLINE };

/* Returns RETRY_WAITS and sets *wait_ms, at least 1: the next try is due then, counted from now_ms.
   Otherwise, the retries are exhausted. */
enum retry_answer retry_next(const struct retry_policy *policy, const struct retry_state *state,
                             int64_t now_ms, int64_t *wait_ms) must_check;

/* Returns the policy of this name, or NULL. */
const struct retry_policy *retry_find(const struct retry_policy *policies, size_t n,
                                      struct bytes name);

/* Returns the number of retries before the policy is exhausted by attempts. */
int retry_attempts(const struct retry_policy *policy);

/* Returns the wait before retry number n, from 1, without jitter. */
int64_t retry_wait(const struct retry_policy *policy, int n);

#endif
