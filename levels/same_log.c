/* SPDX-License-Identifier: Apache-2.0 */
/* same_log: the witnesses of a log, and the search for the place where it parted from them. */
#include "levels/same_log.h"

#include <assert.h>
#include <string.h>

void same_log_init(struct same_log *s)
{
    *s = (struct same_log){.every = 1};
}

static struct log_witness *newest(struct same_log *s)
{
    return &s->witnesses[s->n - 1];
}

/* Keeps every second one, and the newest. */
static void thin(struct same_log *s)
{
    size_t kept = 0;
    for (size_t i = 0; i + 1 < s->n; i += 2)
        s->witnesses[kept++] = s->witnesses[i];
    s->witnesses[kept++] = *newest(s);
    s->n = kept;
    s->every *= 2;
}

static void note_oldest(struct same_log *s, const struct log_witness *witness)
{
    if (witness->offset >= s->witnesses[0].offset)
        return;
    if (s->n == SAME_LOG_WITNESSES)
        thin(s);
    memmove(s->witnesses + 1, s->witnesses, s->n++ * sizeof *s->witnesses);
    s->witnesses[0] = *witness;
}

/* The newest one gives its room to the next, unless it is one of those to keep. The oldest stays.
 */
void same_log_note(struct same_log *s, const struct log_witness *witness)
{
    if (s->n > 0 && witness->offset < newest(s)->offset) {
        note_oldest(s, witness);
        return;
    }
    bool again = s->n > 0 && witness->offset == newest(s)->offset;
    bool replaces = again || (s->n > 1 && s->noted % s->every != 0);
    s->noted += !again;
    if (!replaces && s->n == SAME_LOG_WITNESSES)
        thin(s);
    s->n += !replaces;
    *newest(s) = *witness;
}

void same_log_cut(struct same_log *s, int64_t at)
{
    while (s->n > 0 && newest(s)->offset >= at)
        s->n--;
}

static void settle(struct same_log *s, enum log_verdict verdict, int64_t at)
{
    s->look = LOOK_NONE;
    s->verdict = verdict;
    s->at = at;
}

static void look_at(struct same_log *s, enum log_look look, int64_t from)
{
    s->look = look;
    s->from = from;
    s->piece = look == LOOK_BOUNDARY ? SAME_LOG_PIECE : 1;
    s->seen = s->matches = false;
}

static void search(struct same_log *s)
{
    if (s->low < s->high)
        look_at(s, LOOK_BOUNDARY, s->low + (s->high - s->low) / 2);
    else if (!s->parted) /* the newest witness cannot be read, and no record below it is newer */
        settle(s, LOG_IS_SAME, 0);
    else
        settle(s, LOG_WAS_CUT, s->low);
}

/* Begins the search above the newest witness that is there, and below the oldest one that is not.
 */
static void begin_search(struct same_log *s)
{
    s->low = s->proved ? s->witnesses[s->candidate].offset + 1 : s->start;
    if (s->low > s->high)
        s->low = s->high;
    if (newest(s)->timestamp_ms < 0) /* new and old records look the same */
        s->low = s->high;
    search(s);
}

/* Reads the next older witness. */
static void prove(struct same_log *s)
{
    while (s->candidate > 0 && s->witnesses[s->candidate - 1].offset >= s->high)
        s->candidate--;
    if (s->candidate > 0 && s->witnesses[s->candidate - 1].offset >= s->start) {
        s->candidate--;
        look_at(s, LOOK_WITNESS, s->witnesses[s->candidate].offset);
    } else if (s->foreign) {
        settle(s, LOG_IS_ANOTHER, 0);
    } else {
        begin_search(s);
    }
}

void same_log_begin(struct same_log *s, int64_t start, int64_t end, int64_t next)
{
    s->start = start;
    s->end = s->high = end > start ? end : start;
    s->proved = s->differs = s->foreign = false;
    s->candidate = s->n;
    if (s->n == 0 || newest(s)->offset < start) {
        settle(s, LOG_IS_SAME, 0);
        return;
    }
    s->parted = newest(s)->offset >= end || next > end;
    prove(s);
}

bool same_log_wants(const struct same_log *s, int64_t *from, int64_t *to)
{
    if (s->look == LOOK_NONE)
        return false;
    int64_t end = s->look == LOOK_BOUNDARY ? s->high : s->end;
    *from = s->from;
    *to = end - s->from < s->piece ? end : s->from + s->piece;
    assert(*from < *to);
    return true;
}

static bool is_witness(const struct log_witness *w, const struct log_record *record)
{
    return record->offset == w->offset && record->names && record->print.high == w->print.high &&
           record->print.low == w->print.low &&
           (record->timestamp_ms < 0 || record->timestamp_ms == w->timestamp_ms);
}

static void saw_boundary(struct same_log *s, const struct log_record *record)
{
    if (record->timestamp_ms <= newest(s)->timestamp_ms) {
        s->low = record->offset + 1;
        return;
    }
    s->high = s->low + (s->high - s->low) / 2; /* none between it and the look's begin */
    s->parted |= record->offset <= newest(s)->offset;
}

void same_log_saw(struct same_log *s, const struct log_record *record)
{
    if (s->seen || (s->look == LOOK_BOUNDARY && record->timestamp_ms < 0))
        return;
    s->seen = true;
    s->seen_ms = record->timestamp_ms;
    if (s->look == LOOK_BOUNDARY)
        saw_boundary(s, record);
    else
        s->matches = is_witness(&s->witnesses[s->candidate], record);
}

static void boundary_read(struct same_log *s)
{
    int64_t next = s->from + s->piece, piece = 2 * s->piece;
    if (!s->seen && next < s->high) {
        look_at(s, LOOK_BOUNDARY, next);
        s->piece = piece;
        return;
    }
    if (!s->seen)
        s->high = s->low + (s->high - s->low) / 2;
    search(s);
}

static void witness_read(struct same_log *s)
{
    bool is_newest = s->candidate + 1 == s->n;
    if (s->matches && is_newest) {
        settle(s, LOG_IS_SAME, 0);
        return;
    }
    s->proved = s->matches;
    if (s->proved) {
        begin_search(s);
        return;
    }
    if (s->seen) {
        s->differs = s->parted = true;
        s->foreign |= s->seen_ms >= 0 && s->seen_ms <= newest(s)->timestamp_ms;
        s->high = s->witnesses[s->candidate].offset;
    }
    prove(s);
}

void same_log_read(struct same_log *s)
{
    if (s->look == LOOK_WITNESS)
        witness_read(s);
    else if (s->look == LOOK_BOUNDARY)
        boundary_read(s);
}
