/* SPDX-License-Identifier: Apache-2.0 */
/* voids: the oracle of cancels. It knows by name and offset which requests a cancel voids, and
   which cancels a process must have in force. It has no table, no seal and no fingerprint: every
   cancel that was ever written binds for good. It shares no code with the bridge. */
#ifndef DELAYBRIDGE_TESTS_SIM_VOIDS_H
#define DELAYBRIDGE_TESTS_SIM_VOIDS_H

#include "tests/sim/oracle.h"

/* Returns whether a cancel that was written voids the request. */
bool void_is_allowed(const struct request *request);
/* Returns whether this cancel voids the request, and no other one does. */
bool void_is_sole(const struct world *world, const struct request *cancel,
                  const struct request *request);
void void_written(struct world *world, struct request *cancel);
/* A request is forwarded: fails if this process must have a cancel of it in force. */
void void_check_forward(struct process *process, const struct forwarded *f);
/* A record is forwarded to the topic of cancels. */
void void_check_entry(struct process *process, const struct forwarded *f);
/* A record was stored on the topic of cancels by this life, in its epoch of the lane. */
void void_stored(struct process *process, int life, int lane, struct entry *made);
/* Checks the number of entries that the process counts, after each call into the bridge. */
void void_check_bounds(struct process *process);
/* Checks the outcome of a cancel or a replace at the end. */
void void_check_outcome(struct world *world, const struct request *request);
/* Lets time pass until the tables of all processes are empty. All records are done. */
void void_drain(struct world *world);
/* The lane was assigned: cancels that can be read now are in force before it opens. */
void void_lane_gained(struct process *process, int lane, bool kept);
void void_notice(struct process *process, const struct notice *notice);
/* A commit covers the record: a request that was voided is finished. */
void void_covered(struct world *world, struct entry *entry);

#endif
