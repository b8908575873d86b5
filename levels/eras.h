/* SPDX-License-Identifier: Apache-2.0 */
/* eras: the order of offsets in one partition of the schedule topic whose log was cut or replaced.

   After an unclean election or on a restored disk, a log is shorter and uses offsets again. A
   recreated topic or a copy has other records at the same offsets. Each time that the bridge finds
   this, a new era of the partition begins at an offset `at`. Records from there on are new. Those
   before it are the records of the eras before. Waiting requests, cancels and seals carry the
   number of their era.

   A place is an offset with its era. The places of an era begin above those of all cancels of the
   eras before it. So a cancel voids a request of its name if its place is larger, whichever eras
   they are of. In a partition that was never cut, a place is an offset.

     eras_of(e, offset)             the era of an offset in the log as it is now
     eras_place(e, era, offset)     of a request
     eras_note(e, era, offset)      of a cancel or seal, which later eras begin above
     eras_begin(e, era, at)         a new era
     eras_offset(e, place)          the offset of a place

   Pure: no clock, no I/O. */
#ifndef DELAYBRIDGE_LEVELS_ERAS_H
#define DELAYBRIDGE_LEVELS_ERAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ERAS_MAX = 8 }; /* more are kept as if the oldest two were one */

struct era {
    uint8_t number; /* counts modulo 256 */
    int64_t at;     /* its first offset; 0 for the oldest era, unless older ones were dropped */
    int64_t shift;  /* place - offset */
    int64_t top;    /* its largest place of a cancel or seal */
};

struct eras {
    struct era eras[ERAS_MAX]; /* the oldest known first; offsets that are used again are of a later
                                  one */
    size_t n;                  /* >= 1 */
    bool known;                /* the number of the oldest one was seen */
};

/* Forgets all eras. Until the next eras_begin there is one, in which a place is an offset. */
void eras_init(struct eras *eras);

/* Returns the number of the era of this offset in the log as it is now. */
uint8_t eras_of(const struct eras *eras, int64_t offset);

/* Returns whether the record that `era` had at this offset was lost: a later era is known to have
   begun at or below it. */
bool eras_have_replaced(const struct eras *eras, uint8_t era, int64_t offset);

/* Returns the place of the offset of a request. An era that is not known is older than those that
   are. */
int64_t eras_place(const struct eras *eras, uint8_t era, int64_t offset);

/* The same for a cancel or seal. Before the first eras_begin, its era is taken as the one of the
   log. */
int64_t eras_note(struct eras *eras, uint8_t era, int64_t offset);

/* Returns the offset that has this place; -1 if its era is no longer kept. */
int64_t eras_offset(const struct eras *eras, int64_t place);

/* Returns whether the number is of a later era than the other. */
bool eras_is_above(uint8_t number, uint8_t other);

/* Returns the number for the next era. */
uint8_t eras_next(const struct eras *eras);

/* Begins the era `number` at an offset. Returns false and does nothing if the number is not above
   that of the newest era: another owner wrote it, and it arrived late. */
bool eras_begin(struct eras *eras, uint8_t number, int64_t at);

#endif
