/* SPDX-License-Identifier: Apache-2.0 */
/* admin: librdkafka's admin calls, made to look like functions: each sends, waits for the answer on
   a queue of its own and gives back the event. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_ADMIN_H
#define DELAYBRIDGE_CONSUMER_CLIENT_ADMIN_H

#include "levels/err.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

enum { ADMIN_ERROR_MAX = 1024 };

/* error and code tell about the last call that gave NULL. */
struct admin {
    rd_kafka_t *rk; /* borrowed */
    int timeout_ms;
    int32_t ask; /* the broker that describes settings: any will do; 0 or less: the controller */
    rd_kafka_resp_err_t code;
    char error[ADMIN_ERROR_MAX];
};

/* Each returns the answer, with a result and perhaps an error for each topic in it (owned by the
   caller: rd_kafka_event_destroy), or NULL if the call failed as a whole. What is passed in stays
   the caller's. */
rd_kafka_event_t *admin_create(struct admin *admin, rd_kafka_NewTopic_t **topics, size_t n);
rd_kafka_event_t *admin_grow(struct admin *admin, rd_kafka_NewPartitions_t **topics, size_t n);
rd_kafka_event_t *admin_describe(struct admin *admin, rd_kafka_ConfigResource_t **topics, size_t n);

/* Replaces all settings of each topic: those that are not in its resource go back to the default.
 */
rd_kafka_event_t *admin_alter(struct admin *admin, rd_kafka_ConfigResource_t **topics, size_t n);

/* True if code says that the broker cannot or may not answer: not a fault of the topics. */
bool admin_is_denied(rd_kafka_resp_err_t code);

#endif
