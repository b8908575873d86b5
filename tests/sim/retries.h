/* SPDX-License-Identifier: Apache-2.0 */
/* retries: consumers that fail and send a record back with dlb-retry, and the rules for such
   requests. The waits of the policies are written here a second time, as a reader of the contract
   would compute them. */
#ifndef DELAYBRIDGE_TESTS_SIM_RETRIES_H
#define DELAYBRIDGE_TESTS_SIM_RETRIES_H

#include "tests/sim/workload.h"

/* The policies of the configuration. */
enum { POLICY_LIST, POLICY_SERIES, POLICY_DEADLINE, POLICIES_N };
enum { POLICY_DEADLINE_MS = 20000 };

/* Gives the policies to the rules of the bridges. */
void retries_init(struct world *world);

/* The headers of a consumer that failed. */
struct retry_ask {
    int policy;                   /* POLICIES_N: one that is not configured */
    int attempt;                  /* -1: the header is missing */
    int64_t first_ms;             /* 0: the header is missing */
    const struct request *origin; /* NULL: the header is missing */
};

/* The first retry of a record. */
struct request *retries_send(struct world *world, const struct ask *ask, int policy);
/* The next retry after a delivered one (from), with the headers of this delivery. */
struct request *retries_send_again(struct world *world, struct request *from);
/* A random first retry, or the next one of a request that was delivered. */
struct request *retries_random(struct world *world);

/* For workload_send: sets the expected outcome of a request with ask->retry. */
void retries_expect(struct world *world, struct request *request, const struct ask *ask);
/* Returns the value of a header of ask->retry; null: it has none. */
struct bytes retries_header(struct world *world, const struct ask *ask, const char *name);

/* Checks the stamp of a request with dlb-retry. */
void retries_check(struct process *process, const struct request *request,
                   const struct stamp *stamp);

#endif
