/* SPDX-License-Identifier: Apache-2.0 */
/* request_limit: how large a record may be that the bridge sends. A broker closes the connection
   when a request exceeds its socket.request.max.bytes, and does not say why: the client would send
   the record again without end, and every other record on that connection would wait. So the
   brokers are asked for that limit, and a larger record is never sent. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_REQUEST_LIMIT_H
#define DELAYBRIDGE_CONSUMER_ADMIN_REQUEST_LIMIT_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_LIMIT_DEFAULT INT64_C(104857600) /* Kafka's own */

/* The bytes of one record's key, value and headers that fit a request of this size, within what a
   client's message.max.bytes can be. */
size_t record_max_of_request(int64_t request_max_bytes);

/* Asks all live brokers: the smallest limit counts. Without an answer it is Kafka's default; then
 *known is false, and why has the reason. */
enum { REQUEST_LIMIT_WHY_MAX = 256 };
size_t request_limit_ask(rd_kafka_t *rk, int timeout_ms, bool *known,
                         char why[REQUEST_LIMIT_WHY_MAX]);

#endif
