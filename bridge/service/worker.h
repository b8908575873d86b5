/* SPDX-License-Identifier: Apache-2.0 */
/* worker: one thread that forwards the records of its lanes. It has a bridge, a member of the
   consumer group, a consumer of levels, and producers. Workers share nothing. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_WORKER_H
#define DELAYBRIDGE_BRIDGE_SERVICE_WORKER_H

#include "bridge/base/clock.h"
#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "bridge/core/stats.h"
#include "consumer/admin/commit_limits.h"
#include "levels/err.h"

#include <stdbool.h>

struct worker;

struct worker_config {
    const struct config *config; /* outlives the worker */
    int number;                  /* from 0; suffix of the operator's group.instance.id */
    int lanes;                   /* partitions of the schedule topic */
    struct commit_limits commits;
    size_t record_max_bytes;   /* the largest record that brokers accept (request_limit.h) */
    const struct clock *clock; /* NULL: the system's; outlives the worker */
    int failure_fd;            /* an eventfd that the worker adds 1 to if it ends by itself */
};

/* Connects, joins the group and starts the thread. Returns 0 and sets *worker. Otherwise writes a
   sentence to error and returns ERR_KAFKA (try again), ERR_CONFIG or ERR_NO_MEMORY. */
int worker_start(const struct worker_config *config, struct worker **worker,
                 struct error *error) must_check;

/* The functions from here to worker_stop are safe from any thread. */

const struct stats *worker_stats(const struct worker *worker);

/* Returns true after the worker ended by itself, because another process has its group.instance.id
   or the group lost its offsets. */
bool worker_failed(const struct worker *worker);

/* Returns true while the worker is a member of the group and knows its lanes, which may be none. */
bool worker_joined(const struct worker *worker);

/* Returns the time of the last turn, of the monotonic clock. It may be a few seconds ago while
   lanes are revoked. */
int64_t worker_turned_mono_ms(const struct worker *worker);

/* At its next turn, the worker applies those settings of live that may change at run time. live
   must stay valid until worker_live returns a later one, or until the worker ends. */
void worker_reload(struct worker *worker, const struct config *live);
/* Returns the configuration that was applied last; NULL: none since the start. */
const struct config *worker_live(const struct worker *worker);

/* Sets the largest record that brokers accept, from the next turn on. */
void worker_limit(struct worker *worker, size_t record_max_bytes);

/* Requests the end of the worker, which then drains and leaves the group. Returns at once. */
void worker_stop(struct worker *worker);

/* Waits for the end, about config->drain_ms at most. Returns the number of records that were still
   in flight. The next owner of their lanes forwards them again. */
size_t worker_join(struct worker *worker);

/* Leaves the group, and frees all parts that exist. The worker was joined. */
void worker_free(struct worker *worker);

#endif
