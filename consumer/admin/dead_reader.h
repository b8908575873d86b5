/* SPDX-License-Identifier: Apache-2.0 */
/* dead_reader: for commands, reads the dead-letter topic, up to the ends that it had at the start.
   It joins no group. With progress, it starts at the offsets that the handle's group committed, and
   commits only when dead_reader_commit is called. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_DEAD_READER_H
#define DELAYBRIDGE_CONSUMER_ADMIN_DEAD_READER_H

#include "consumer/admin/spot.h"
#include "levels/topic_name.h"

/* One partition. from <= next <= end. */
struct dead_part {
    int64_t from, end;     /* offsets to read */
    int64_t next;          /* the offset after the last record that dead_reader_next returned */
    int64_t stored_offset; /* committed by the group; below 0: none */
};

struct dead_reader {
    char topic[TOPIC_TEXT_MAX];
    rd_kafka_t *rk;          /* owned; a consumer with dead_reader_conf */
    struct spot *spot;       /* borrowed; finds the end of a batch that cannot be read */
    struct dead_part *parts; /* owned, by partition */
    int parts_n, timeout_ms;
    int64_t waited_ms; /* since the last record, in calls that returned none */
};

enum dead_read {
    DEAD_READ_END,       /* every partition is read up to its end */
    DEAD_READ_NONE,      /* no record came within wait_ms */
    DEAD_READ_RECORD,    /* message is set; the caller destroys it */
    DEAD_READ_UNREADABLE /* the batch from offset to end cannot be read and is passed */
};

struct dead_item {
    rd_kafka_message_t *message;
    int partition;
    int64_t offset, end;
};

/* Sets the properties of the handle. group: for progress, or NULL. */
void dead_reader_conf(const struct config *config, const char *group, rd_kafka_conf_t *conf);

/* Finds the ends, and assigns the partitions. The caller sets topic, rk, spot and timeout_ms.
   resume: starts at the group's progress. Returns 0, ERR_CONFIG (no such topic, or a right is
   missing), ERR_KAFKA or ERR_NO_MEMORY with a sentence. Call dead_reader_deinit in any case. */
int dead_reader_open(struct dead_reader *reader, bool resume, struct error *error) must_check;

/* Returns an enum dead_read, or ERR_KAFKA (no answer for timeout_ms) or ERR_CONFIG (Read is denied)
   with a sentence. */
int dead_reader_next(struct dead_reader *reader, int wait_ms, struct dead_item *item,
                     struct error *error) must_check;

/* Moves back to the record of item, the last one that was returned of its partition. The next
   dead_reader_open with resume reads it again. */
void dead_reader_return(struct dead_reader *reader, const struct dead_item *item);

bool dead_reader_is_finished(const struct dead_reader *reader);

/* Commits next of each partition. Returns 0, ERR_KAFKA or ERR_CONFIG with a sentence. */
int dead_reader_commit(struct dead_reader *reader, struct error *error) must_check;

/* Returns the share of the offsets that were read, from 0 to 1. */
double dead_reader_share(const struct dead_reader *reader);

/* Frees the parts and destroys the handle. */
void dead_reader_deinit(struct dead_reader *reader);

#endif
