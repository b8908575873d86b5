/* SPDX-License-Identifier: Apache-2.0 */
/* same_log: the witnesses of a log, and the search for the place where it parted from them. */
#include "levels/same_log.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void same_log_init(struct same_log *s)
{
    *s = (struct same_log){0};
}

static const struct log_witness *newest(const struct same_log *s)
{
    return &s->witnesses[s->n - 1];
}

const struct log_witness *same_log_newest(const struct same_log *s)
{
    return s->n > 0 ? newest(s) : NULL;
}

static double distance(const struct same_log *s, size_t i)
{
    return (double)(newest(s)->offset - s->witnesses[i].offset) + 1;
}

/* Drops the one whose neighbors' distances from the newest have the smallest ratio. */
static void thin(struct same_log *s)
{
    size_t least = 1;
    for (size_t i = 2; i + 1 < s->n; i++) {
        if (distance(s, i - 1) / distance(s, i + 1) <
            distance(s, least - 1) / distance(s, least + 1))
            least = i;
    }
    s->n--;
    memmove(s->witnesses + least, s->witnesses + least + 1, (s->n - least) * sizeof *s->witnesses);
}

void same_log_note(struct same_log *s, const struct log_witness *witness, int64_t read_ms)
{
    bool again = s->n > 0 && witness->offset == newest(s)->offset;
    bool older = s->n > 0 && witness->offset < newest(s)->offset;
    if ((older && witness->offset >= s->witnesses[0].offset) ||
        (again && newest(s)->is_record && !witness->is_record))
        return;
    if (!again && s->n == SAME_LOG_WITNESSES)
        thin(s);
    if (older)
        memmove(s->witnesses + 1, s->witnesses, s->n * sizeof *s->witnesses);
    else if (read_ms > s->read_ms)
        s->read_ms = read_ms;
    s->n += !again;
    s->witnesses[older ? 0 : s->n - 1] = *witness;
}

void same_log_forget(struct same_log *s, bool records)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->witnesses[i].is_record != records)
            s->witnesses[kept++] = s->witnesses[i];
    }
    s->n = kept;
}

void same_log_sift(struct same_log *s, const struct eras *eras)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct log_witness *w = &s->witnesses[i];
        if (!eras_have_replaced(eras, w->era, w->offset))
            s->witnesses[kept++] = *w;
    }
    s->n = kept;
}

/* Returns the latest timestamp that a record from before a cut has; < 0 if none has one. */
static int64_t last_old_ms(const struct same_log *s)
{
    int64_t last_ms = -1, most_ms = s->read_ms + SAME_LOG_CLOCKS_MS;
    for (size_t i = 0; i < s->n; i++) {
        if (s->witnesses[i].timestamp_ms > last_ms)
            last_ms = s->witnesses[i].timestamp_ms;
    }
    return last_ms < most_ms ? last_ms : most_ms;
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
    if (last_old_ms(s) < 0) /* new and old records look the same */
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
    s->last_old.offset = -1;
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
    bool is_cancel =
        record->names && record->print.high == w->print.high && record->print.low == w->print.low;
    return record->offset == w->offset &&
           (w->is_record ? record->checksum == w->checksum : is_cancel) &&
           (record->timestamp_ms < 0 || record->timestamp_ms == w->timestamp_ms);
}

