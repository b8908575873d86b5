/* SPDX-License-Identifier: Apache-2.0 */
/* same_log: is a partition of the schedule topic still the log whose cancels were read? Each cancel
   in force is a witness: its record must be at its offset. Usually the record of the newest one is
   enough. If it is another one, or the log ends below it, older witnesses are read. If one is
   there, the log was cut above it, and a search by timestamps finds the first offset that is new.
   If none is there, and another record at their offsets is as old as they are, it is another log.

     same_log_note(s, witness)            for each cancel, while they are read
     same_log_begin(s, start, end, next)  ends of the log, and how far it was read
     while same_log_wants(s, &from, &to)  reads [from, to) of the log:
         same_log_saw(s, record)          each record, in order; the first one counts
         same_log_read(s)                 all was read
     s->verdict

   The search passes over records without a timestamp. It takes new records for old ones if their
   timestamps are not above that of the newest cancel. Old ones above it are taken for new ones, but
   none below the witness that was found.

   Pure: no clock, no I/O. */
#ifndef DELAYBRIDGE_LEVELS_SAME_LOG_H
#define DELAYBRIDGE_LEVELS_SAME_LOG_H

#include "levels/cancels.h"

enum { SAME_LOG_WITNESSES = 16, SAME_LOG_PIECE = 64 /* offsets of a first look */ };

enum log_verdict {
    LOG_IS_SAME,    /* or nothing could be compared: the witness is below the start of the log */
    LOG_WAS_CUT,    /* records from `at` on are new; those below are the same */
    LOG_IS_ANOTHER, /* `at` is 0 */
};

/* A cancel in force. */
struct log_witness {
    int64_t offset;
    int64_t timestamp_ms; /* < 0: none */
    struct cancel_print print;
};

enum log_look { LOOK_NONE, LOOK_WITNESS, LOOK_BOUNDARY };

struct same_log {
    /* Witnesses in ascending order of their offsets; the last is the newest. When there is no room,
       every second one of the others is dropped. */
    struct log_witness witnesses[SAME_LOG_WITNESSES];
    size_t n;
    uint64_t noted, every; /* cancels noted; every so many is kept */

    enum log_verdict verdict;
    int64_t at;
    bool proved; /* LOG_WAS_CUT: a witness below `at` was found */

    /* The search. */
    enum log_look look;
    bool seen, matches; /* the look has found a record; it is the witness */
    bool parted; /* the log is shorter, or has a record up to the newest witness that is new */
    int64_t start, end;
    int64_t low, high; /* the first new offset is in [low, high] */
    int64_t from;      /* of the look */
    int64_t piece; /* LOOK_BOUNDARY: its offsets, twice as many after each one without a record */
    size_t candidate; /* the witness that was read last */
    int64_t seen_ms;  /* the timestamp of the record that was found */
    bool differs;     /* another record is at the offset of a witness */
    bool foreign;     /* and one of these is not newer than the newest witness */
};

/* A record of the log. `names`: it has the name `print`. */
struct log_record {
    int64_t offset, timestamp_ms;
    bool names;
    struct cancel_print print;
};

/* Forgets all witnesses. */
void same_log_init(struct same_log *s);

/* Notes a cancel in force. One between the oldest and the newest that were noted is left out. */
void same_log_note(struct same_log *s, const struct log_witness *witness);

/* A new era of the log begins at this offset: forgets the witnesses from there on. */
void same_log_cut(struct same_log *s, int64_t at);

/* Begins a search. end: the first offset that cannot be read yet. next: all offsets below it were
   read before. If it is above the end, the log is shorter than it was. */
void same_log_begin(struct same_log *s, int64_t start, int64_t end, int64_t next);

/* Returns false if the verdict is known. Otherwise the caller reads [*from, *to), which is not
   empty. */
bool same_log_wants(const struct same_log *s, int64_t *from, int64_t *to);
void same_log_saw(struct same_log *s, const struct log_record *record);
void same_log_read(struct same_log *s);

#endif
