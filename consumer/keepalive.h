/* SPDX-License-Identifier: Apache-2.0 */
/* keepalive: partitions that keep a fetch in flight on every broker (source.h has the reason). They
   belong to the topic S.pulse and are always empty. One partition is chosen for each broker that
   leads any; the choice is repeated when leaders move. */
#ifndef DELAYBRIDGE_CONSUMER_KEEPALIVE_H
#define DELAYBRIDGE_CONSUMER_KEEPALIVE_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

struct keepalive;

struct keepalive *keepalive_new(const char *topic); /* topic: borrowed */
void keepalive_free(struct keepalive *keepalive);

/* Requests the leaders with the handle ask, for timeout_ms at most. Returns true if the choice has
   changed. Without an answer the old choice stays. */
bool keepalive_choose(struct keepalive *keepalive, rd_kafka_t *ask, int timeout_ms);

/* Returns whether any partition is chosen. */
bool keepalive_is_chosen(const struct keepalive *keepalive);

/* Adds the chosen partitions to list, which becomes an assignment. */
void keepalive_add(const struct keepalive *keepalive, rd_kafka_topic_partition_list_t *list);

/* Replaces the keep-alive partitions in the assignment of rk by the chosen ones. */
void keepalive_move(const struct keepalive *keepalive, rd_kafka_t *rk);

/* Pause and resume the fetching of the keep-alive partitions of one handle. Resume before
   keepalive_move: a new choice must not replace paused partitions. */
void keepalive_pause(struct keepalive *keepalive, rd_kafka_t *rk);
void keepalive_resume(struct keepalive *keepalive, rd_kafka_t *rk);

/* Wakes the broker threads of rk with one small request each, and waits 0.1 s at most for the
   answers. Each answer is a log end, and becomes the partition's start in the next assignment. The
   logical start BEGINNING would cost half a second if the client does not know the leader yet. */
void keepalive_wake(struct keepalive *keepalive, rd_kafka_t *rk);

#endif
