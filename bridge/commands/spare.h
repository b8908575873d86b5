/* SPDX-License-Identifier: Apache-2.0 */
/* spare: producers between two writes of the admin API. A new producer connects, reads metadata and
   gets an id, which costs Kafka and this process more than a write. So each of the clients that
   write at the same time leaves its producer for the next second. The producer that was kept last
   is used first, and those below it expire. Safe from any thread. No call waits for Kafka with the
   lock. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_SPARE_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_SPARE_H

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdint.h>

/* SPARE_MAX: as many as one address may have connections. */
enum { SPARE_MAX = 16, SPARE_KEEP_MS = 30 * 1000 };

struct spare_producer {
    rd_kafka_t *rk; /* owned, of sending.h */
    int64_t used_mono_ms;
};

struct spare {
    pthread_mutex_t mutex; /* of all members */
    int n;
    struct spare_producer kept[SPARE_MAX]; /* that of the oldest use first */
};

void spare_init(struct spare *spare);

/* Destroys all producers. */
void spare_deinit(struct spare *spare);

/* Returns a producer, which the caller then owns, or NULL: none is kept. */
rd_kafka_t *spare_take(struct spare *spare);

/* Takes ownership of a producer. Destroys it if SPARE_MAX are kept. */
void spare_keep(struct spare *spare, rd_kafka_t *producer, int64_t now_mono_ms);

/* Destroys the producers that were not used for SPARE_KEEP_MS. */
void spare_expire(struct spare *spare, int64_t now_mono_ms);

#endif
