/* SPDX-License-Identifier: Apache-2.0 */
/* The table of cancels: its share for each lane, its room, and look-ups of records. */
#include "bridge/core/cancel_table.h"
#include "bridge/core/state.h"

#include <stdlib.h>

static int lane_init(struct bridge *b, struct lane_cancels *lane)
{
    size_t parts_n = (size_t)b->queues_per_lane;
    cancel_names_init(&lane->names, b->config.cancel_memory / (size_t)b->config.lanes);
    lane->dead_below = INT64_MIN;
    lane->passed = calloc(parts_n, sizeof *lane->passed);
    if (lane->passed == NULL)
        return ERR_NO_MEMORY;
    return seals_init(&lane->seals, b->cancels.parts_ms, parts_n);
}

int cancel_table_init(struct bridge *b)
{
    struct cancel_state *c = &b->cancels;
    for (int lane = 0; lane < b->config.lanes; lane++) {
        b->lanes[lane].cancels.id = -1;
        eras_init(&b->lanes[lane].cancels.eras);
    }
    c->is_on = b->config.rules.cancels = b->config.cancel_memory > 0;
    if (!c->is_on)
        return 0;
    assert(b->config.lanes <= CANCELS_LANES_MAX); /* the check of the topics refuses more */
    c->parts_ms = calloc((size_t)b->queues_per_lane, sizeof *c->parts_ms);
    if (c->parts_ms == NULL ||
        cancels_init(&c->table, b->config.cancel_memory, b->config.hash_seed) != 0)
        return ERR_NO_MEMORY;
    for (int slot = 1; slot < b->queues_per_lane; slot++)
        c->parts_ms[slot] = ladder_slot_ms(&b->config.ladder, b->config.retired_ms, slot);
    c->share = CANCELS_LOAD(c->table.slots_n) / (size_t)b->config.lanes;
    int err = 0;
    for (int lane = 0; err == 0 && lane < b->config.lanes; lane++)
        err = lane_init(b, &b->lanes[lane].cancels);
    return err;
}

void cancel_table_deinit(struct bridge *b)
{
    for (int lane = 0; b->lanes != NULL && lane < b->config.lanes; lane++) {
        seals_deinit(&b->lanes[lane].cancels.seals);
        free(b->lanes[lane].cancels.passed);
        cancel_names_deinit(&b->lanes[lane].cancels.names);
    }
    cancels_deinit(&b->cancels.table);
    free(b->cancels.parts_ms);
}

void cancel_table_open(struct bridge *b, int lane, int64_t first)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    l->id = cancels_open(&b->cancels.table, first);
    if (l->id < 0) { /* ids of closed lanes are free after their entries were cleared */
        cancels_sweep(&b->cancels.table);
        l->id = cancels_open(&b->cancels.table, first);
    }
    assert(l->id >= 0);
    l->is_any = l->complete = false;
    l->log_next = l->sealed_next = 0;
    l->requests_next = -1;
    l->trim_below = 0;
    eras_init(&l->eras);
    seals_forget(&l->seals);
    force_marks_forget(&b->lanes[lane].force);
}

void cancel_table_close(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (l->id < 0)
        return;
    cancel_names_forget(&l->names);
    l->dead_below = INT64_MIN;
    cancels_close(&b->cancels.table, l->id);
    l->id = -1;
    l->is_any = false;
    l->seals.last = -1;
    l->number = 0;
}

/* A name that is cancelled many times takes one slot, but many records of the topic of cancels. The
   seals that a lane keeps have separate room. */
static bool log_is_full(const struct bridge *b, const struct lane_cancels *lane)
{
    int64_t records = (int64_t)b->cancels.share + SEALS_MAX + SEALS_FLOOR + 1;
    return lane->log_end + lane->entries_out - lane->log_start >= 2 * records;
}

/* Dead entries may take the room. A sweep takes milliseconds, so it is rare. */
static bool sweep(struct bridge *b)
{
    if (b->now.mono_ms - b->cancels.swept_mono_ms < CANCELS_SWEEP_MS)
        return false;
    b->cancels.swept_mono_ms = b->now.mono_ms;
    cancels_sweep(&b->cancels.table);
    return true;
}

