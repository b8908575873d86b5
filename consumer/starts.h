/* SPDX-License-Identifier: Apache-2.0 */
/* starts: what to know before lanes start at committed offsets: topics that do not exist, and
   offsets that the group has lost. */
#ifndef DELAYBRIDGE_CONSUMER_STARTS_H
#define DELAYBRIDGE_CONSUMER_STARTS_H

#include "bridge/core/port.h"
#include "levels/err.h"

#include <librdkafka/rdkafka.h>

/* Sets missing in the starts of levels without an offset whose topic does not exist (or has too few
   partitions). Asks for the list of all topics, and only if there are any. 0 or ERR_KAFKA. */
int starts_find_missing(rd_kafka_t *rk, const char *const *topics, int slots, const int *lanes,
                        int n, struct start *starts) must_check;

/* How many partitions each of these n topics has; 0: there is no such topic. 0 or ERR_KAFKA. */
int starts_topics_exist(rd_kafka_t *rk, const char *const *topics, int n, int timeout_ms,
                        int *partitions) must_check;

/* How many of these lanes have records in a level though nothing is committed for it, or had some
   in any though nothing is committed for the lane's partition of the schedule topic (starts: slots
   for each lane): the group's offsets expired, or it is another group than before. Asks only if
   there are any. A lane that never used a level cannot be told from a new one. -1: nobody
   answered. */
int starts_lost(rd_kafka_t *rk, const char *const *topics, int slots, const int *lanes, int n,
                const struct start *starts);

#endif
