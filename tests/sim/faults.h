/* SPDX-License-Identifier: Apache-2.0 */
/* faults: each seed chooses its world, its workload and its mix of faults. A run has a phase of
   faults and a quiet phase in which every record must drain. At its end no record may be left. */
#ifndef DELAYBRIDGE_TESTS_SIM_FAULTS_H
#define DELAYBRIDGE_TESTS_SIM_FAULTS_H

#include "tests/sim/world.h"

/* The first part: everything that follows from the seed. */
void faults_choose(struct world *world);
void faults_end(struct world *world); /* the quiet phase begins */

/* A fair world to begin with: short delays, no fault. */
void setup_fair(struct world *world);

/* Start all processes of the setup. */
void run_start(struct world *world);
/* Drains all records and checks that none is left. After faults_end. */
void run_finish(struct world *world);
/* A whole seed. Leaves by world_fail if something is wrong. */
void run_seed(struct world *world);

#endif
