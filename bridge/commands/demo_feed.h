/* SPDX-License-Identifier: Apache-2.0 */
/* demo_feed: both ends of the demonstration: a producer that sends requests as a shop would, and a
   consumer that receives the deliveries. Ordinary clients over TCP, in threads of their own. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_DEMO_FEED_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_DEMO_FEED_H

#include "bridge/config/config.h"

struct demo_feed;

/* A request that was sent, or a delivery that arrived. */
struct demo_event {
    bool delivered;
    char target[40];
    char key[24];
    int64_t at_ms; /* sent or delivered */
    int64_t due_ms;
    int64_t delay_ms; /* sent */
    int64_t late_ms;  /* delivered */
};

/* The targets that requests name, one partition each; NULL after the last. */
const char *demo_feed_target(int n);

/* Sends for send_ms, in the rhythm of a small shop; every delay ends before end_ms. NULL with a
   sentence in error. on_event is called from the feed's threads, one at a time. */
struct demo_feed *demo_feed_start(const struct config *config, int64_t send_ms, int64_t end_ms,
                                  void (*on_event)(void *ctx, const struct demo_event *event),
                                  void *ctx, char *error, size_t error_size);
void demo_feed_stop(struct demo_feed *feed);

#endif
