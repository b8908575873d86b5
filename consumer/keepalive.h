/* SPDX-License-Identifier: Apache-2.0 */
/* keepalive: the always empty partitions that keep a fetch in flight on every broker (see
   source.h): one partition of S.pulse led by each broker that leads any, chosen anew when leaders
   move. */
#ifndef DELAYBRIDGE_CONSUMER_KEEPALIVE_H
#define DELAYBRIDGE_CONSUMER_KEEPALIVE_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

struct keepalive;

struct keepalive *keepalive_new(const char *topic); /* borrowed for ever */
void keepalive_free(struct keepalive *keepalive);

/* Ask who leads what, for timeout_ms at most. True if the choice is another than before; with no
   answer the old one stays. */
bool keepalive_choose(struct keepalive *keepalive, rd_kafka_t *ask, int timeout_ms);

bool keepalive_is_chosen(const struct keepalive *keepalive);

/* Add the chosen partitions to an assignment that is about to be made. */
void keepalive_add(const struct keepalive *keepalive, rd_kafka_topic_partition_list_t *list);

/* Exchange the pulses in the handle's present assignment for the chosen ones. */
void keepalive_move(const struct keepalive *keepalive, rd_kafka_t *rk);

/* One handle's pulses may rest: nothing is fetched for them until they beat again. A new choice
   must not be moved into a handle whose pulses rest. */
void keepalive_pause(struct keepalive *keepalive, rd_kafka_t *rk);
void keepalive_resume(struct keepalive *keepalive, rd_kafka_t *rk);

/* Wake the handle's broker threads with one small request each, answered or not: within 0.1 s. It
   asks where the pulses end, and what is answered is where they start in the next assignment: a
   partition that is to be read from a place by name, as from its beginning, is read half a second
   later if the client did not know its leader when it was assigned. */
void keepalive_wake(struct keepalive *keepalive, rd_kafka_t *rk);

#endif
