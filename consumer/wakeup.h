/* SPDX-License-Identifier: Apache-2.0 */
/* wakeup: one pipe on which one thread waits for all queues of a worker and for the clock. A queue
   writes its number into the pipe when it stops being empty. It writes again only after it was read
   until empty, so the pipe cannot fill. */
#ifndef DELAYBRIDGE_CONSUMER_WAKEUP_H
#define DELAYBRIDGE_CONSUMER_WAKEUP_H

#include "levels/err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

/* Numbers of queues that belong to no partition, and of other events. Numbers from 0 are the
   bridge's queue indices (struct queue_id). */
enum {
    WAKEUP_LOOP = -1,
    WAKEUP_GROUP = -2,
    WAKEUP_COMMITS = -3,
    WAKEUP_REPORTS = -4,
    WAKEUP_ADMIN = -5
};

struct wakeup {
    int read_fd, write_fd;
};

/* Returns 0, or ERR_NO_MEMORY if the pipe cannot be created. */
int wakeup_init(struct wakeup *wakeup) must_check;
void wakeup_deinit(struct wakeup *wakeup);

/* Makes queue write number into the pipe from now on. Read the queue directly: a queue that is
   forwarded to another one never writes. */
void wakeup_attach(struct wakeup *wakeup, rd_kafka_queue_t *queue, int32_t number);

/* Writes number into the pipe, from any thread. */
void wakeup_signal(struct wakeup *wakeup, int32_t number);

/* Waits until a number arrives, for wait_us (microseconds) at most; 0 does not wait. Then calls
   each for every number in the pipe. Never returns in the first rest_us (at most wait_us), so that
   the numbers of this time share one call. */
void wakeup_wait(struct wakeup *wakeup, int64_t rest_us, int64_t wait_us,
                 void (*each)(void *ctx, int32_t number), void *ctx);

#endif
