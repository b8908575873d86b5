/* SPDX-License-Identifier: Apache-2.0 */
/* spreads: requests with dlb-spread, and their due time as the contract bounds it. */
#ifndef DELAYBRIDGE_TESTS_SIM_SPREADS_H
#define DELAYBRIDGE_TESTS_SIM_SPREADS_H

#include "tests/sim/workload.h"

/* Writes a random request with a spread: plain, a replace, with an expiry, or due in the past. */
struct request *spreads_random(struct world *world, int64_t most_ms);

/* Checks the chosen due time. It lies in the spread, before the expiry, and is the same in each
   stamp of the request. due_ms: epoch, as the request gives it. */
void spreads_check(struct world *world, struct request *request, const struct stamp *stamp,
                   int64_t due_ms);

#endif
