/* SPDX-License-Identifier: Apache-2.0 */
/* insync: how many replicas in sync the writes to a topic need, its min.insync.replicas. Metadata
   tells how many there are, and not how many are enough: only the topic's settings do. */
#ifndef DELAYBRIDGE_CONSUMER_INSYNC_H
#define DELAYBRIDGE_CONSUMER_INSYNC_H

#include <librdkafka/rdkafka.h>

/* Asks the brokers and waits, for timeout_ms and a second at most. 0: not known, since no broker
   answered, or the principal lacks the right DescribeConfigs on the topic. */
int insync_least(rd_kafka_t *rk, const char *topic, int timeout_ms);

#endif
