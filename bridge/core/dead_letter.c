/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters: their reasons, each lane's share of the pool, and their content. */
#include "bridge/core/dead_letter.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "bridge/core/state.h"
#include "bridge/core/target_table.h"
#include "levels/wire_size.h"

#include <stdarg.h>
#include <stdio.h>

/* Each lane has its share of the dead letters and of a quarter of the budget. So a lane whose
   dead-letter partition is unavailable stops no other. One is always allowed. */
bool dead_letter_available(const struct bridge *b, const struct queue *q)
{
    const struct lane *lane = &b->lanes[q->id.lane];
    if (list_is_empty(&b->pools.dead_letters_free))
        return false;
    return lane->dead_letters == 0 || (lane->dead_letters < DEAD_LETTERS_MAX / lanes_owned(b) &&
                                       lane->dead_letter_bytes < lane_share_bytes(b));
}

enum dead_letter_content dead_letter_content(const struct bridge *b, const struct record *record)
{
    if (parcel_fits(b, wire_size(record), WIRE_ADDED_LATER))
        return DEAD_LETTER_FULL;
    bool fits = parcel_fits(b, wire_size_without_value(record), WIRE_ADDED_LATER);
    return fits ? DEAD_LETTER_NO_VALUE : DEAD_LETTER_REASON_ONLY;
}

void dead_letter_mark(struct bridge *b, struct parcel *p, const struct refusal *why)
{
    assert(!list_is_empty(&b->pools.dead_letters_free));
    struct link *link = list_first(&b->pools.dead_letters_free);
    list_remove(link);
    b->lanes[p->queue->id.lane].dead_letters++;
    b->lanes[p->queue->id.lane].dead_letter_bytes += parcel_memory(p);
    p->dead_letter = list_item(link, struct dead_letter, link);
    p->content = (uint8_t)dead_letter_content(b, p->record);
    p->dead_letter->refusal = *why;
    struct notice notice = parcel_notice(b, p, NOTICE_DEAD_LETTERED);
    notice.code = why->code;
    p->dead_letter->label = target_label(b, notice.target);
    notice.reason = why->reason;
    bridge_notice(b, notice);
}

void dead_letter_record(struct bridge *b, struct parcel *p, enum code code, const char *format, ...)
{
    struct refusal why = {.code = code};
    va_list arguments; /* may point into the record, which parcel_own replaces */
    va_start(arguments, format);
    vsnprintf(why.reason, sizeof why.reason, format, arguments);
    va_end(arguments);
    if (!dead_letter_available(b, p->queue) || !parcel_own(b, p)) {
        parcel_wait(b, p, b->now.wall_ms + RESEND_MS);
        return;
    }
    dead_letter_mark(b, p, &why);
    parcel_ready(b, p);
}

void dead_letter_too_large(struct bridge *b, struct parcel *p)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    dead_letter_record(
        b, p, CODE_TOO_LARGE,
        "its %zu bytes of key, value and headers do not fit the max.message.bytes of %.*s",
        p->record->cost_bytes, SHOWN(env.stamp.target));
}

/* Only check can find out whether 'topics apply' would raise the limit. */
void dead_letter_too_large_for_level(struct bridge *b, struct parcel *p)
{
    dead_letter_record(
        b, p, CODE_TOO_LARGE,
        "its %zu bytes, envelope included, do not fit the max.message.bytes of its level "
        "topic: 'delaybridge check' says whether 'topics apply' can raise it",
        p->record->key.len + p->record->value.len);
}
