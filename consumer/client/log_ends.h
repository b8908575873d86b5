/* SPDX-License-Identifier: Apache-2.0 */
/* log_ends: the first and the next offsets of partitions. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_LOG_ENDS_H
#define DELAYBRIDGE_CONSUMER_CLIENT_LOG_ENDS_H

#include "levels/err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

/* Sets the offset of each partition in list to the first one (LOG_BEGINNING) or the next one
   (LOG_END) of its log. Sends one request to each broker. Returns the error of the whole call; each
   partition in list has its error. */
enum { LOG_BEGINNING = RD_KAFKA_OFFSET_BEGINNING, LOG_END = RD_KAFKA_OFFSET_END };
rd_kafka_resp_err_t log_ends_ask(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                 int64_t which, int timeout_ms);

/* Does the same, and repeats it while leaders are elected, as after the creation of many
   partitions. Returns an error if any partition failed. */
rd_kafka_resp_err_t log_ends_await(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                   int64_t which, int timeout_ms);

/* Sets both ends of one partition. Returns 0, or ERR_KAFKA if either is unknown.
   rd_kafka_query_watermark_offsets would return success when one of its two requests fails, with
   the same offset for both ends. */
int log_ends_of(rd_kafka_t *rk, const char *topic, int partition, int64_t *low, int64_t *end,
                int timeout_ms) must_check;

#endif
