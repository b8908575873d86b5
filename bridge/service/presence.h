/* SPDX-License-Identifier: Apache-2.0 */
/* presence: a thread next to the workers. It publishes the summary of this process
   (member_record.h) on the topic S.control each MEMBER_EVERY_MS, and removes it at the end. Other
   processes do not read it, so the forwarding of records does not depend on it. Without the topic
   or the right to write to it, only check and top miss this process. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_PRESENCE_H
#define DELAYBRIDGE_BRIDGE_SERVICE_PRESENCE_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

struct presence;

struct presence_config {
    const struct config *config; /* at the start; outlives the presence */
    rd_kafka_t *producer;        /* borrowed; with presence_on_written */
    int (*owned)(void *ctx);     /* lanes that this process owns; called from its thread */
    void *ctx;
};

/* Starts the thread. Returns NULL with a sentence in error. */
struct presence *presence_start(const struct presence_config *config, struct error *error);

/* The workers have applied another configuration. Any thread may call it. */
void presence_update(struct presence *presence, const struct config *live);

/* Removes the summary, and stops the thread. Waits for a second at most for a broker. Returns false
   if a look-up still uses the producer, and nothing is freed then. */
bool presence_stop(struct presence *presence);

/* The delivery callback of the producer. */
void presence_on_written(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque);

#endif