static void saw_boundary(struct same_log *s, const struct log_record *record)
{
    if (record->timestamp_ms <= last_old_ms(s)) {
        s->low = record->offset + 1;
        s->last_old = (struct log_witness){.offset = record->offset,
                                           .timestamp_ms = record->timestamp_ms,
                                           .is_record = true,
                                           .checksum = record->checksum};
        return;
    }
    s->high = s->low + (s->high - s->low) / 2; /* none between it and the look's begin */
    s->parted |= record->offset <= newest(s)->offset &&
                 record->timestamp_ms > s->read_ms + SAME_LOG_CLOCKS_MS;
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
        s->foreign |= s->seen_ms >= 0 && s->seen_ms <= last_old_ms(s);
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

void same_log_note_last(struct same_log *s, const struct eras *eras)
{
    struct log_witness last = s->last_old;
    if (last.offset < 0)
        return;
    last.era = eras_of(eras, last.offset);
    if (s->n == SAME_LOG_WITNESSES)
        thin(s);
    size_t i = s->n;
    while (i > 0 && s->witnesses[i - 1].offset > last.offset)
        i--;
    memmove(s->witnesses + i + 1, s->witnesses + i, (s->n - i) * sizeof *s->witnesses);
    s->witnesses[i] = last;
    s->n++;
    s->last_old.offset = -1;
}

static uint32_t hash_of(struct bytes window)
{
    return (uint32_t)XXH3_64bits(window.data, window.len);
}

size_t same_log_encode(const struct same_log *s, struct bytes window, char *out)
{
    size_t start = (size_t)snprintf(out, SAME_LOG_TEXT_MAX + 1, "1 %08" PRIx32 " %" PRId64,
                                    hash_of(window), s->read_ms);
    size_t len = start;
    for (size_t i = 0; i < s->n; i++) {
        const struct log_witness *w = &s->witnesses[i];
        if (w->is_record)
            len += (size_t)snprintf(out + len, SAME_LOG_TEXT_MAX + 1 - len,
                                    " %u:%" PRId64 ":%" PRIx64 ":%" PRIx32, w->era, w->offset,
                                    (uint64_t)w->timestamp_ms, w->checksum);
    }
    assert(len <= SAME_LOG_TEXT_MAX);
    return len == start ? 0 : len;
}

/* Reads a number of at most `most`, and the character behind it. */
static bool take_number(const char **at, int base, uint64_t most, char end, uint64_t *n)
{
    char *stop;
    if (!isxdigit((unsigned char)**at))
        return false;
    *n = strtoull(*at, &stop, base); /* ULLONG_MAX: too large */
    if (*n > most || (*stop != end && (end != ' ' || *stop != '\0')))
        return false;
    *at = *stop == '\0' ? stop : stop + 1;
    return true;
}

static void read_records(struct same_log *s, const char *at, int64_t read_ms)
{
    uint64_t era, offset, timestamp, checksum;
    while (take_number(&at, 10, UINT8_MAX, ':', &era) &&
           take_number(&at, 10, INT64_MAX, ':', &offset) &&
           take_number(&at, 16, UINT64_MAX, ':', &timestamp) &&
           take_number(&at, 16, UINT32_MAX, ' ', &checksum)) {
        struct log_witness w = {.offset = (int64_t)offset,
                                .timestamp_ms = (int64_t)timestamp,
                                .era = (uint8_t)era,
                                .is_record = true,
                                .checksum = (uint32_t)checksum};
        same_log_note(s, &w, read_ms);
    }
}

void same_log_decode(struct same_log *s, struct bytes window, struct bytes text)
{
    char copy[SAME_LOG_TEXT_MAX + 1];
    uint64_t version, hash, read_ms;
    struct same_log committed;
    if (text.len == 0 || text.len > SAME_LOG_TEXT_MAX)
        return;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    same_log_init(&committed);
    const char *at = copy;
    if (take_number(&at, 10, 1, ' ', &version) && version == 1 &&
        take_number(&at, 16, UINT32_MAX, ' ', &hash) && hash == hash_of(window) &&
        take_number(&at, 10, INT64_MAX, ' ', &read_ms))
        read_records(&committed, at, (int64_t)read_ms);
    if (s->n > 0 && committed.n > 0 && eras_is_above(newest(&committed)->era, newest(s)->era))
        same_log_init(s);
    for (size_t i = 0; i < committed.n; i++)
        same_log_note(s, &committed.witnesses[i], committed.read_ms);
}
