/* SPDX-License-Identifier: Apache-2.0 */
/* The records that a restore reads: entries, seals and barriers, and requests that void others. */
#include "bridge/core/bridge.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/queue.h"
#include "bridge/core/restore.h"
#include "bridge/core/state.h"

static void apply_entry(struct bridge *b, int lane, const struct record *record,
                        const struct cancel_entry *entry)
{
    struct witness *w = &b->lanes[lane].cancels.witness;
    struct cancel_print print = cancels_print(&b->cancels.table, entry->kind, record->key);
    cancel_table_restore(b, lane, print, entry->offset);
    force_marks_note(&b->lanes[lane].force, entry->offset, entry->in_force_ms);
    if (entry->offset >= w->offset)
        *w = (struct witness){entry->offset, entry->timestamp_ms, print, false};
}

static void apply_barrier(struct bridge *b, int lane, int64_t number)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (number <= l->seals.last)
        return;
    int64_t log_next = l->log_next;
    cancel_table_close(b, lane);
    cancel_table_open(b, lane, 0);
    l->log_next = log_next;
    bool counts = seals_bar(&l->seals, number);
    assert(counts);
}

static void notice_ignored(struct bridge *b, int lane, const struct record *record,
                           const char *reason)
{
    bridge_notice(b, (struct notice){.kind = NOTICE_CANCEL_NOT_OURS,
                                     .queue = restore_log(lane),
                                     .offset = record->offset,
                                     .reason = reason});
}

/* A program that ignored an entry of a newer version would deliver the records that it voids. A
   seal only lets entries die earlier. */
static void log_record(struct bridge *b, int lane, const struct record *record)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    struct cancel_decoded decoded;
    int err = cancel_record_decode(record->value, &decoded);
    if (err == ERR_NEWER && decoded.type != CANCEL_RECORD_SEAL) {
        l->loading = LOADING_BLOCKED;
        bridge_notice(b, (struct notice){.kind = NOTICE_CANCEL_NEWER,
                                         .queue = restore_log(lane),
                                         .offset = record->offset});
        return;
    }
    if (err != 0) {
        notice_ignored(b, lane, record, err_text(err));
        return;
    }
    switch (decoded.type) {
    case CANCEL_RECORD_ENTRY:
        apply_entry(b, lane, record, &decoded.is.entry);
        break;
    case CANCEL_RECORD_SEAL:
        decoded.is.seal.timestamp_ms = record->timestamp_ms;
        seals_add(&l->seals, &decoded.is.seal);
        break;
    case CANCEL_RECORD_BARRIER:
        apply_barrier(b, lane, decoded.is.barrier);
        break;
    }
}

/* Returns whether the request is a cancel or a replace that voids others. */
static bool read_cancel(struct bridge *b, int lane, const struct record *record,
                        struct stamp *stamp, struct cancel_print *print)
{
    struct refusal why;
    enum cancel_kind kind;
    if (!request_has_op(&b->config.rules, record))
        return false;
    enum code code =
        request_parse(&b->config.rules, (uint32_t)lane, record, b->now.wall_ms, stamp, &why);
    if (!request_voids(code, stamp))
        return false;
    struct bytes name = cancel_name(record->key, stamp->id, &kind);
    *print = cancels_print(&b->cancels.table, kind, name);
    return true;
}

static void check_witness(struct bridge *b, int lane, const struct record *record)
{
    struct witness *w = &b->lanes[lane].cancels.witness;
    struct stamp stamp;
    struct cancel_print print;
    w->seen = record->offset == w->offset && read_cancel(b, lane, record, &stamp, &print) &&
              (record->timestamp_ms < 0 || record->timestamp_ms == w->timestamp_ms) &&
              print.high == w->print.high && print.low == w->print.low;
}

/* A cancel that is done has its entry on the topic of cancels, unless it was refused. */
static void request_record(struct bridge *b, int lane, const struct record *record)
{
    struct stamp stamp;
    struct cancel_print print;
    const struct window *w = &bridge_queue(b, lane, SLOT_SCHEDULE)->window;
    if (!window_is_done(w, record->offset) && read_cancel(b, lane, record, &stamp, &print)) {
        cancel_table_restore(b, lane, print, record->offset);
        force_marks_note(&b->lanes[lane].force, record->offset, b->now.wall_ms);
    }
}

void bridge_loaded(struct bridge *b, int lane, const struct record *record)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (l->loading == LOADING_LOG)
        log_record(b, lane, record);
    else if (l->loading == LOADING_WITNESS)
        check_witness(b, lane, record);
    else if (l->loading == LOADING_REQUESTS)
        request_record(b, lane, record);
    if (l->loading != LOADING_BLOCKED)
        l->load_next = record->offset + 1;
}
