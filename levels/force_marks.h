/* SPDX-License-Identifier: Apache-2.0 */
/* force_marks: since when the cancels of one lane are in force, with a few marks for all of them.
   Cancels come into force in the order of their offsets. So the mark at the next higher offset is
   an upper bound for a cancel. Marks are some ms apart. When there is no room, every second one is
   dropped, which makes bounds later, never earlier. Pure: no clock. */
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
    int64_t apart_ms;
};

void force_marks_forget(struct force_marks *marks); /* all; also begins */

/* The cancel at this offset was in force at wall_ms. An offset below one of earlier calls is
   allowed: another owner wrote it later. */
void force_marks_note(struct force_marks *marks, int64_t offset, int64_t wall_ms);

/* Returns an instant at which the cancel was in force, or INT64_MAX: not known. */
int64_t force_marks_bound(const struct force_marks *marks, int64_t offset);

#endif
