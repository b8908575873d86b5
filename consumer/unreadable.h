/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable: batches that the client cannot decompress or parse. Its error names only the first
   offset of the batch. A broker sends batches whole, so every offset inside gives the same error.
   Reads at later offsets find the end.

   An operator gives up a batch with a record on the dead-letter topic that names the range in its
   header dlb-range. A bridge whose partition is blocked by this range searches for that record. Any
   principal with Write on the dead-letter topic can write one. Requests cannot forge such a record,
   since the bridge sets dlb-error itself. */
#ifndef DELAYBRIDGE_CONSUMER_UNREADABLE_H
#define DELAYBRIDGE_CONSUMER_UNREADABLE_H

#include "bridge/config/config.h"
#include "consumer/client/writing.h"
#include "levels/err.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#define UNREADABLE_RANGE "dlb-range"

struct range {
    const char *topic;
    int partition;
    int64_t from, end; /* end: the first offset after the range */
};

/* Returns whether no retry of this client can read the batch. A lack of memory is not such an
   error. */
bool unreadable_is(rd_kafka_resp_err_t err);

/* Sets the properties of a consumer for the calls below: it fetches one batch at a time and joins
   no group. */
void unreadable_conf(rd_kafka_conf_t *conf);

/* Finds the end of the unreadable batch at range->from. Raises range->from to the batch's first
   offset, and sets range->end; end equals from if a record can be read there. Returns 0, or
   ERR_KAFKA if brokers do not answer. Needs two reads for each binary digit of the range's length.
 */
int unreadable_find(rd_kafka_t *rk, struct range *range) must_check;

/* Searches the partition's dead-letter records for the one that gives up this range. Starts at
   offset *at, or a day back if *at < 0, and moves *at to where the next search starts. Returns 0
   with *found, or ERR_KAFKA. */
int unreadable_look(rd_kafka_t *rk, const char *dead_letter, const struct range *range, int64_t *at,
                    bool *found) must_check;

/* Writes the dead-letter record that gives up range to writing->topic, and waits. Returns
   writing->err. */
rd_kafka_resp_err_t unreadable_write(struct writing *writing, const struct range *range);

#endif
