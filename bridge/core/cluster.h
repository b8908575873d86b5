/* SPDX-License-Identifier: Apache-2.0 */
/* cluster: what the bridge knows of Kafka as a whole. It tells a target that does not answer from a
   cluster that is away. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_CLUSTER_H
#define DELAYBRIDGE_BRIDGE_CORE_CLUSTER_H

#include "bridge/core/state.h"
/* Something was acknowledged, or a commit succeeded. */
void cluster_answered(struct bridge *b);
/* Whether brokers have named the leaders since the last stall: whole_ms is when they last said that
   all partitions have one (monotonic; 0: never), after_ms how long after a stall that counts. Also
   true if it does not matter, because the port has a spare producer. */
bool cluster_leaders_are_known(const struct bridge *b, int64_t whole_ms, int64_t after_ms);

#endif
