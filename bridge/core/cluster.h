/* SPDX-License-Identifier: Apache-2.0 */
/* cluster: the bridge's knowledge of Kafka as a whole. It distinguishes a target that does not
   answer from a cluster that is away. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_CLUSTER_H
#define DELAYBRIDGE_BRIDGE_CORE_CLUSTER_H

#include "bridge/core/state.h"
/* Something was acknowledged, or a commit succeeded. */
void cluster_answered(struct bridge *b);
/* A broker answered a look-up. */
void cluster_heard(struct bridge *b);
/* Returns whether brokers answer look-ups, and did so for HEARD_FOR_MS. Only look-ups show this
   while a transaction waits for its last reports, since nothing else is sent. */
bool cluster_is_heard(const struct bridge *b);
/* Returns whether brokers have named all leaders since the last stall. whole_mono_ms: time of their
   last such answer (0: never). after_ms: an answer counts only if it came at least this long after
   the stall. Also true if the port has a spare producer, because another transaction could begin
   then. */
bool cluster_leaders_are_known(const struct bridge *b, int64_t whole_mono_ms, int64_t after_ms);

#endif
