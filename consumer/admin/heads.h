/* SPDX-License-Identifier: Apache-2.0 */
/* heads: the first record that is not done of every partition where something waits, and opened if
   it is one of a level: seen from outside, for commands. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_HEADS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_HEADS_H

#include "consumer/admin/offsets.h"

struct head {
    /* FOREIGN: a request too. NEWER: only a newer program can open it. UNREADABLE: a batch that
       cannot be read begins at offset. */
    enum { HEAD_NONE, HEAD_OPENED, HEAD_FOREIGN, HEAD_NEWER, HEAD_UNREADABLE } kind;
    int lane;
    int64_t offset, due_ms;
    int64_t release_ms; /* when its stop in this level ends */
    /* Of the records that were looked at, the head among them: those that wait because of their
       target. */
    int64_t retrying, retrying_due_ms; /* how many, and when the oldest of them was due */
    bool retrying_is_cut;              /* more records wait than were looked at */
    size_t looked_bytes;
};

/* As many as offsets->cells, and in their order; the caller frees them. A cell that has none up to
   its end waits for nothing: beyond its mark are the ends of transactions alone, and its waiting
   becomes 0. Behind a head more records are looked at, up to some megabytes for all partitions
   together, to find those that wait because of their target. NULL with a sentence in error
   (OFFSETS_ERROR_MAX): Kafka did not answer within timeout_ms, or Read is not allowed; what the
   schedule topic holds is left as it was counted then. rk: made with offsets_conf. */
struct head *heads_read(struct offsets *offsets, rd_kafka_t *rk, int timeout_ms,
                        char error[OFFSETS_ERROR_MAX]);

/* The retrying ones of a slot's lanes together. */
struct retrying {
    int64_t n, due_ms; /* due_ms: of the oldest; 0: there is none */
    bool is_cut;       /* there may be more */
};
struct retrying heads_retrying(const struct offsets *offsets, const struct head *heads, int slot);

/* The one that leaves first among a slot's lanes (what is no envelope before all); NULL: nothing
 * waits. */
const struct head *heads_first(const struct offsets *offsets, const struct head *heads, int slot);

#endif
