/* SPDX-License-Identifier: Apache-2.0 */
/* Kept records: which ones are kept, and which ones are spilled into levels. */
#include "bridge/core/hold.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"

enum {
    SLICE_MS = 250,
    SPILL_MAX = 256, /* records of other queues in a turn */
    /* Offsets of all queues from the base to the last one that was read. After a restart and, with
       exactly-once, after each abort they are read again. */
    REREAD_MAX = 131072,
    REREAD_MAX_EXACTLY_ONCE = 49152
};

static int64_t window_share(const struct bridge *b)
{
    return b->span / 3;
}

/* Returns how many offsets before the next one of its queue it is. */
static int64_t age_of(const struct parcel *p)
{
    return p->queue->window.next - p->offset;
}

static bool is_too_old(const struct bridge *b, const struct parcel *p)
{
    return age_of(p) > window_share(b) * 5 / 4;
}

static struct parcel *first_kept(const struct queue *q)
{
    struct link *link = list_first(&q->kept);
    return link == NULL ? NULL : list_item(link, struct parcel, link);
}

/* A higher rate counts at once, a lower one by a fifth of the difference. */
static void measure(struct queue *q, int64_t passed_ms)
{
    int64_t next = q->window.next, read_n = next - q->rate_offset;
    bool is_known = q->rate_offset != WINDOW_UNSET && read_n > 0;
    int64_t rate_s = is_known ? read_n * 1000 / passed_ms : 0;
    q->rate_s = rate_s > q->rate_s ? rate_s : (4 * q->rate_s + rate_s) / 5;
    q->rate_offset = next;
}

void hold_serve(struct bridge *b)
{
    int64_t passed_ms = b->now.mono_ms - b->hold.slice_mono_ms;
    bool slice_over = passed_ms >= SLICE_MS;
    if (!slice_over && !b->hold.is_stale)
        return;
    b->hold.undone_span = 0;
    b->hold.is_stale = false;
    if (slice_over)
        b->hold.slice_mono_ms = b->now.mono_ms;
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        struct queue *q = &b->queues[i];
        if (q->state == QUEUE_OFF)
            continue;
        if (slice_over)
            measure(q, passed_ms);
        b->hold.undone_span += q->window.next - q->window.base;
    }
}

static int64_t less_used(int64_t hold_ms, int64_t used, int64_t room)
{
    return hold_ms - hold_ms * used / room;
}

static bool has_room(const struct bridge *b, int64_t rest_ms)
{
    int64_t hold_ms = b->config.hold_ms, memory = b->config.memory_bytes;
    int64_t reread_max = b->config.exactly_once ? REREAD_MAX_EXACTLY_ONCE : REREAD_MAX;
    return rest_ms <= less_used(hold_ms, b->hold.bytes, memory / 4) &&
           rest_ms <= less_used(hold_ms, b->pools.buffered_bytes, memory / 2) &&
           rest_ms <= less_used(hold_ms, b->hold.undone_span, reread_max);
}

static bool may_be_kept(const struct parcel *p)
{
    bool put_back = p->withheld || p->overdue_wall_ms != 0;
    bool plain = !p->raw && p->entry_kind == ENTRY_NONE && p->dead_letter == NULL;
    bool owes_event = p->facts.types != 0 || p->settled || p->tells_first;
    return plain && !put_back && !owes_event && !p->to_level && !p->without_level && !p->alone;
}

bool hold_keep(struct bridge *b, struct parcel *p, int64_t rest_ms)
{
    struct queue *q = p->queue;
    if (rest_ms > b->config.hold_ms || !may_be_kept(p) || q->waits_for_room ||
        age_of(p) + q->rate_s * rest_ms / 1000 > window_share(b) || !has_room(b, rest_ms) ||
        !parcel_own(b, p))
        return false;
    parcel_wait(b, p, p->until_wall_ms - b->config.ladder.hold_ms);
    parcel_keep(b, p);
    b->hold.undone_span++;
    counter_add(&b->stats->kept, 1);
    return true;
}

static void spill(struct bridge *b, struct parcel *p)
{
    p->to_level = true;
    counter_add(&b->stats->spilled, 1);
    parcel_wait(b, p, b->now.wall_ms);
}

void hold_spill_all(struct bridge *b, struct queue *q)
{
    for (struct parcel *p; (p = first_kept(q)) != NULL;)
        spill(b, p);
}

void hold_spill_old(struct bridge *b, struct queue *q)
{
    for (struct parcel *p; (p = first_kept(q)) != NULL && is_too_old(b, p);)
        spill(b, p);
}

/* Each queue gives one record in turn, its first one. */
void hold_give_memory(struct bridge *b)
{
    int queues_n = b->config.lanes * b->queues_per_lane;
    for (int n = 0; n < SPILL_MAX && b->hold.bytes > 0;) {
        for (int i = 0; i < queues_n && n < SPILL_MAX; i++) {
            struct parcel *p = first_kept(&b->queues[i]);
            if (p == NULL)
                continue;
            spill(b, p);
            n++;
        }
    }
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void check_kept(const struct bridge *b, const struct parcel *p)
{
    (void)b;
    assert(p->state == PARCEL_WAITING && p->ownership == OWNED);
    assert(p->overdue_wall_ms == 0 && !p->withheld && !p->to_level && !p->without_level);
    assert(!p->raw && p->entry_kind == ENTRY_NONE && p->dead_letter == NULL);
    assert(p->facts.types == 0 && !p->settled && !p->tells_first);
    assert(p->node.at_ms == p->until_wall_ms - b->config.ladder.hold_ms);
}

void hold_check(const struct bridge *b)
{
    size_t kept = 0, listed = 0;
    int64_t bytes = 0, largest = 0;
    for (size_t i = 0; i < b->pools.parcels_high; i++) {
        const struct parcel *p = &b->pools.parcels[i];
        if (p->state == PARCEL_FREE || !p->kept)
            continue;
        check_kept(b, p);
        kept++;
        bytes += parcel_memory(p);
        largest = max_of(largest, parcel_memory(p));
    }
    for (int i = 0; i < b->config.lanes * b->queues_per_lane; i++) {
        const struct queue *q = &b->queues[i];
        assert(list_is_empty(&q->kept) || !q->waits_for_room);
        for (const struct link *l = list_first(&q->kept); l != NULL; l = list_after(&q->kept, l)) {
            assert(list_item(l, const struct parcel, link)->queue == q);
            listed++;
        }
    }
    assert(kept == listed && bytes == b->hold.bytes);
    assert(bytes <= b->config.memory_bytes / 4 + largest);
}
