/* SPDX-License-Identifier: Apache-2.0 */
/* exhaustive: small worlds in which one thing goes wrong, at each place where it can, one after the
   other; both delivery modes. A death at each port call: two lanes, two levels, three records. Each
   other failure (failures.h): a few records more, good ones and bad ones. */
#ifndef DELAYBRIDGE_TESTS_SIM_EXHAUSTIVE_H
#define DELAYBRIDGE_TESTS_SIM_EXHAUSTIVE_H

#include "tests/sim/world.h"

enum { DYING_PROCESSES = 2, DEATH_VARIANTS = 32, FAILURE_VARIANTS = 32 };

/* kind: which process dies, or which failure it is. What a run draws follows from the variant
   alone, so that all runs of a variant are the same run, each up to its own place. */
struct scope {
    const char *option;
    int kinds, variants; /* kinds: from 1 on */
    void (*run)(struct world *world);
};

extern const struct scope scope_of_deaths, scope_of_failures;

/* One run: at which place it goes wrong; 0: nowhere. */
uint64_t scope_seed(const struct scope *scope, uint64_t at, int kind, int variant);

#endif
