/* SPDX-License-Identifier: Apache-2.0 */
/* bell: one pipe that every queue of a worker rings with its number when it stops being empty, so
   that one thread waits for all of them and for the clock at once. A queue rings once and then not
   again until it was read empty: the pipe cannot fill. */
#ifndef DELAYBRIDGE_CONSUMER_BELL_H
#define DELAYBRIDGE_CONSUMER_BELL_H

#include "levels/err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

/* Numbers from 0 are the bridge's queue indices; these are not partitions. */
enum { BELL_WAKE = -1, BELL_GROUP = -2, BELL_COMMITS = -3, BELL_REPORTS = -4, BELL_ADMIN = -5 };

struct bell {
    int read_fd, write_fd;
};

int bell_init(struct bell *bell) must_check;
void bell_deinit(struct bell *bell);

/* Let queue ring with number from now on. The queue must be read where it is, not forwarded. */
void bell_attach(struct bell *bell, rd_kafka_queue_t *queue, int32_t number);

/* Ring it by hand, from any thread. */
void bell_ring(struct bell *bell, int32_t number);

/* Wait at most wait_us (0: only look), then hand every number that rang to each. */
void bell_wait(struct bell *bell, int64_t wait_us, void (*each)(void *ctx, int32_t number),
               void *ctx);

#endif
