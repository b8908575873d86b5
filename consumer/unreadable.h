/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable: batches that the client cannot unpack or understand. Its error names the first offset
   of the batch alone. A broker sends batches whole, so every offset inside gives the same error:
   the end is found by reading on from there.

   An operator gives a batch up with a dead letter that names its range in the header dlb-range. A
   bridge that is held at this range looks for the letter. Everybody with Write on the dead-letter
   topic may write one; a producer of requests cannot, since dlb-error is always the bridge's own.
 */
#ifndef DELAYBRIDGE_CONSUMER_UNREADABLE_H
#define DELAYBRIDGE_CONSUMER_UNREADABLE_H

#include "bridge/config/config.h"
#include "levels/err.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#define UNREADABLE_RANGE "dlb-range"

struct range {
    const char *topic;
    int partition;
    int64_t from, end; /* end is the first offset behind it */
};

/* Whether this error means that no later try of this client reads the batch. A lack of memory is
   not such an error. */
bool unreadable_is(rd_kafka_resp_err_t err);

/* Properties of a consumer for the calls below: one batch at a time, in nobody's group. */
void unreadable_conf(rd_kafka_conf_t *conf);

/* Sets range->end for range->from: equal to from if a record can be read there. 0; or ERR_KAFKA:
   brokers did not answer. Takes as many fetches as the range has binary digits, twice. */
int unreadable_find(rd_kafka_t *rk, struct range *range) must_check;

/* Whether the partition of the dead-letter topic holds a letter for this range, at or after *at;
   *at < 0: of the last day. Moves *at to where the next look starts. Returns 0 with *found, or
   ERR_KAFKA. */
int unreadable_look(rd_kafka_t *rk, const char *dead_letter, const struct range *range, int64_t *at,
                    bool *found) must_check;

/* For a producer that unreadable_write is given. */
void unreadable_writer_conf(rd_kafka_conf_t *conf);

/* Writes the letter and waits until it is acknowledged. The error is the broker's. */
rd_kafka_resp_err_t unreadable_write(rd_kafka_t *producer, const char *dead_letter,
                                     const struct range *range, int timeout_ms);

#endif
