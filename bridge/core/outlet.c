/* SPDX-License-Identifier: Apache-2.0 */
/* Outlets: the partitions that a lane's hops and dead letters go to. An outlet is unwritable
   if it has no leader, or too few replicas in sync, or if its topic was recreated with fewer
   partitions. It must then stop its lane only, and the log names it.

   With exactly-once, a transaction with a record for such an outlet cannot end, and its producer
   cannot begin another. So an outlet is looked up before its first record, and again after a
   timeout. Its lane waits while it is unwritable.

   With at-least-once, its records stay in flight, or are refused and sent again, until it is back.
   They take memory that other lanes need. So the intake of a lane stops when such records reach the
   lane's share of a quarter of the budget. */
#include "bridge/core/outlet.h"
#include "bridge/core/cluster.h"
#include "bridge/core/parcel.h"
#include "bridge/core/state.h"

enum { OUTLET_WATCH_MS = 1000 };

static int outlets_n(const struct bridge *b)
{
    return b->config.lanes * outlets_per_lane(b);
}

static struct outlet *outlet_of(const struct bridge *b, const struct parcel *p)
{
    return bridge_outlet(b, p->queue->id.lane, (enum forward_kind)p->kind, p->to_slot);
}

static struct queue_id id_of(const struct bridge *b, const struct outlet *o)
{
    int index = (int)(o - b->outlets.all);
    int lane = index / outlets_per_lane(b), slot = index % outlets_per_lane(b);
    if (slot == b->queues_per_lane)
        return (struct queue_id){-1, lane, SLOT_CANCELS};
    if (slot > b->queues_per_lane)
        return (struct queue_id){-1, lane, SLOT_EVENTS};
    return (struct queue_id){lane * b->queues_per_lane + slot, lane, slot};
}

/* why: the reason, if it is down. An outlet of a lane without an owner is never down. Otherwise its
   lane would wait after its assignment, and no notice would say so. */
static void set_down(struct bridge *b, struct outlet *o, bool down, const char *why)
{
    struct queue_id id = id_of(b, o);
    if (o->down == down || (down && !b->lanes[id.lane].owned))
        return;
    o->down = down;
    b->lanes[id.lane].outlets_down += down ? 1 : -1;
    b->outlets.down += down ? 1 : -1;
    struct counter *blocked = &b->stats->events_blocked;
    if (id.slot == SLOT_EVENTS)
        counter_set(blocked, counter_read(blocked) + (down ? 1 : (uint64_t)-1));
    if (!b->lanes[id.lane].owned)
        return;
    bridge_notice(b, (struct notice){.kind = down ? NOTICE_OUTLET_DOWN : NOTICE_OUTLET_UP,
                                     .queue = id,
                                     .to_slot = id.slot,
                                     .reason = why});
}

static void look_up(struct bridge *b, struct outlet *o)
{
    enum lookup found = b->port.lookup_outlet(b->port.ctx, id_of(b, o));
    b->outlets.looking_up = found == LOOKUP_PENDING ? o : NULL;
    if (found == LOOKUP_PENDING)
        return;
    int64_t after_ms = o->stalled ? LEADERS_MS : OUTLET_LEADERS_MS;
    o->recheck_mono_ms = b->now.mono_ms + (found == LOOKUP_UNKNOWN ? RESEND_MS : LOOK_UP_AGAIN_MS);
    if (found == LOOKUP_UNWRITABLE)
        set_down(b, o, true, "it does not exist, has no leader, or has too few replicas in sync");
    bool missing = found == LOOKUP_MISSING && id_of(b, o).slot == SLOT_EVENTS;
    if (missing)
        set_down(b, o, true, "its topic does not exist");
    if (found == LOOKUP_UNWRITABLE || found == LOOKUP_UNKNOWN || missing)
        return;
    set_down(b, o, false, NULL);
    int64_t whole_mono_ms = found == LOOKUP_FOUND ? 0 : b->now.mono_ms;
    o->doubted =
        b->cluster.stall_mono_ms != 0 && !cluster_leaders_are_known(b, whole_mono_ms, after_ms);
    o->stalled &= o->doubted;
}

static bool may_look_up(const struct bridge *b, const struct outlet *o)
{
    return b->targets.looking_up == NULL && b->outlets.looking_up == NULL &&
           b->now.mono_ms >= o->recheck_mono_ms;
}

bool outlet_takes(struct bridge *b, const struct parcel *p, enum forward_kind kind, int slot)
{
    struct outlet *o = bridge_outlet(b, p->queue->id.lane, kind, slot);
    if (o->doubted && may_look_up(b, o))
        look_up(b, o);
    return !o->doubted;
}

void outlets_doubt(struct bridge *b)
{
    for (int i = 0; b->config.exactly_once && i < outlets_n(b); i++) {
        b->outlets.all[i].doubted = true;
        b->outlets.all[i].recheck_mono_ms = 0;
    }
}

/* Other outlets may have lost the same broker, so all are looked up before they are used again. */
void outlet_doubt(struct bridge *b, const struct parcel *p)
{
    struct outlet *o = outlet_of(b, p);
    if (!o->stalled)
        outlets_doubt(b);
    o->stalled = true;
    b->cluster.stall_mono_ms = b->now.mono_ms;
}

