/* SPDX-License-Identifier: Apache-2.0 */
/* lane_ends: queries the brokers for the ends of all logs of lanes (port.query_ends), in a separate
   thread with its own handles. Lanes that are requested while a query runs share the next one. Idle
   handles are closed: each costs a thousandth of a core. Only the worker's thread may call these
   functions. */
#ifndef DELAYBRIDGE_CONSUMER_LANE_ENDS_H
#define DELAYBRIDGE_CONSUMER_LANE_ENDS_H

#include "bridge/config/config.h"
#include "bridge/core/port.h"
#include "consumer/wakeup.h"

struct lane_ends;

struct lane_ends_config {
    const struct config *config; /* borrowed */
    const char *const *topics;   /* by slot, then the topic of cancels; borrowed */
    int topics_n;
    int lanes;
    struct wakeup *wakeup;
    /* ends: one for each topic. whole: each partition has a leader and all of its replicas, and
       all ends are known. If not whole, ends of topics between the first and the last may be 0. */
    void (*answered)(void *ctx, int lane, const struct log_ends *ends, bool whole);
    void *ctx;
};

/* Returns NULL if memory or a thread is lacking. */
struct lane_ends *lane_ends_new(const struct lane_ends_config *config);

/* Waits for the running query, for one second at most. Returns false if it still runs. It then
   keeps everything that the configuration borrows in use, and nothing is freed. */
bool lane_ends_free(struct lane_ends *lane_ends);

/* Queries the ends of a lane. lane_ends_serve then calls answered, unless the leader of the first
   or the last topic does not answer. The answer is never older than this call. */
void lane_ends_ask(struct lane_ends *lane_ends, int lane);

/* Drops the answers for all lanes, which are lost. */
void lane_ends_drop_all(struct lane_ends *lane_ends);

/* Passes answers on and starts the next query. Call it each turn. */
void lane_ends_serve(struct lane_ends *lane_ends);

#endif
