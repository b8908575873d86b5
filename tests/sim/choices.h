/* SPDX-License-Identifier: Apache-2.0 */
/* choices: the setup of a seed, the probabilities of its small faults, and its workload. Call them
   in this order. */
#ifndef DELAYBRIDGE_TESTS_SIM_CHOICES_H
#define DELAYBRIDGE_TESTS_SIM_CHOICES_H

#include "tests/sim/world.h"

/* Sets up a fair world: short delays, no fault. */
void setup_fair(struct world *world);

void choices_setup(struct world *world);
void choices_knobs(struct world *world);
/* Chooses requests, cancels, retries, pauses and the stream for a slow target, until faults_ms. */
void choices_workload(struct world *world, int64_t faults_ms);

#endif
