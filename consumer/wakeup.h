/* SPDX-License-Identifier: Apache-2.0 */
/* wakeup: one pipe that every queue of a worker rings with its number when it stops being empty, so
   that one thread waits for all of them and for the clock at once. A queue rings once and then not
   again until it was read empty: the pipe cannot fill. */
#ifndef DELAYBRIDGE_CONSUMER_WAKEUP_H
#define DELAYBRIDGE_CONSUMER_WAKEUP_H

#include "levels/err.h"

#include <librdkafka/rdkafka.h>
#include <stdint.h>

/* Numbers from 0 are the bridge's queue indices; these are not partitions. */
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

int wakeup_init(struct wakeup *wakeup) must_check;
void wakeup_deinit(struct wakeup *wakeup);

/* Let queue ring with number from now on. The queue must be read where it is, not forwarded. */
void wakeup_attach(struct wakeup *wakeup, rd_kafka_queue_t *queue, int32_t number);

/* Ring it by hand, from any thread. */
void wakeup_signal(struct wakeup *wakeup, int32_t number);

/* Wait at most wait_us (0: only look), then hand every number that rang to each. */
void wakeup_wait(struct wakeup *wakeup, int64_t wait_us, void (*each)(void *ctx, int32_t number),
                 void *ctx);

#endif
