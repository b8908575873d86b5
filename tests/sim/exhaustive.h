/* SPDX-License-Identifier: Apache-2.0 */
/* exhaustive: small worlds in which one failure happens, at each possible place in turn, in both
   delivery modes. A process dies at each port call of a world with two lanes, two levels and three
   records. Each other failure (failures.h) has a few more records, valid and invalid ones. */
#ifndef DELAYBRIDGE_TESTS_SIM_EXHAUSTIVE_H
#define DELAYBRIDGE_TESTS_SIM_EXHAUSTIVE_H

#include "tests/sim/world.h"

enum { DYING_PROCESSES = 2, DEATH_VARIANTS = 32, FAILURE_VARIANTS = 32 };

/* kind: the process that dies, or the failure. The variant alone determines the random draws. So
   all runs of a variant are the same run, each up to its own place. */
struct scope {
    const char *option;
    int kinds, variants; /* kinds: from 1 on */
    void (*run)(struct world *world);
};

extern const struct scope scope_of_deaths, scope_of_failures;

/* Returns the seed of one run. at: the opportunity that fails; 0: none. */
uint64_t scope_seed(const struct scope *scope, uint64_t at, int kind, int variant);

#endif
