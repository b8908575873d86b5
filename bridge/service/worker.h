/* SPDX-License-Identifier: Apache-2.0 */
/* worker: one thread with a bridge, a member of the group, a reader of levels and its producers:
   the whole way of a record for the lanes that the group gives it. Workers share nothing. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_WORKER_H
#define DELAYBRIDGE_BRIDGE_SERVICE_WORKER_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "bridge/core/stats.h"
#include "consumer/admin/commit_limits.h"
#include "levels/err.h"

#include <stdbool.h>

struct worker;

struct worker_config {
    const struct config *config; /* outlives the worker */
    int number;                  /* from 0: suffix of group.instance.id where there is one */
    int lanes;                   /* partitions of S */
    struct commit_limits commits;
    size_t record_max_bytes; /* the largest record that brokers take (request_limit.h) */
};

/* Connects, joins and starts the thread. Returns 0, or with a sentence in error ERR_KAFKA (try
   again), ERR_CONFIG or ERR_NO_MEMORY. */
int worker_start(const struct worker_config *config, struct worker **worker,
                 struct error *error) must_check;

const struct stats *worker_stats(const struct worker *worker);

/* It ended by itself, because another process has taken its place in the group, or because the
   group has lost its offsets; it has sent this process a SIGTERM. */
bool worker_failed(const struct worker *worker);

/* The group has said which lanes are its, be it none, and takes its heartbeats. */
bool worker_joined(const struct worker *worker);

/* When its loop last came round, monotonic; may be a few seconds ago when lanes go. */
int64_t worker_turned_mono_ms(const struct worker *worker);

/* Take what can change while running from live, at the next turn; it outlives the worker, or until
   worker_live says another. */
void worker_reload(struct worker *worker, const struct config *live);
const struct config *worker_live(const struct worker *worker); /* the last one taken; NULL: none */

/* Brokers take other sizes now: known to the worker at its next turn. */
void worker_limit(struct worker *worker, size_t record_max_bytes);

/* Ask it to drain and leave; returns at once. worker_join waits for that, at most about
   config->drain_ms, frees it, and returns how many records were still in flight then: the next
   owner of their lanes forwards them again. */
void worker_stop(struct worker *worker);
size_t worker_join(struct worker *worker);

#endif
