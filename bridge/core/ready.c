/* SPDX-License-Identifier: Apache-2.0 */
/* Ready parcels: the lists of deliveries and hops. */
#include "bridge/core/ready.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/hold.h"
#include "bridge/core/parcel.h"

static void count_hop(struct bridge *b)
{
    if (list_is_empty(&b->ready[READY_HOPS])) {
        b->hops_since_mono_ms = b->now.mono_ms;
        b->hops_since_n = 0;
    }
    b->hops_since_n++;
}

/* The outcome of a dead letter is committed before another record can break a transaction, so dead
   letters precede all hops. */
static void join_hops(struct bridge *b, struct parcel *p)
{
    struct list *hops = &b->ready[READY_HOPS];
    count_hop(b);
    if (p->dead_letter == NULL) {
        list_append(hops, &p->link);
        return;
    }
    list_insert_before(b->front_end != NULL ? b->front_end->next : hops->head.next, &p->link);
    b->front_end = &p->link;
}

/* An entry is sent with deliveries, because the sender of its cancel waits for it. So are events.
 */
void parcel_ready(struct bridge *b, struct parcel *p)
{
    bool urgent = p->entry_kind != ENTRY_NONE || p->settled || p->tells_first;
    int64_t remaining_ms = urgent ? 0 : p->until_wall_ms - b->now.wall_ms;
    bool letter = p->dead_letter != NULL && !urgent;
    bool hop = letter || remaining_ms > b->config.ladder.hold_ms;
    if (!hop && remaining_ms > 0) {
        parcel_wait(b, p, p->until_wall_ms);
        return;
    }
    if (hop && hold_keep(b, p, remaining_ms))
        return;
    parcel_detach(b, p);
    p->state = PARCEL_READY;
    if (p->entry_kind == ENTRY_EVENT) {
        list_append(&b->events.ready, &p->link);
        return;
    }
    if (cancel_table_is_used(b, p) && !p->hashed)
        cancel_table_hash(b, p);
    if (hop)
        join_hops(b, p);
    else
        list_append(&b->ready[READY_DELIVERIES], &p->link);
}