void outlet_refused(struct bridge *b, const struct parcel *p, const char *why)
{
    struct outlet *o = outlet_of(b, p);
    o->doubted = true;
    o->recheck_mono_ms = b->now.mono_ms + LOOK_UP_AGAIN_MS;
    set_down(b, o, true, why);
}

void outlet_look_again(struct bridge *b, const struct parcel *p)
{
    struct outlet *o = outlet_of(b, p);
    o->doubted = true;
    o->recheck_mono_ms = 0;
}

static int64_t cost_of(const struct parcel *p)
{
    const struct record *sent = p->entry != NULL ? p->entry : p->record;
    return record_memory(sent, 0);
}

void outlet_sent(struct bridge *b, struct parcel *p)
{
    struct outlet *o = outlet_of(b, p);
    if (o->unacked_bytes == 0)
        o->acked_mono_ms = b->now.mono_ms;
    p->unacked_bytes = (uint32_t)cost_of(p);
    o->unacked_bytes += p->unacked_bytes;
}

void outlet_acked(struct bridge *b, struct parcel *p)
{
    struct outlet *o = outlet_of(b, p);
    o->acked_mono_ms = b->now.mono_ms;
    parcel_leave_outlet(b, p);
    if (!b->config.exactly_once)
        set_down(b, o, false, NULL);
}

static bool has_share(const struct bridge *b, const struct outlet *o)
{
    return o->unacked_bytes >= lane_share_bytes(b);
}

bool outlet_is_silent(const struct bridge *b, int lane, enum forward_kind kind)
{
    const struct outlet *o = bridge_outlet(b, lane, kind, 0);
    bool probe = !b->config.exactly_once && o->unacked_bytes == 0;
    return (o->down && !probe) || has_share(b, o);
}

bool outlet_is_flooded(const struct bridge *b, int lane, enum forward_kind kind)
{
    const struct outlet *o = bridge_outlet(b, lane, kind, 0);
    return !b->config.exactly_once && o->down && has_share(b, o);
}

bool outlets_stop_intake(const struct bridge *b, int lane)
{
    if (b->lanes[lane].outlets_down == 0 || b->config.exactly_once)
        return b->lanes[lane].outlets_down > 0;
    int64_t bytes = 0;
    for (int i = 0; i < outlets_per_lane(b); i++) {
        const struct outlet *o = &b->outlets.all[lane * outlets_per_lane(b) + i];
        bytes += o->down ? o->unacked_bytes : 0;
    }
    return bytes >= lane_share_bytes(b);
}

/* Returns whether an outlet acknowledges nothing while other records are acknowledged. If no record
   is acknowledged, Kafka is away. Throttle time does not count. Otherwise a series of throttles
   would mark a writable partition as down. */
static bool is_silent(const struct bridge *b, const struct outlet *o)
{
    const struct cluster *c = &b->cluster;
    int64_t since_mono_ms = o->acked_mono_ms > c->back_mono_ms ? o->acked_mono_ms : c->back_mono_ms;
    if (c->muted_mono_ms > since_mono_ms)
        since_mono_ms = c->muted_mono_ms;
    return o->unacked_bytes > 0 && c->acked_mono_ms - since_mono_ms > OUTLET_SILENT_MS;
}

void outlets_lane_lost(struct bridge *b, int lane)
{
    for (int i = 0; i < outlets_per_lane(b); i++)
        set_down(b, &b->outlets.all[lane * outlets_per_lane(b) + i], false, NULL);
}

static void watch_silence(struct bridge *b)
{
    if (b->now.mono_ms - b->outlets.watch_mono_ms < OUTLET_WATCH_MS)
        return;
    b->outlets.watch_mono_ms = b->now.mono_ms;
    for (int i = 0; i < outlets_n(b); i++) {
        const struct lane *lane = &b->lanes[i / outlets_per_lane(b)];
        if (lane->owned && is_silent(b, &b->outlets.all[i]))
            set_down(b, &b->outlets.all[i], true, "nothing was acknowledged for three seconds");
    }
}

/* An outlet that is down stops its lane's intake, so it is looked up even if no record waits for
 * it. */
void outlets_serve(struct bridge *b)
{
    if (!b->config.exactly_once) {
        watch_silence(b);
        return;
    }
    if (b->outlets.looking_up != NULL)
        look_up(b, b->outlets.looking_up);
    for (int i = 0; b->outlets.down > 0 && i < outlets_n(b); i++) {
        if (b->outlets.all[i].down && may_look_up(b, &b->outlets.all[i]))
            look_up(b, &b->outlets.all[i]);
    }
}

/* Exactly-once: such a record may break its transaction, so it gets a separate one. */
bool outlet_is_suspect(const struct bridge *b, const struct parcel *p, enum forward_kind kind)
{
    return b->outlets.large_bytes[kind] > 0 &&
           p->record->cost_bytes >= b->outlets.large_bytes[kind];
}

/* A record that fits after all shows that the limit of the topics was raised. */
void outlet_learn_size(struct bridge *b, const struct parcel *p, enum report report)
{
    if (p->content != DEAD_LETTER_FULL || p->kind == FORWARD_CANCEL || p->kind == FORWARD_EVENT)
        return;
    size_t *large_bytes = &b->outlets.large_bytes[p->kind];
    bool larger = outlet_is_suspect(b, p, (enum forward_kind)p->kind);
    if (report == REPORT_TOO_LARGE && !larger)
        *large_bytes = p->record->cost_bytes;
    else if (report == REPORT_OK && larger)
        *large_bytes = 0;
}
