/* SPDX-License-Identifier: Apache-2.0 */
/* Cancels that have voided no request. */
#include "bridge/core/unmatched.h"
#include "bridge/core/event_record.h"
#include "bridge/core/outlet.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/ready.h"

enum { UNMATCHED_QUOTA = 256 }; /* cancels of a lane in one turn */

static bool is_wanted(const struct bridge *b)
{
    return (b->events.wanted & EVENT_BIT(EVENT_CANCEL_UNMATCHED)) != 0;
}

/* A cancel below the end of the restore was perhaps applied by an earlier owner. This one reads it
   again, and the requests that it voided are gone. */
void unmatched_note(struct bridge *b, int lane, const struct cancel_entry *cancel,
                    struct bytes name)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    bool is_first_owner = cancel->offset >= l->requests_end;
    if (cancel->op != CANCEL_OP_CANCEL || !is_first_owner || !is_wanted(b))
        return;
    /* Without room, this cancel has no such event. */
    (void)cancel_names_put(&l->names, &(struct named_cancel){cancel->offset, cancel->kind, name});
}

void unmatched_forget(struct bridge *b, int lane)
{
    cancel_names_forget(&b->lanes[lane].cancels.names);
    b->lanes[lane].cancels.dead_below = INT64_MIN;
}

/* The event is not read again if it is lost, so it waits while its partition is unavailable. */
static bool may_send(const struct bridge *b, int lane)
{
    return parcel_available(b) && !outlet_is_silent(b, lane, FORWARD_EVENT);
}

/* Returns false if there is no room or memory now. */
static bool report(struct bridge *b, int lane, const struct named_cancel *cancel)
{
    struct record *record = may_send(b, lane) ? event_record_unmatched(b, lane, cancel) : NULL;
    if (record == NULL)
        return false;
    struct parcel *p = parcel_new(b, bridge_queue(b, lane, SLOT_SCHEDULE), record);
    b->pools.buffered_bytes -= parcel_memory(p);
    p->headers_n = 0;
    b->pools.buffered_bytes += parcel_memory(p);
    p->raw = true;
    p->entry_kind = ENTRY_UNMATCHED;
    p->event = EVENT_CANCEL_UNMATCHED;
    parcel_ready(b, p);
    return true;
}

static int64_t place_of(const struct lane_cancels *l, const struct named_cancel *cancel)
{
    return eras_place(&l->eras, eras_of(&l->eras, cancel->offset), cancel->offset);
}

static bool is_unmatched(const struct bridge *b, int lane, const struct named_cancel *cancel)
{
    const struct cancels *table = &b->cancels.table;
    bool matched = false;
    struct cancel_print print = cancels_print(table, cancel->kind, cancel->name);
    int64_t place = cancels_find(table, b->lanes[lane].cancels.id, print, &matched);
    return place == place_of(&b->lanes[lane].cancels, cancel) && !matched;
}

/* An entry must be found with its mark, so it dies after its report. */
static void serve_lane(struct bridge *b, int lane)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    struct named_cancel cancel;
    int quota = UNMATCHED_QUOTA;
    if (!is_wanted(b))
        cancel_names_forget(&l->names);
    while (quota > 0 && cancel_names_first(&l->names, &cancel) &&
           place_of(l, &cancel) < l->dead_below) {
        if (is_unmatched(b, lane, &cancel) && !report(b, lane, &cancel))
            break;
        cancel_names_drop(&l->names);
        quota--;
    }
    b->clock.turn_incomplete |= quota == 0;
    bool waits = cancel_names_first(&l->names, &cancel) && place_of(l, &cancel) < l->dead_below;
    cancels_kill(&b->cancels.table, l->id, waits ? place_of(l, &cancel) : l->dead_below);
    l->dead_below = waits ? l->dead_below : INT64_MIN;
}

void unmatched_kill(struct bridge *b, int lane, int64_t below)
{
    struct lane_cancels *l = &b->lanes[lane].cancels;
    if (below > l->dead_below)
        l->dead_below = below;
}

void unmatched_serve(struct bridge *b)
{
    for (int lane = 0; b->cancels.is_on && lane < b->config.lanes; lane++) {
        const struct lane_cancels *l = &b->lanes[lane].cancels;
        if (l->dead_below != INT64_MIN && l->id >= 0 && b->lanes[lane].owned)
            serve_lane(b, lane);
    }
}
