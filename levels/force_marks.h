/* SPDX-License-Identifier: Apache-2.0 */
/* force_marks: since when the cancels of one lane are in force. Cancels come into force in the
   order of their offsets. So a mark is an offset, and an instant at which all cancels up to it were
   in force. The first mark at or above a cancel is an upper bound for it. When there is no room,
   every second mark is dropped, which makes bounds later, never earlier. Pure: no clock. */
#ifndef DELAYBRIDGE_LEVELS_FORCE_MARKS_H
#define DELAYBRIDGE_LEVELS_FORCE_MARKS_H

#include <stdbool.h>
#include <stdint.h>

enum { FORCE_MARKS_MAX = 64, FORCE_MARKS_APART_MS = 100 };

struct force_marks {
    struct {
        int64_t offset;  /* cancels at or below it, and above the mark before */
        int64_t wall_ms; /* were in force by then */
    } marks[FORCE_MARKS_MAX];
    int n;
    int64_t apart_ms; /* time between marks, roughly; doubles with each drop */
};

/* Forgets all marks. Also initializes the struct. */
void force_marks_forget(struct force_marks *marks);

/* Notes that the cancel at this offset was in force at wall_ms. An offset below that of an earlier
   call is allowed: another owner may write an entry again later. */
void force_marks_note(struct force_marks *marks, int64_t offset, int64_t wall_ms);

/* Returns an instant at which the cancel was in force, or INT64_MAX if none is known. */
int64_t force_marks_bound(const struct force_marks *marks, int64_t offset);

#endif
