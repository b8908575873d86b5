/* SPDX-License-Identifier: Apache-2.0 */
/* heads: the first record that is not done of every partition where something waits, and opened if
   it is one of a level: seen from outside, for commands. */
#ifndef DELAYBRIDGE_CONSUMER_HEADS_H
#define DELAYBRIDGE_CONSUMER_HEADS_H

#include "consumer/offsets.h"

struct head {
    enum { HEAD_NONE, HEAD_OPENED, HEAD_FOREIGN } kind; /* FOREIGN: a request too */
    int lane;
    int64_t offset, due_ms;
    int64_t release_ms; /* when its stop in this level ends */
};

/* As many as offsets->cells, and in their order; the caller frees them. A cell that has none up to
   its end waits for nothing: beyond its mark are the ends of transactions alone, and its waiting
   becomes 0. NULL with a sentence in error (OFFSETS_ERROR_MAX): Kafka did not answer within
   timeout_ms, or Read is not allowed; what the schedule topic holds is left as it was counted then.
   rk: made with offsets_conf. */
struct head *heads_read(struct offsets *offsets, rd_kafka_t *rk, int timeout_ms,
                        char error[OFFSETS_ERROR_MAX]);

/* The one that leaves first among a slot's lanes (what is no envelope before all); NULL: nothing
 * waits. */
const struct head *heads_first(const struct offsets *offsets, const struct head *heads, int slot);

#endif
