/* SPDX-License-Identifier: Apache-2.0 */
/* same_log: is a partition of the schedule topic still the log that was read? Each cancel in force
   is a witness: its record must be at its offset. So is each record that was read. Usually the
   newest witness is enough. If another record is there, or the log ends below it, older witnesses
   are read. If one is there, the log was cut above it, and a search by timestamps finds the first
   offset that is new. If none is there, and another record at their offsets is as old as they are,
   it is another log.

     same_log_note(s, witness, read_ms)   for each record and cancel, when it is read
     same_log_begin(s, start, end, next)  ends of the log, and how far it was read
     while same_log_wants(s, &from, &to)  reads [from, to) of the log:
         same_log_saw(s, record)          each record, in order; the first one counts
         same_log_read(s)                 all was read
     s->verdict

   The search passes over records without a timestamp. It takes new records for old ones if their
   timestamps are not above those of all witnesses. Old ones above these are taken for new ones, but
   none below the witness that was found. A timestamp far above the time at which its record was
   read counts as that time.

   The text form has the records, and no cancels. It is committed with a window of the same log:

     1 WINDOW READ_MS ERA:OFFSET:TIMESTAMP:CHECKSUM ...

     WINDOW                 8 hex digits: the lower half of XXH3 of the window's text
     READ_MS, ERA, OFFSET   decimal
     TIMESTAMP, CHECKSUM    hexadecimal

   Pure: no clock, no I/O. */
#ifndef DELAYBRIDGE_LEVELS_SAME_LOG_H
#define DELAYBRIDGE_LEVELS_SAME_LOG_H

#include "levels/cancels.h"
#include "levels/eras.h"

enum {
    SAME_LOG_WITNESSES = 6,
    SAME_LOG_PIECE = 64,        /* offsets of a first look */
    SAME_LOG_CLOCKS_MS = 10000, /* a producer's clock may be so far ahead */
    SAME_LOG_TEXT_MAX = 350     /* without terminator */
};

enum log_verdict {
    LOG_IS_SAME,    /* or nothing could be compared: the witness is below the start of the log */
    LOG_WAS_CUT,    /* records from `at` on are new; those below are the same */
    LOG_IS_ANOTHER, /* `at` is 0 */
};

/* A cancel in force, or a record that was read. */
struct log_witness {
    int64_t offset;
    int64_t timestamp_ms; /* < 0: none */
    uint8_t era;          /* in which it was read */
    bool is_record;
    uint32_t checksum;         /* of a record */
    struct cancel_print print; /* of the name of a cancel */
};

enum log_look { LOOK_NONE, LOOK_WITNESS, LOOK_BOUNDARY };

struct same_log {
    /* In ascending order of their offsets. The oldest and the newest stay. The distances of the
       others from the newest grow exponentially. */
    struct log_witness witnesses[SAME_LOG_WITNESSES];
    size_t n;
    int64_t read_ms; /* when the last one was read, which may have been lost since */

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
    size_t candidate;            /* the witness that was read last */
    int64_t seen_ms;             /* the timestamp of the record that was found */
    bool differs;                /* another record is at the offset of a witness */
    bool foreign;                /* and one of these is not newer than all witnesses */
    struct log_witness last_old; /* the last record that is old and no witness; offset < 0: none */
};

/* A record of the log. `names`: it has the name `print`. */
struct log_record {
    int64_t offset, timestamp_ms;
    uint32_t checksum;
    bool names;
    struct cancel_print print;
};

/* Forgets all witnesses. */
void same_log_init(struct same_log *s);

/* Notes a witness. One between the oldest and the newest that were noted is left out, and so is a
   cancel whose record was noted. */
void same_log_note(struct same_log *s, const struct log_witness *witness, int64_t read_ms);

/* Forgets all records, or all cancels. */
void same_log_forget(struct same_log *s, bool records);

/* Returns NULL if there is no witness. */
const struct log_witness *same_log_newest(const struct same_log *s);

/* Forgets the witnesses that were lost by a cut: their offsets are of a later era. */
void same_log_sift(struct same_log *s, const struct eras *eras);

/* Begins a search. end: the first offset that cannot be read yet. next: all offsets below it were
   read before. If it is above the end, the log is shorter than it was. */
void same_log_begin(struct same_log *s, int64_t start, int64_t end, int64_t next);

/* Returns false if the verdict is known. Otherwise the caller reads [*from, *to), which is not
   empty. */
bool same_log_wants(const struct same_log *s, int64_t *from, int64_t *to);
void same_log_saw(struct same_log *s, const struct log_record *record);
void same_log_read(struct same_log *s);

/* Notes the last record below a cut, which the search has read. The next cut may be just below it.
   eras: still without the era of the cut. */
void same_log_note_last(struct same_log *s, const struct eras *eras);

/* Writes the text form to out, which has room for SAME_LOG_TEXT_MAX + 1 bytes. Returns its length;
   0 if there is no record. */
size_t same_log_encode(const struct same_log *s, struct bytes window, char *out);

/* Notes the records of the text. If they are of a later era, another owner has found a cut, and
   those noted before are forgotten. Ignores a foreign text, one that was committed with another
   window, and one from its first fault on. */
void same_log_decode(struct same_log *s, struct bytes window, struct bytes text);

#endif
