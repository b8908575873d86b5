/* SPDX-License-Identifier: Apache-2.0 */
/* broker: a model of the part of Kafka that the bridge depends on. It has logs with gaps and a
   start that moves, and a group with a generation, owners and committed offsets. For each input
   record it also knows whether the successor is stored, as no real broker does. The invariants need
   that. */
#ifndef DELAYBRIDGE_TESTS_SIM_BROKER_H
#define DELAYBRIDGE_TESTS_SIM_BROKER_H

#include "levels/code.h"
#include "levels/record.h"
#include "tests/sim/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANES_MAX = 4, TOPICS_MAX = 12, TOPIC_SCHEDULE = 0, NO_LIFE = -1 };

struct request; /* oracle.h */
struct attempt;
struct transaction; /* coordinator.h */

/* A stored record. */
struct entry {
    int64_t offset, timestamp_ms;
    struct bytes key, value;
    const struct header *headers;
    size_t headers_n;
    struct request *request;           /* of a request: its required outcome */
    struct attempt *attempts;          /* forwards so far, the latest first */
    const struct transaction *made_in; /* cannot be read before its end; NULL: can be */
    bool foreign;                      /* on a level topic, and not from the bridge */
    int64_t unreadable_end;            /* its batch cannot be read, up to here; 0: it can */
    bool done;                         /* a successor is stored */
    bool gone;                         /* cut off by a fault: it cannot be forwarded any more */
    int verdicts;                      /* foreign: dead letters */
};

/* One partition. Offsets ascend, with gaps. */
struct log {
    struct entry **entries;
    size_t n, capacity;
    int64_t start, end;
    size_t stable_n;                        /* so many entries at least can be read */
    int64_t read_end;                       /* a process has read up to here */
    int64_t release_max_ms, stamped_max_ms; /* of records appended in order (oracle.c) */
    int stamped_max_life;
};

/* A committed offset and text of one partition. It never changes. */
struct committed {
    int64_t base;
    struct bytes text;
    const uint8_t *bits; /* bit i of byte b: base + 8 b + i is done */
    size_t bits_n;       /* bytes */
    int life, epoch;     /* of the process that committed, and of its lane */
    uint64_t sent_step;
    const struct committed *before;
};

struct broker {
    struct arena *arena;
    int lanes, topics;
    int64_t level_ms[TOPICS_MAX]; /* 0: the schedule topic */
    struct log logs[TOPICS_MAX][LANES_MAX];
    const struct committed *committed[TOPICS_MAX][LANES_MAX]; /* NULL: never */
    int undone_n;                               /* entries without a successor that are not gone */
    int pending_offsets[TOPICS_MAX][LANES_MAX]; /* of transactions that have not ended */
    int transactions_n;                         /* the same */
    int generation;
    int owner_life[LANES_MAX]; /* a process in one of its lives, or NO_LIFE */
};

void broker_init(struct broker *broker, struct arena *arena, int lanes);

/* The topic of a level (0: the schedule topic), made if it is new. */
int broker_topic(struct broker *broker, int64_t level_ms);

/* A copy of everything goes to the end of the log. */
struct entry *log_append(struct broker *broker, struct log *log, const struct entry *from);

/* Index of the first entry at or after offset; log->n if there is none. */
size_t log_find(const struct log *log, int64_t offset);
struct entry *log_at(const struct log *log, int64_t offset); /* NULL: no such offset */

/* Where reading ends: at the first record of an open transaction, or at the log's end. */
int64_t log_stable_end(struct log *log);

/* A commit's text, read without the bridge's code. False: not a text that the bridge would write
   for this base (the checksum is not verified). */
bool committed_parse(struct arena *arena, struct committed *committed);
bool committed_covers(const struct committed *committed, int64_t offset);

#endif
