/* SPDX-License-Identifier: Apache-2.0 */
/* exhaustive: a small world in which a process dies at each port call there is, one after the
   other: two lanes, two levels, three records; both delivery modes. */
#ifndef DELAYBRIDGE_TESTS_SIM_EXHAUSTIVE_H
#define DELAYBRIDGE_TESTS_SIM_EXHAUSTIVE_H

#include "tests/sim/world.h"

/* One run, all of which follows from the world's seed: at which call it dies (0: never) and which
   variant of the world it is. */
uint64_t exhaustive_seed(uint64_t dies_at, int variant);
void exhaustive_run(struct world *world);

enum { EXHAUSTIVE_VARIANTS = 16 };

#endif
