/* SPDX-License-Identifier: Apache-2.0 */
/* exhaustive: small worlds with one failure each, at each possible place in turn, in both delivery
   modes. In one kind of world a process dies: it has two lanes, two levels and three records. Half
   of its variants have a cancel and a replace, too. The worlds of all other failures (failures.h)
   have a few more records, valid and invalid ones. Some of these failures are a cancel or a replace
   of all waiting records at each step. The process may die before it reads that. */
#ifndef DELAYBRIDGE_TESTS_SIM_EXHAUSTIVE_H
#define DELAYBRIDGE_TESTS_SIM_EXHAUSTIVE_H

#include "tests/sim/world.h"

enum { DYING_PROCESSES = 2, DEATH_VARIANTS = 32, FAILURE_VARIANTS = 32 };

/* A kind is the process that dies, or the failure. The random draws depend on the variant only. So
   all runs of a variant are equal up to the place of their failure. */
struct scope {
    const char *option;
    int kinds, variants; /* kinds count from 1 */
    void (*run)(struct world *world);
};

extern const struct scope scope_of_deaths, scope_of_failures;

/* Returns the seed of one run. at: the opportunity at which the failure happens; 0: none. */
uint64_t scope_seed(const struct scope *scope, uint64_t at, int kind, int variant);

#endif
