/* SPDX-License-Identifier: Apache-2.0 */
/* admin: librdkafka's admin requests as functions that wait. Each sends a request, waits for the
   answer on its own queue, and returns the event. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_ADMIN_H
#define DELAYBRIDGE_CONSUMER_CLIENT_ADMIN_H

#include "bridge/base/error.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

/* error and code describe the last call that returned NULL. */
struct admin {
    rd_kafka_t *rk; /* borrowed */
    int timeout_ms;
    /* The id of the broker that describes settings. 0 or less: the controller describes them. */
    int32_t ask;
    rd_kafka_resp_err_t code;
    struct error error;
};

/* Each returns the answer, with a result for each topic that may be an error. The caller owns it
   (rd_kafka_event_destroy). Returns NULL if the whole request failed. The arguments stay the
   caller's. */
rd_kafka_event_t *admin_create(struct admin *admin, rd_kafka_NewTopic_t **topics, size_t n);
rd_kafka_event_t *admin_grow(struct admin *admin, rd_kafka_NewPartitions_t **topics, size_t n);
rd_kafka_event_t *admin_describe(struct admin *admin, rd_kafka_ConfigResource_t **topics, size_t n);

/* Replaces all settings of each topic: a setting that is not in its resource returns to the
   default. */
rd_kafka_event_t *admin_alter(struct admin *admin, rd_kafka_ConfigResource_t **topics, size_t n);

/* Returns true if code means that the broker cannot or may not answer, which is no fault of the
   topics. */
bool admin_is_denied(rd_kafka_resp_err_t code);

#endif
