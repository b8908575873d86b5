/* SPDX-License-Identifier: Apache-2.0 */
/* The open transaction: which records it accepts, and when it ends. */
#include "bridge/core/transaction.h"
#include "bridge/core/bridge.h"
#include "bridge/core/state.h"

#include <stdlib.h>

_Static_assert((int)TXN_RECORDS_MIN > (int)EVENTS_RECORD_MAX,
               "an empty transaction takes any record");

int txn_init(struct bridge *b)
{
    size_t n = b->config.exactly_once ? b->config.txn_records_max : 1;
    b->txn.taken = malloc(n * sizeof *b->txn.taken);
    return b->txn.taken == NULL ? ERR_NO_MEMORY : 0;
}

void txn_deinit(struct bridge *b)
{
    free(b->txn.taken);
}

void txn_begin(struct bridge *b)
{
    const struct txn last = b->txn;
    b->txn =
        (struct txn){.took = last.took, .single_failed = last.single_failed, .taken = last.taken};
}

static bool is_full(const struct bridge *b)
{
    const struct txn *t = &b->txn;
    return t->n >= b->config.txn_records_max || t->bytes >= b->config.txn_bytes_max;
}

static size_t sent_bytes(const struct parcel *p)
{
    return (p->entry != NULL ? p->entry : p->record)->cost_bytes;
}

/* A transaction of hops has most partitions of the bridge, so deliveries wait for it longer than
   for others. While hops are few, they wait for more of them, but at most for half of the shortest
   stay in a level. */
static int64_t hops_wait_ms(const struct bridge *b)
{
    const struct ladder *ladder = &b->config.ladder;
    int64_t wait_ms = (ladder->level_ms[0] - ladder->slack_ms) / 2;
    if (b->hops_since_n >= TXN_HOPS_FEW || wait_ms < TXN_HOPS_MS)
        return TXN_HOPS_MS;
    return wait_ms < TXN_HOPS_MAX_MS ? wait_ms : TXN_HOPS_MAX_MS;
}

/* Returns whether hops may wait. Dead letters, which come first in the list, may not. */
static bool hops_have_time(const struct bridge *b)
{
    const struct link *first = list_first(&b->ready[READY_HOPS]);
    return b->now.mono_ms - b->hops_since_mono_ms < hops_wait_ms(b) &&
           b->pools.buffered_bytes - b->hold.bytes < b->config.memory_bytes / 8 &&
           list_item(first, const struct parcel, link)->dead_letter == NULL;
}

/* Returns the kind of records of the next transaction. If both kinds are always ready, they take
   turns. The outcome of a record that failed alone is a hop. It comes before another record that
   may fail. */
static enum ready next_takes(const struct bridge *b)
{
    if (list_is_empty(&b->ready[READY_HOPS]))
        return READY_DELIVERIES;
    if (b->txn.single_failed)
        return READY_HOPS;
    bool other = b->txn.took == READY_HOPS && !list_is_empty(&b->ready[READY_DELIVERIES]);
    return other || hops_have_time(b) ? READY_DELIVERIES : READY_HOPS;
}

/* Each partition of a transaction costs the broker milliseconds, one after another. Due records
   must not wait for hops, which have time. So hops have separate transactions. */
bool txn_is_for(const struct bridge *b, enum ready kind)
{
    if (!b->config.exactly_once)
        return true;
    return kind == (b->txn.n > 0 ? b->txn.takes : next_takes(b));
}

bool txn_takes(struct bridge *b, bool alone)
{
    struct txn *t = &b->txn;
    if (!b->config.exactly_once)
        return true;
    if (t->state != TXN_OPEN || t->single != NULL || is_full(b))
        return false;
    t->close_requested |= alone && t->n > 0;
    return !t->close_requested;
}

