/* SPDX-License-Identifier: Apache-2.0 */
/* log_ends: where the logs of partitions begin and end. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_LOG_ENDS_H
#define DELAYBRIDGE_CONSUMER_CLIENT_LOG_ENDS_H

#include "levels/err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

/* Fill in the list the first (LOG_BEGINNING) or the next offset (LOG_END) of each partition: one
   request for each broker. Each partition has an error of its own. */
enum { LOG_BEGINNING = RD_KAFKA_OFFSET_BEGINNING, LOG_END = RD_KAFKA_OFFSET_END };
rd_kafka_resp_err_t log_ends_ask(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                 int64_t which, int timeout_ms);

/* The same, asked again while leaders are being elected, as they are for a while when many
   partitions were just made. Not 0 if any partition failed. */
rd_kafka_resp_err_t log_ends_await(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                   int64_t which, int timeout_ms);

/* Both ends of one partition, or none: 0 or ERR_KAFKA. The client's own call for it answers, if one
   of its two questions fails, with the other's offset for both: an end for a beginning. */
int log_ends_of(rd_kafka_t *rk, const char *topic, int partition, int64_t *low, int64_t *end,
                int timeout_ms) must_check;

#endif
