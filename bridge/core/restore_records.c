/* SPDX-License-Identifier: Apache-2.0 */
/* The records that a restore reads: entries, seals and cuts, and requests that void others. */
#include "bridge/core/bridge.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/queue.h"
#include "bridge/core/restore.h"
#include "bridge/core/seal.h"
#include "bridge/core/state.h"

static void apply_entry(struct bridge *b, int lane, const struct record *record,
                        const struct cancel_entry *entry)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    struct cancel_print print = cancels_print(&b->cancels.table, entry->kind, record->key);
    int64_t place = eras_note(&l->eras, entry->era, entry->offset);
    cancel_table_restore(b, lane, print, place);
    force_marks_note(&b->lanes[lane].force, place, entry->in_force_ms);
    if (eras_of(&l->eras, entry->offset) == entry->era)
        same_log_note(&l->same_log,
                      &(struct log_witness){.offset = entry->offset,
                                            .timestamp_ms = entry->timestamp_ms,
                                            .era = entry->era,
                                            .print = print},
                      entry->in_force_ms);
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
        seal_add(b, lane, &decoded.is.seal);
        break;
    case CANCEL_RECORD_CUT:
        restore_begin_era(b, lane, decoded.is.cut.era, decoded.is.cut.at);
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

/* Returns the dlb-id of a record, valid or not, or null. */
static struct bytes id_of(const struct record *record)
{
    for (size_t i = 0; i < record->headers_n; i++) {
        if (strcmp(record->headers[i].name, "dlb-id") == 0)
            return record->headers[i].value;
    }
    return bytes_null();
}

/* The name alone decides, since another configuration may refuse the record now. */
static void look_at_record(struct bridge *b, int lane, const struct record *record)
{
    struct log_record seen = {.offset = record->offset,
                              .timestamp_ms = record->timestamp_ms,
                              .checksum = (uint32_t)record_checksum(record)};
    enum cancel_kind kind;
    struct bytes name = cancel_name(record->key, id_of(record), &kind);
    seen.names = !bytes_is_null(name);
    if (seen.names)
        seen.print = cancels_print(&b->cancels.table, kind, name);
    same_log_saw(&b->lanes[lane].cancels.same_log, &seen);
}

/* A cancel that is done has its entry on the topic of cancels, unless it was refused. */
static void request_record(struct bridge *b, int lane, const struct record *record)
{
    struct stamp stamp;
    struct cancel_print print;
    const struct window *w = &bridge_queue(b, lane, SLOT_SCHEDULE)->window;
    if (!window_is_done(w, record->offset) && read_cancel(b, lane, record, &stamp, &print)) {
        struct eras *eras = &b->lanes[lane].cancels.eras;
        int64_t place = eras_note(eras, eras_of(eras, record->offset), record->offset);
        cancel_table_restore(b, lane, print, place);
        force_marks_note(&b->lanes[lane].force, place, b->now.wall_ms);
    }
}

void restore_note_witness(struct bridge *b, const struct queue *q)
{
    struct lane_cancels *l = &b->lanes[q->id.lane].cancels;
    const struct record *record = q->head;
    const struct log_witness *newest = same_log_newest(&l->same_log);
    if (!b->cancels.is_on || (newest != NULL && record->offset <= newest->offset))
        return;
    struct log_witness witness = {.offset = record->offset,
                                  .timestamp_ms = record->timestamp_ms,
                                  .era = eras_of(&l->eras, record->offset),
                                  .is_record = true,
                                  .checksum = (uint32_t)record_checksum(record)};
    same_log_note(&l->same_log, &witness, b->now.wall_ms);
}

void bridge_loaded(struct bridge *b, int lane, const struct record *record)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (l->loading == LOADING_LOG)
        log_record(b, lane, record);
    else if (l->loading == LOADING_SAME_LOG)
        look_at_record(b, lane, record);
    else if (l->loading == LOADING_REQUESTS)
        request_record(b, lane, record);
    if (l->loading != LOADING_BLOCKED)
        l->load_next = record->offset + 1;
}
