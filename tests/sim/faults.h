/* SPDX-License-Identifier: Apache-2.0 */
/* faults: a seed chooses its world, its workload and its mix of faults. A run has a phase of
   faults, then a quiet phase in which all records must drain. */
#ifndef DELAYBRIDGE_TESTS_SIM_FAULTS_H
#define DELAYBRIDGE_TESTS_SIM_FAULTS_H

#include "tests/sim/world.h"

/* Chooses everything that depends on the seed. */
void faults_choose(struct world *world);
void faults_end(struct world *world); /* begins the quiet phase */

/* Starts all processes of the setup. */
void run_start(struct world *world);
/* Drains all records and checks that none is left. Call it after faults_end. */
void run_finish(struct world *world);
/* Runs a whole seed. Leaves by world_fail if a check fails. */
void run_seed(struct world *world);

#endif
