/* SPDX-License-Identifier: Apache-2.0 */
/* starts: checks before lanes start at committed offsets, for topics that do not exist and for
   offsets that the group has lost. */
#ifndef DELAYBRIDGE_CONSUMER_STARTS_H
#define DELAYBRIDGE_CONSUMER_STARTS_H

#include "bridge/core/port.h"
#include "levels/err.h"

#include <librdkafka/rdkafka.h>

/* Sets missing for each level that has no offset and whose topic does not exist or lacks the
   partition. Sends requests only if some level has no offset. Returns 0, ERR_KAFKA or
   ERR_NO_MEMORY.
 */
int starts_find_missing(rd_kafka_t *rk, const char *const *topics, int slots, const int *lanes,
                        int n, struct start *starts) must_check;

/* Sets partitions[i] to the number of partitions of topics[i], or 0 if the topic does not exist.
   Returns 0 or ERR_KAFKA. */
int starts_topics_exist(rd_kafka_t *rk, const char *const *topics, int n, int timeout_ms,
                        int *partitions) must_check;

/* Returns how many of these lanes have lost offsets, or -1 if no broker answered. A lane counts if
   a level holds records but has no committed offset. It also counts if its partition of the
   schedule topic has no committed offset although some level has held records. Possible causes are
   expired offsets and a changed group in the configuration. starts: an entry for each slot of each
   lane. A lane that never used a level is taken for a new one. Sends requests only if an offset is
   unset. */
int starts_lost(rd_kafka_t *rk, const char *const *topics, int slots, const int *lanes, int n,
                const struct start *starts);

#endif