bool txn_fits(struct bridge *b, const struct parcel *p, const struct list *events)
{
    struct txn *t = &b->txn;
    if (!b->config.exactly_once || t->n == 0)
        return true;
    size_t n = t->n + t->owed_n + 1, bytes = t->bytes + t->owed_bytes + sent_bytes(p);
    for (const struct link *l = list_first(events); l != NULL; l = list_after(events, l)) {
        n++;
        bytes += list_item(l, const struct parcel, link)->record->cost_bytes;
    }
    if (n <= b->config.txn_records_max && bytes <= b->config.txn_bytes_max)
        return true;
    t->close_requested = true;
    return false;
}

void txn_owes(struct bridge *b, const struct parcel *event)
{
    if (!b->config.exactly_once)
        return;
    b->txn.owed_n++;
    b->txn.owed_bytes += sent_bytes(event);
}

void txn_took(struct bridge *b, struct parcel *p, bool alone)
{
    struct txn *t = &b->txn;
    if (!b->config.exactly_once)
        return;
    if (p->entry_kind == ENTRY_EVENT) {
        assert(t->owed_n > 0 && t->owed_bytes >= sent_bytes(p));
        t->owed_n--;
        t->owed_bytes -= sent_bytes(p);
    }
    assert(t->n + t->owed_n < b->config.txn_records_max);
    t->taken[t->n] = (uint32_t)(p - b->pools.parcels);
    if (t->n++ == 0) {
        t->since_mono_ms = b->now.mono_ms;
        bool urgent = p->kind != FORWARD_LEVEL && p->kind != FORWARD_DEAD;
        t->takes = b->txn.took = urgent ? READY_DELIVERIES : READY_HOPS;
    }
    t->bytes += sent_bytes(p);
    if (alone)
        t->single = p;
}

void txn_failed(struct bridge *b, struct parcel *p, struct target *target, enum report report)
{
    struct txn *t = &b->txn;
    if (t->state != TXN_BROKEN) /* a fact about the client may have come first */
        t->state = TXN_FAILED;
    t->reason_known |= report != REPORT_NOT_SENT;
    if (t->single == p) {
        t->failed_parcel = p;
        t->failed_target = target;
        t->failed_report = report;
        return;
    }
    t->unsent = p->queue->id;
    t->unsent_offset = p->offset;
    t->unsent_to = p->to_slot;
}

static int64_t over_mono_ms(const struct bridge *b)
{
    const struct txn *t = &b->txn;
    if (!list_is_empty(&b->ready[t->takes]))
        return t->since_mono_ms + TXN_AGE_MAX_MS;
    return t->since_mono_ms +
           (t->takes == READY_HOPS ? 0 : TXN_AGE_MS); /* hops have waited for each other already */
}

bool txn_is_over(const struct bridge *b)
{
    const struct txn *t = &b->txn;
    return t->single != NULL || t->close_requested || is_full(b) || b->commit.proving ||
           b->now.mono_ms >= over_mono_ms(b);
}

size_t txn_in_flight(const struct bridge *b)
{
    return b->in_flight - b->revoked;
}

bool txn_is_out(const struct bridge *b)
{
    return b->txn.state == TXN_CLOSED || b->txn.state == TXN_FAILED;
}

int64_t txn_wait_ms(const struct bridge *b)
{
    const struct txn *t = &b->txn;
    if (!b->config.exactly_once || t->state != TXN_OPEN)
        return BRIDGE_WAIT_MAX_MS;
    if (t->n == 0 && list_is_empty(&b->ready[READY_HOPS]))
        return BRIDGE_WAIT_MAX_MS;
    int64_t end_mono_ms = t->n > 0 ? over_mono_ms(b) : b->hops_since_mono_ms + hops_wait_ms(b);
    int64_t left_ms = end_mono_ms - b->now.mono_ms;
    /* 0 or less: the port has just refused a hop, or an event that belongs to the transaction. */
    return left_ms > 0 ? left_ms : BRIDGE_WAIT_MAX_MS;
}
