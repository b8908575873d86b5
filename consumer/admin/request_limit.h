/* SPDX-License-Identifier: Apache-2.0 */
/* request_limit: the largest record that the bridge sends. A broker closes the connection without a
   reason when a request exceeds its socket.request.max.bytes. The client would send the record
   again without end, and all other records on that connection would wait. So the bridge reads the
   brokers' limit, and never sends a larger record. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_REQUEST_LIMIT_H
#define DELAYBRIDGE_CONSUMER_ADMIN_REQUEST_LIMIT_H

#include "bridge/base/error.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_LIMIT_DEFAULT INT64_C(104857600) /* Kafka's default */

/* Returns how many bytes of key, value and headers fit a request of this size, within the range of
   message.max.bytes. */
size_t record_max_of_request(int64_t request_max_bytes);

/* Requests the limit of all live brokers. Returns record_max_of_request of the smallest one.
   Without an answer, uses Kafka's default and sets *known to false; error has the reason. */
size_t request_limit_ask(rd_kafka_t *rk, int timeout_ms, bool *known, struct error *error);

#endif
