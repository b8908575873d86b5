/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios: interleavings that the random mix would rarely hit, each pinned as a small story. */
#ifndef DELAYBRIDGE_TESTS_SIM_SCENARIOS_H
#define DELAYBRIDGE_TESTS_SIM_SCENARIOS_H

#include "tests/sim/world.h"

struct scenario {
    const char *name;
    void (*run)(struct world *world);
};

extern const struct scenario scenarios[]; /* the last has no name */

#endif
