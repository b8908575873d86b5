/* SPDX-License-Identifier: Apache-2.0 */
/* demo_feed: both ends of the demonstration. A producer sends requests as a shop would, and a
   consumer receives the deliveries. Both are ordinary clients over TCP, each in its own thread. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_DEMO_FEED_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_DEMO_FEED_H

#include "bridge/config/config.h"

struct demo_feed;

/* A request that was sent, or a delivery that arrived. */
struct demo_event {
    bool delivered;
    char target[40];
    char key[24];
    int64_t at_ms; /* when it was sent or delivered; wall clock */
    int64_t due_ms;
    int64_t delay_ms; /* of a request */
    int64_t late_ms;  /* of a delivery */
};

/* Returns the n-th target of the requests, or NULL after the last. Each has one partition. */
const char *demo_feed_target(int n);

/* Sends requests for send_ms. All of them are due within end_ms. Calls on_event from its threads,
   one call at a time. Returns NULL with a sentence in error if it cannot start. */
struct demo_feed *demo_feed_start(const struct config *config, int64_t send_ms, int64_t end_ms,
                                  void (*on_event)(void *ctx, const struct demo_event *event),
                                  void *ctx, struct error *error);
void demo_feed_stop(struct demo_feed *feed);

#endif
