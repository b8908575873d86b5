/* SPDX-License-Identifier: Apache-2.0 */
/* asker: asks brokers whether a topic exists, and has leaders. The client's call waits for the
   answer, and the broker that it picks may be the one that gives none; so a blocking_call does, one
   question at a time.

   A topic that no list of all topics has is missing; the client is never given its name, since it
   would keep the name and ask for it each second. A list is at most half a second old when it says
   so, or twenty times as old as it took to get. */
#ifndef DELAYBRIDGE_CONSUMER_ASKER_H
#define DELAYBRIDGE_CONSUMER_ASKER_H

#include "bridge/core/port.h"
#include "consumer/wakeup.h"

#include <librdkafka/rdkafka.h>

struct asker;

/* NULL: no memory or no thread. */
struct asker *asker_new(struct wakeup *wakeup);
bool asker_free(struct asker *asker); /* as asker_settle; false: nothing was freed */

/* Pending until the wakeup pipe is signaled, or while another topic is asked about. An answer that
   nobody fetched within a second is forgotten. Never creates the topic. */
enum lookup asker_ask(struct asker *asker, rd_kafka_t *rk, const char *topic);

/* The same of one partition. One answer serves all partitions of the topic for a second. */
enum lookup asker_ask_partition(struct asker *asker, rd_kafka_t *rk, const char *topic,
                                int partition);

/* Waits until nobody is asked, for a second at most: before rk is destroyed. False: somebody still
   is. */
bool asker_settle(struct asker *asker) must_check;

#endif
