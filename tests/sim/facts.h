/* SPDX-License-Identifier: Apache-2.0 */
/* facts: the oracle of the events that the bridge writes to its topic of events. It reads their
   text, and compares it with the outcomes of each request. With exactly-once each fact has one
   event in the transaction of its outcome. Otherwise it has at least one. No event reports anything
   else. The oracle shares no code with the bridge. */
#ifndef DELAYBRIDGE_TESTS_SIM_FACTS_H
#define DELAYBRIDGE_TESTS_SIM_FACTS_H

#include "tests/sim/producer.h"

struct told;    /* the content of one event */
struct written; /* coordinator.h */

/* Reads an event that is forwarded, and checks the facts that are known by now. */
struct told *facts_forwarded(struct process *process, const struct forward *forward);
/* The event is stored for readers of committed records. */
void facts_stored(struct world *world, const struct told *told);
/* An outcome of a request is stored for readers of committed records. */
void facts_outcome(const struct written *it);
/* Chooses whether a seed has events, and which. */
void facts_choose(struct world *world);
void facts_final(struct world *world);

#endif
