/* SPDX-License-Identifier: Apache-2.0 */
/* insync: how many replicas in sync a write to a topic needs, its min.insync.replicas. Metadata
   names the replicas in sync, but only the topic's settings say how many are enough. */
#ifndef DELAYBRIDGE_CONSUMER_INSYNC_H
#define DELAYBRIDGE_CONSUMER_INSYNC_H

#include <librdkafka/rdkafka.h>

/* Returns min.insync.replicas, or 0 if no broker answers or the principal lacks DescribeConfigs on
   the topic. Blocks for timeout_ms and one second at most. */
int insync_least(rd_kafka_t *rk, const char *topic, int timeout_ms);

#endif
