/* SPDX-License-Identifier: Apache-2.0 */
/* heads: for commands, the head of each partition in which records wait. A head is the first record
   that is not done; the head of a level is decoded. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_HEADS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_HEADS_H

#include "consumer/admin/offsets.h"
#include "levels/envelope.h"

struct head {
    /* OPENED: decoded. FOREIGN: no envelope; also each request. NEWER: only a newer program can
       decode it. UNREADABLE: an unreadable batch begins at offset. */
    enum { HEAD_NONE, HEAD_OPENED, HEAD_FOREIGN, HEAD_NEWER, HEAD_UNREADABLE } kind;
    int lane;
    int64_t offset, due_wall_ms;
    int64_t release_wall_ms; /* when it leaves this level (heads_leaves_ms) */
    /* The number of records that wait because of their target, and the due time of the oldest. Only
       the head and the records read behind it count. */
    int64_t redelivering, redelivering_due_wall_ms;
    int64_t withheld;         /* the same number of those whose target is paused or limited */
    bool redelivering_is_cut; /* more records wait than were read */
    size_t looked_bytes;      /* size of the records read */
};

/* Returns when a record leaves its level at the latest. If its rest after the level is at most
   hold, it may wait in memory until it is due. It is then not done in the level. A record that was
   put back because of its target never does so. */
int64_t heads_leaves_ms(const struct config *config, int64_t level_ms, int64_t stamped_wall_ms,
                        const struct stamp *stamp);

/* Returns one head for each of offsets->cells, in their order; the caller frees the array. Sets
   waiting and unread of a cell to 0 if only the ends of transactions are left in it. Also reads
   some records behind each head, in all some megabytes, to count those that wait because of their
   target.

   Returns NULL with a sentence in error if Kafka does not answer within timeout_ms, or if Read on a
   level is denied. If the schedule topic cannot be read, its cells keep the numbers of
   offsets_read. rk: a consumer with offsets_conf. */
struct head *heads_read(struct offsets *offsets, rd_kafka_t *rk, int timeout_ms,
                        struct error *error);

/* The redelivering records of all lanes of one slot. */
struct redelivering {
    int64_t n, due_wall_ms; /* of the oldest; 0: none */
    int64_t withheld;
    bool is_cut; /* there may be more */
};
struct redelivering heads_redelivering(const struct offsets *offsets, const struct head *heads,
                                       int slot);

/* Returns the head that leaves first among the lanes of a slot, or NULL if no record waits. A
   record without an envelope comes before all others. */
const struct head *heads_first(const struct offsets *offsets, const struct head *heads, int slot);

#endif