enum cancel_room cancel_table_put(struct bridge *b, int lane, struct cancel_print print,
                                  int64_t place)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    bool matched;
    if (cancels_find(&b->cancels.table, l->id, print, &matched) >= place)
        return CANCEL_ROOM; /* it is read again */
    if (log_is_full(b, l))
        return CANCEL_LOG_IS_FULL;
    int err = cancels_put(&b->cancels.table, l->id, print, place, b->cancels.share);
    if (err == ERR_FULL && sweep(b))
        err = cancels_put(&b->cancels.table, l->id, print, place, b->cancels.share);
    l->is_any |= err == 0;
    return err == 0 ? CANCEL_ROOM : err == ERR_FULL ? CANCEL_SHARE_IS_FULL : CANCEL_OUT_OF_REACH;
}

/* Without memory for a larger table, a cancel could be forgotten. So the lane never opens. */
void cancel_table_restore(struct bridge *b, int lane, struct cancel_print print, int64_t place)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    size_t slots_n = b->cancels.table.slots_n;
    int err = cancels_restore(&b->cancels.table, l->id, print, place);
    l->is_any |= err == 0;
    if (err == ERR_NO_MEMORY)
        l->loading = LOADING_BLOCKED;
    else if (b->cancels.table.slots_n == slots_n)
        return;
    bridge_notice(b, (struct notice){.kind = err == ERR_NO_MEMORY ? NOTICE_CANCELS_NO_MEMORY
                                                                  : NOTICE_CANCELS_GREW,
                                     .queue = {-1, lane, SLOT_CANCELS},
                                     .count = (int64_t)CANCELS_LOAD(b->cancels.table.slots_n)});
}

void cancel_table_hash(struct bridge *b, struct parcel *p)
{
    struct stamp stamp;
    enum cancel_kind kind;
    p->hashed = p->nameless = true;
    if (p->raw)
        return;
    envelope_origin(p->record->value, &stamp);
    struct bytes name = stamp_name(&stamp, p->record->key, &kind);
    if (bytes_is_null(name) || stamp.origin_lane != (uint32_t)p->queue->id.lane)
        return;
    p->nameless = false;
    p->origin_place = eras_place(&b->lanes[p->queue->id.lane].cancels.eras, stamp.origin_era,
                                 stamp.origin_offset);
    p->print = cancels_print(&b->cancels.table, kind, name);
    cancels_prefetch(&b->cancels.table, p->print);
}

/* A record that became ready before its lane had a cancel has no fingerprint yet. */
bool cancel_table_voids(struct bridge *b, struct parcel *p)
{
    if (!p->hashed)
        cancel_table_hash(b, p);
    return !p->nameless && cancels_void(&b->cancels.table, b->lanes[p->queue->id.lane].cancels.id,
                                        p->print, p->origin_place);
}

/* The gauges. An entry of a closed lane is dead, and keeps its slot until it is cleared. */
static void count(struct bridge *b)
{
    const struct cancel_state *c = &b->cancels;
    size_t entries = 0, owned = 0;
    int64_t oldest_wall_ms = 0;
    for (int lane = 0; lane < b->config.lanes; lane++) {
        const struct lane_cancels *l = &b->lanes[lane].cancels;
        int64_t at_wall_ms = l->is_any ? seals_oldest_ms(&l->seals) : 0;
        entries += l->id < 0 ? 0 : c->table.lanes[l->id].n;
        owned += b->lanes[lane].owned;
        if (oldest_wall_ms == 0 || (at_wall_ms != 0 && at_wall_ms < oldest_wall_ms))
            oldest_wall_ms = at_wall_ms;
    }
    counter_set(&b->stats->cancel_entries, entries);
    counter_set(&b->stats->cancel_entries_limit, owned * c->share);
    counter_set(&b->stats->oldest_seal_wall_ms, (uint64_t)oldest_wall_ms);
}

void cancel_table_serve(struct bridge *b)
{
    struct cancel_state *c = &b->cancels;
    if (!c->is_on)
        return;
    if (c->table.used > 0)
        cancels_clear(&c->table, CANCELS_CLEAR_SLOTS);
    for (int lane = 0; lane < b->config.lanes; lane++) {
        struct lane_cancels *l = &b->lanes[lane].cancels;
        l->is_any = l->is_any && cancels_has(&c->table, l->id);
    }
    count(b);
}
