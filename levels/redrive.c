/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites the headers of a dead-lettered record. */
#include "levels/redrive.h"

#include "levels/duration.h"
#include "levels/instant.h"

#include <inttypes.h>
#include <stdio.h>

/* The times of a request. A time that is given twice or malformed counts as absent. */
struct times {
    const struct header *delay, *deliver_at, *expires_at;
    int64_t delay_ms, deliver_wall_ms, expires_wall_ms;
    bool foreign; /* delay or deliver_at is a foreign header */
};

static bool is_dropped(const char *name)
{
    static const char *const NAMES[] = {
        "dlb-error",     "dlb-reason", "dlb-source",  "dlb-sent-at",  "dlb-failed-at", "dlb-due",
        "dlb-truncated", "dlb-range",  "dlb-attempt", "dlb-first-at", "dlb-origin"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(name, NAMES[i]) == 0)
            return true;
    return false;
}

/* Returns the only header of this name, or NULL. */
static const struct header *only(const struct record *record, const char *name)
{
    const struct header *found = NULL;
    for (size_t i = 0; i < record->headers_n; i++) {
        if (strcmp(record->headers[i].name, name) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = &record->headers[i];
    }
    return found;
}

static void read_foreign(unsigned formats, const struct record *record, struct times *times)
{
    struct foreign foreign = compat_read(formats, record);
    if (foreign.time == NULL)
        return;
    times->foreign = true;
    *(foreign.is_delay ? &times->delay : &times->deliver_at) = foreign.time;
    *(foreign.is_delay ? &times->delay_ms : &times->deliver_wall_ms) = foreign.ms;
}

static struct times read_times(unsigned formats, const struct record *record)
{
    struct times times = {.delay = only(record, "dlb-delay"),
                          .deliver_at = only(record, "dlb-deliver-at"),
                          .expires_at = only(record, "dlb-expires-at")};
    if (times.delay != NULL && duration_parse(times.delay->value, &times.delay_ms) != 0)
        times.delay = NULL;
    if (times.deliver_at != NULL &&
        instant_parse(times.deliver_at->value, &times.deliver_wall_ms) != 0)
        times.deliver_at = NULL;
    if (times.expires_at != NULL &&
        instant_parse(times.expires_at->value, &times.expires_wall_ms) != 0)
        times.expires_at = NULL;
    read_foreign(formats, record, &times);
    return times;
}

/* Returns the later of now and the due time. A sum that 64 bits cannot hold is no due time. */
static int64_t delivery_ms(const struct times *times, int64_t from_wall_ms, int64_t now_wall_ms)
{
    int64_t due_wall_ms = now_wall_ms;
    if (times->deliver_at != NULL)
        due_wall_ms = times->deliver_wall_ms;
    else if (times->delay != NULL &&
             __builtin_add_overflow(from_wall_ms, times->delay_ms, &due_wall_ms))
        due_wall_ms = now_wall_ms;
    return due_wall_ms > now_wall_ms ? due_wall_ms : now_wall_ms;
}

/* Returns dlb-deliver-at at the due time that the delay had, or the delay if that is too large. */
static struct header kept_due(const struct times *times, int64_t sent_wall_ms,
                              char text[REDRIVE_DUE_MAX])
{
    int64_t due_wall_ms;
    if (__builtin_add_overflow(sent_wall_ms, times->delay_ms, &due_wall_ms))
        return *times->delay;
    snprintf(text, REDRIVE_DUE_MAX, "%" PRId64, due_wall_ms);
    return (struct header){"dlb-deliver-at", bytes_text(text)};
}

enum redrive_verdict redrive_rewrite(const struct redrive_rules *rules, const struct record *record,
                                     int64_t sent_wall_ms, int64_t now_wall_ms,
                                     struct redrive *redrive)
{
    struct times times = read_times(rules->compat, record);
    bool keeps_due = times.delay != NULL && rules->delay == REDRIVE_KEEP_DUE;
    if (times.delay != NULL && rules->delay == REDRIVE_UNCHOSEN)
        return REDRIVE_CHOOSE;
    if (keeps_due && sent_wall_ms < 0)
        return REDRIVE_UNDATED;
    int64_t from_wall_ms = keeps_due ? sent_wall_ms : now_wall_ms;
    bool expired = times.expires_at != NULL &&
                   times.expires_wall_ms < delivery_ms(&times, from_wall_ms, now_wall_ms);
    if (expired && !rules->drop_expiry)
        return REDRIVE_EXPIRED;
    struct header due = {0};
    if (keeps_due)
        due = kept_due(&times, sent_wall_ms, redrive->due);
    redrive->headers_n = 0;
    for (size_t i = 0; i < record->headers_n; i++) {
        const struct header *header = &record->headers[i];
        if (is_dropped(header->name) || (expired && header == times.expires_at))
            continue;
        bool replaced = keeps_due && header == times.delay && !times.foreign;
        redrive->headers[redrive->headers_n++] = replaced ? due : *header;
    }
    if (keeps_due && times.foreign && due.name != times.delay->name)
        redrive->headers[redrive->headers_n++] = due;
    return REDRIVE_SEND;
}
