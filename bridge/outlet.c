/* SPDX-License-Identifier: Apache-2.0 */
/* Outlets, exactly once: the partitions of our own topics that a lane's hops and dead letters go
   to. A transaction with a record for a partition without a leader cannot end, and the producer
   cannot begin another. So each partition is looked up before its first record, and again after a
   timeout; while it has no leader its lane waits, and no other. */
#include "bridge/core.h"

static struct outlet *outlet_of(const struct bridge *b, int lane, enum forward_kind kind, int slot)
{
    int index = kind == FORWARD_DEAD ? SLOT_SCHEDULE : slot;
    return &b->outlets[lane * b->queues_per_lane + index];
}

static struct queue_id id_of(const struct bridge *b, const struct outlet *o)
{
    int index = (int)(o - b->outlets);
    return (struct queue_id){index, index / b->queues_per_lane, index % b->queues_per_lane};
}

static void set_shut(struct bridge *b, struct outlet *o, bool shut)
{
    if (o->shut == shut)
        return;
    struct queue_id id = id_of(b, o);
    o->shut = shut;
    b->lanes[id.lane].outlets_shut += shut ? 1 : -1;
    b->outlets_shut += shut ? 1 : -1;
    bridge_tell(b, (struct event){.kind = shut ? EVENT_OUTLET_SHUT : EVENT_OUTLET_OPEN,
                                  .queue = id,
                                  .to_slot = id.slot});
}

static void look_up(struct bridge *b, struct outlet *o)
{
    enum lookup found = b->port.lookup_outlet(b->port.ctx, id_of(b, o));
    b->asking_outlet = found == LOOKUP_PENDING ? o : NULL;
    if (found == LOOKUP_PENDING)
        return;
    int64_t after_ms = o->stalled ? LEADERS_MS : OUTLET_LEADERS_MS;
    o->recheck_ms = b->now.mono_ms + (found == LOOKUP_UNKNOWN ? RESEND_MS : LOOK_UP_AGAIN_MS);
    if (found == LOOKUP_UNWRITABLE)
        set_shut(b, o, true);
    if (found == LOOKUP_UNWRITABLE || found == LOOKUP_UNKNOWN)
        return;
    set_shut(b, o, false);
    int64_t whole_ms = found == LOOKUP_FOUND ? 0 : b->now.mono_ms;
    o->doubted = b->stall_ms != 0 && !leaders_are_known(b, whole_ms, after_ms);
    o->stalled &= o->doubted;
}

static bool may_ask(const struct bridge *b, const struct outlet *o)
{
    return b->asking == NULL && b->asking_outlet == NULL && b->now.mono_ms >= o->recheck_ms;
}

bool outlet_takes(struct bridge *b, const struct parcel *p, enum forward_kind kind, int slot)
{
    struct outlet *o = outlet_of(b, p->queue->id.lane, kind, slot);
    if (o->doubted && may_ask(b, o))
        look_up(b, o);
    return !o->doubted;
}

void outlets_doubt(struct bridge *b)
{
    for (int i = 0; b->config.exactly_once && i < b->config.lanes * b->queues_per_lane; i++) {
        b->outlets[i].doubted = true;
        b->outlets[i].recheck_ms = 0;
    }
}

/* The others may have lost the same broker: each is looked up before it is used again. */
void outlet_doubt(struct bridge *b, const struct parcel *p)
{
    struct outlet *o = outlet_of(b, p->queue->id.lane, (enum forward_kind)p->kind, p->to_slot);
    if (!o->stalled)
        outlets_doubt(b);
    o->stalled = true;
    b->stall_ms = b->now.mono_ms;
}

/* One that is shut stops its lane's intake: it is looked up also when no record waits for it. */
void outlets_serve(struct bridge *b)
{
    if (b->asking_outlet != NULL)
        look_up(b, b->asking_outlet);
    for (int i = 0; b->outlets_shut > 0 && i < b->config.lanes * b->queues_per_lane; i++) {
        if (b->outlets[i].shut && may_ask(b, &b->outlets[i]))
            look_up(b, &b->outlets[i]);
    }
}
