/* SPDX-License-Identifier: Apache-2.0 */
/* exhaustive: small worlds in which one thing goes wrong, at each place where it can, one after the
   other; both delivery modes. A death at each port call: two lanes, two levels, three records. Each
   other failure (failures.h): a few records more, good ones and bad ones. */
#ifndef DELAYBRIDGE_TESTS_SIM_EXHAUSTIVE_H
#define DELAYBRIDGE_TESTS_SIM_EXHAUSTIVE_H

#include "tests/sim/world.h"

/* One run, all of which follows from the world's seed: at which call it dies (0: never) and which
   variant of the world it is. */
uint64_t exhaustive_seed(uint64_t dies_at, int variant);
void exhaustive_run(struct world *world);

/* The same with another failure, at its at-th opportunity. */
uint64_t exhaustive_failure_seed(enum failure kind, uint64_t at, int variant);
void exhaustive_failure_run(struct world *world);

enum { EXHAUSTIVE_VARIANTS = 16, FAILURE_VARIANTS = 8 };

#endif
