/* SPDX-License-Identifier: Apache-2.0 */
/* topic_lookup: answers whether a topic exists, and whether its partitions have leaders and enough
   replicas in sync. The client's metadata call waits for a broker, and it may pick a dead one. So a
   blocking_call makes it, for one topic at a time. Only the worker's thread may call these
   functions.

   A topic is missing if it is not in the list of all topics. The client never gets the name of a
   missing topic: it would keep the name and request its metadata each second. A list serves for
   half a second, or for twenty times as long as the request took. */
#ifndef DELAYBRIDGE_CONSUMER_TOPIC_LOOKUP_H
#define DELAYBRIDGE_CONSUMER_TOPIC_LOOKUP_H

#include "bridge/core/port.h"
#include "consumer/wakeup.h"

#include <librdkafka/rdkafka.h>

struct topic_lookup;

/* Returns NULL if memory or a thread is lacking. */
struct topic_lookup *topic_lookup_new(struct wakeup *wakeup);

/* Waits as topic_lookup_settle does. Returns false if a call still runs; nothing is freed then. */
bool topic_lookup_free(struct topic_lookup *lookup);

/* Returns the worst state of the topic's partitions, or LOOKUP_MISSING. Returns LOOKUP_PENDING
   until the wakeup pipe is signaled, and while another topic is looked up: call it again then. An
   answer expires after a second. Never creates the topic. */
enum lookup topic_lookup_get(struct topic_lookup *lookup, rd_kafka_t *rk, const char *topic);

/* Does the same for one partition. One answer serves all partitions of the topic for a second. A
   partition that the topic does not have is LOOKUP_UNWRITABLE. */
enum lookup topic_lookup_get_partition(struct topic_lookup *lookup, rd_kafka_t *rk,
                                       const char *topic, int partition);

/* Makes each answer MISSING depend on a new list, and on the rights of the principal. rk must then
   be a consumer with a group. Call it before the first look-up. */
void topic_lookup_ask_rights(struct topic_lookup *lookup);

/* Returns whether the last topic was MISSING because the principal may not describe it. It may
   exist. */
bool topic_lookup_is_denied(const struct topic_lookup *lookup);

/* Waits for the running call, for a second at most. Returns false if it still runs, and so uses rk:
   rk must not be destroyed then. */
bool topic_lookup_settle(struct topic_lookup *lookup) must_check;

#endif
