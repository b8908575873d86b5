/* SPDX-License-Identifier: Apache-2.0 */
/* broker: a model of the part of Kafka that the bridge depends on. It has logs with gaps and a
   start that moves, and a group with a generation, owners and committed offsets. Unlike a real
   broker, it also knows for each input record whether the successor is stored. The invariants need
   that. */
#ifndef DELAYBRIDGE_TESTS_SIM_BROKER_H
#define DELAYBRIDGE_TESTS_SIM_BROKER_H

#include "levels/code.h"
#include "levels/record.h"
#include "tests/sim/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The topic of cancels is the last one. It is none of broker.topics, which are read and done. */
enum { LANES_MAX = 4, TOPICS_MAX = 13, TOPIC_SCHEDULE = 0, TOPIC_CANCELS = TOPICS_MAX - 1 };
enum { NO_LIFE = -1 };

struct request; /* oracle.h */
struct attempt;
struct transaction; /* coordinator.h */

/* A stored record. */
struct entry {
    int64_t offset, timestamp_ms;
    struct bytes key, value;
    const struct header *headers;
    size_t headers_n;
    struct request *request;  /* a request, with its required outcome; NULL: another record */
    struct attempt *attempts; /* its forwards, the latest first */
    const struct transaction *made_in; /* not readable before the end of this one; NULL: readable */
    bool foreign;                      /* on a level topic, not written by the bridge */
    int64_t unreadable_end;            /* end of its unreadable batch; 0: it is readable */
    bool done;                         /* a successor is stored */
    bool gone;                         /* cut off by a fault, so it cannot be forwarded */
    int verdicts;                      /* of a foreign record: its dead letters */
    int cuts;                          /* of its log, when it was stored */
};

/* One partition. Offsets ascend, with gaps. */
struct log {
    struct entry **entries;
    size_t n, capacity;
    int64_t start, end;
    size_t stable_n;                        /* at least this many entries can be read */
    int64_t read_end;                       /* the end of reading, by any process */
    int cuts;                               /* how often it lost its tail */
    int64_t release_max_ms, stamped_max_ms; /* maxima over the records (oracle.c) */
    int stamped_max_life;
};

/* A committed offset and text of one partition. It never changes. */
struct committed {
    int64_t base;
    struct bytes text, witnesses;
    const uint8_t *bits; /* bit i of byte b: base + 8 b + i is done */
    size_t bits_n;       /* bytes */
    int life, epoch;     /* of the committing process and of its lane */
    uint64_t sent_step;
    int cuts;      /* of the log that it is about */
    bool restores; /* its lane is restored, so it may be about the log before a cut, or go back */
    const struct committed *before;
};

struct broker {
    struct arena *arena;
    int lanes, topics;
    int64_t level_ms[TOPICS_MAX]; /* 0: the schedule topic */
    struct log logs[TOPICS_MAX][LANES_MAX];
    const struct committed *committed[TOPICS_MAX][LANES_MAX]; /* NULL: no commit yet */
    int undone_n;                               /* entries that still need a successor */
    int pending_offsets[TOPICS_MAX][LANES_MAX]; /* offsets in transactions that have not ended */
    int transactions_n;                         /* transactions that have not ended */
    int generation;
    int owner_life[LANES_MAX]; /* a process in one of its lives, or NO_LIFE */
};

void broker_init(struct broker *broker, struct arena *arena, int lanes);

/* Returns the topic of a level (0: the schedule topic), and creates a missing one. */
int broker_topic(struct broker *broker, int64_t level_ms);

/* Appends a copy of the entry. */
struct entry *log_append(struct broker *broker, struct log *log, const struct entry *from);

/* Returns the index of the first entry at or after offset, or log->n. */
size_t log_find(const struct log *log, int64_t offset);
struct entry *log_at(const struct log *log, int64_t offset); /* NULL: no record has this offset */

/* Returns where reading ends: at the first record of an open transaction, or at the log's end. */
int64_t log_stable_end(struct log *log);

/* Parses the metadata of a commit, without code of the bridge and without its checksum. Returns
   false if the bridge would not write this text for this base. */
bool committed_parse(struct arena *arena, struct committed *committed);
bool committed_covers(const struct committed *committed, int64_t offset);

#endif
