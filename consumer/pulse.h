/* SPDX-License-Identifier: Apache-2.0 */
/* pulse: the always empty partitions that keep a fetch in flight on every broker (see source.h):
   one partition of S.pulse led by each broker that leads any, chosen anew when leaders move. */
#ifndef DELAYBRIDGE_CONSUMER_PULSE_H
#define DELAYBRIDGE_CONSUMER_PULSE_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

struct pulse;

struct pulse *pulse_new(const char *topic); /* borrowed for ever */
void pulse_free(struct pulse *pulse);

/* Ask who leads what, for timeout_ms at most. True if the choice is another than before; with no
   answer the old one stays. */
bool pulse_choose(struct pulse *pulse, rd_kafka_t *ask, int timeout_ms);

bool pulse_is_chosen(const struct pulse *pulse);

/* Add the chosen partitions to an assignment that is about to be made. */
void pulse_add(const struct pulse *pulse, rd_kafka_topic_partition_list_t *list);

/* Exchange the pulses in the handle's present assignment for the chosen ones. */
void pulse_move(const struct pulse *pulse, rd_kafka_t *rk);

/* One handle's pulses may rest: nothing is fetched for them until they beat again. A new choice
   must not be moved into a handle whose pulses rest. */
void pulse_rest(struct pulse *pulse, rd_kafka_t *rk);
void pulse_beat(struct pulse *pulse, rd_kafka_t *rk);

/* Wake the handle's broker threads with one small request each, answered or not: within 0.1 s. It
   asks where the pulses end, and what is answered is where they start in the next assignment: a
   partition that is to be read from a place by name, as from its beginning, is read half a second
   later if the client did not know its leader when it was assigned. */
void pulse_kick(struct pulse *pulse, rd_kafka_t *rk);

#endif
