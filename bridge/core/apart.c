/* SPDX-License-Identifier: Apache-2.0 */
/* The transaction of slow targets: which targets it serves, and its states. */
#include "bridge/core/apart.h"
#include "bridge/core/bridge.h"
#include "bridge/core/parcel.h"

#include <stdlib.h>

enum {
    APART_MS = 100,
    APART_TIMES = 4,
    APART_FAST_MS = 50,
    APART_FAST_TIMES = 2,
    APART_STAYS_MS = 10000,
    APART_LOOK_MS = 500,
    APART_JUDGE_MS = 200,
    APART_RECENT_MS = 10000, /* older acknowledgements do not count */
    APART_AGAIN_MS = 100,
    APART_RECORDS_MAX = 10000,
    APART_REFUSED_MAX = 30,
    APART_SILENT_MS = TXN_SILENT_MS + 500, /* the port first finds out if brokers refuse it */
    APART_MEMORY = 8                       /* its part of memory_bytes: an eighth */
};

int apart_init(struct bridge *b)
{
    size_t n = b->config.exactly_once ? APART_RECORDS_MAX : 1;
    b->apart.taken = malloc(n * sizeof *b->apart.taken);
    return b->apart.taken == NULL ? ERR_NO_MEMORY : 0;
}

void apart_deinit(struct bridge *b)
{
    free(b->apart.taken);
}

bool apart_is_for(const struct bridge *b, const struct target *t, bool shared)
{
    return b->config.exactly_once && t->is_slow && !shared && t->state == TARGET_UP;
}

bool apart_must_wait(const struct target *t, bool apart)
{
    return apart ? t->in_transaction : t->is_apart;
}

bool apart_keeps_parked(const struct target *t)
{
    return (t->is_slow || t->is_apart) && t->state == TARGET_UP;
}

bool apart_is_in_line(const struct target *t)
{
    return apart_keeps_parked(t) && !list_is_empty(&t->parked);
}

bool apart_delays(const struct bridge *b, const struct target *t)
{
    return t->is_apart || (t->is_slow && (t->in_transaction || !apart_takes(b)));
}

/* Records that are held count as in flight to no target, so they have a separate limit. */
static size_t bytes_max(const struct bridge *b)
{
    size_t part = (size_t)b->config.memory_bytes / APART_MEMORY;
    return part < TXN_BYTES_MAX ? part : TXN_BYTES_MAX;
}

bool apart_takes(const struct bridge *b)
{
    const struct apart *a = &b->apart;
    return a->state == APART_OPEN && a->n < APART_RECORDS_MAX && a->bytes < bytes_max(b) &&
           b->txn.state != TXN_BROKEN && !b->txn.is_apart && !b->commit.proving &&
           b->now.mono_ms >= a->again_mono_ms;
}

void apart_took(struct bridge *b, struct parcel *p, struct target *t)
{
    struct apart *a = &b->apart;
    if (a->n == 0)
        a->since_mono_ms = a->answered_mono_ms = b->now.mono_ms;
    assert(a->n < APART_RECORDS_MAX);
    a->taken[a->n++] = (uint32_t)(p - b->pools.parcels);
    a->bytes += p->record->cost_bytes;
    a->in_flight++;
    a->refused = 0;
    p->apart = true;
    t->is_apart = true;
}

static void set_slow(struct bridge *b, struct target *t, bool slow)
{
    bridge_notice(b, (struct notice){.kind = slow ? NOTICE_TARGET_APART : NOTICE_TARGET_SHARES,
                                     .target = bytes_text(t->id.name),
                                     .span_ms = t->ack_us / 1000});
    t->is_slow = slow;
    t->judged_mono_ms = b->now.mono_ms;
    t->looked_mono_ms = 0;
    if (!slow) /* no record that is due later may pass its parked ones */
        parcel_ready_all_first(b, &t->parked);
}

/* Slow targets: all of them, or those with records in the transaction apart, before its turn or in
   it. */
enum slow_targets { SLOW_ALL, SLOW_BEFORE_TURN, SLOW_IN_TURN };

static bool is_among(const struct target *t, enum slow_targets which)
{
    switch (which) {
    case SLOW_BEFORE_TURN:
        return t->is_apart;
    case SLOW_IN_TURN:
        return t->in_transaction;
    case SLOW_ALL:
        break;
    }
    return true;
}

/* Lets slow targets share transactions, at least for APART_STAYS_MS. */
static void share(struct bridge *b, enum slow_targets which)
{
    for (size_t i = 0; i < b->targets.n; i++) {
        struct target *t = &b->targets.all[i];
        if (t->is_slow && is_among(t, which))
            set_slow(b, t, false);
    }
}

/* Without its producer, slow targets share transactions again. A producer that is ready limits how
   much it sends. */
void apart_refused(struct bridge *b)
{
    b->apart.again_mono_ms = b->now.mono_ms + APART_AGAIN_MS;
    if (b->port.apart_ready(b->port.ctx) || ++b->apart.refused < APART_REFUSED_MAX)
        return;
    b->apart.refused = 0;
    share(b, SLOW_ALL);
}

void apart_reported(struct bridge *b, struct parcel *p, bool ok)
{
    struct apart *a = &b->apart;
    a->in_flight--;
    a->answered_mono_ms = b->now.mono_ms;
    p->state = PARCEL_HELD;
    if (!ok)
        apart_fail(b);
}

/* A moving average: each acknowledgement counts a quarter. After the first look, only records that
   were sent later count. */
void apart_learn(struct bridge *b, struct target *t, int64_t took_ms)
{
    int64_t took_us = took_ms * 1000;
    bool first = t->took_mono_ms == 0 || t->ack_us < 0 ||
                 b->now.mono_ms - t->took_mono_ms >= APART_RECENT_MS;
    if (b->now.mono_ms - took_ms < t->looked_mono_ms)
        return;
    t->ack_us = first ? took_us : t->ack_us + (took_us - t->ack_us) / 4;
}

bool apart_is_complete(const struct bridge *b)
{
    const struct apart *a = &b->apart;
    return a->state == APART_CLOSED && a->n > 0 && a->in_flight == 0;
}

bool apart_wants_turn(const struct bridge *b)
{
    return apart_is_complete(b) && !b->apart.waits;
}

/* again: its records are sent again, and then those that waited for them. Otherwise targets_serve
   returns the parked records of slow targets, when it accepts them. */
static void begin(struct bridge *b, bool again)
{
    struct apart *a = &b->apart;
    for (size_t i = 0; i < b->targets.n; i++) {
        struct target *t = &b->targets.all[i];
        if (t->is_apart && (again || !t->is_slow))
            parcel_ready_all_first(b, &t->parked);
        t->is_apart = false;
    }
    a->state = APART_OPEN;
    a->n = a->bytes = 0;
    a->failed = a->timed_out = a->waits = false;
}

/* In its turn it is the open transaction. */
static void enter_turn(struct bridge *b)
{
    for (size_t i = 0; i < b->targets.n; i++)
        b->targets.all[i].in_transaction |= b->targets.all[i].is_apart;
    b->targets.in_transaction = true;
}

void apart_finish(struct bridge *b)
{
    struct apart *a = &b->apart;
    assert(apart_is_complete(b));
    enter_turn(b);
    for (size_t i = 0; i < a->n; i++) {
        struct parcel *p = &b->pools.parcels[a->taken[i]];
        assert(p->state == PARCEL_HELD && p->apart && p->ownership == OWNED);
        p->apart = false;
        parcel_done(b, p);
    }
    begin(b, false);
}

void apart_close(struct bridge *b)
{
    if (b->apart.state == APART_OPEN && b->apart.n > 0)
        b->apart.state = APART_CLOSED;
}

void apart_break(struct bridge *b)
{
    struct apart *a = &b->apart;
    if (a->n == 0 || a->state == APART_BROKEN)
        return;
    a->state = APART_BROKEN;
    counter_add(&b->stats->aborts, 1);
    b->port.abort_apart(b->port.ctx);
}

void apart_fail(struct bridge *b)
{
    b->apart.failed |= b->apart.n > 0;
    apart_break(b);
}

void apart_turn_failed(struct bridge *b)
{
    share(b, SLOW_IN_TURN);
}

/* All its records are reported. Those that are still ours are sent again, in their order. */
void bridge_apart_restarted(struct bridge *b)
{
    struct apart *a = &b->apart;
    assert(a->state == APART_BROKEN && a->in_flight == 0);
    size_t n = a->n;
    if (a->failed)
        share(b, SLOW_BEFORE_TURN);
    begin(b, true);
    while (n > 0) {
        struct parcel *p = &b->pools.parcels[a->taken[--n]];
        if (p->state != PARCEL_HELD || !p->apart)
            continue;
        p->apart = false;
        p->state = PARCEL_FREE; /* in no list */
        parcel_ready_first(b, p);
    }
}

static bool is_recent(const struct bridge *b, const struct target *t)
{
    return t->state == TARGET_UP && t->took_mono_ms > 0 && t->ack_us >= 0 &&
           b->now.mono_ms - t->took_mono_ms < APART_RECENT_MS;
}

/* A short stall makes a target slow for one look. So the first look starts a new average, and a
   second one decides. */
static bool is_slow_again(const struct bridge *b, struct target *t)
{
    int64_t since_ms = b->now.mono_ms - t->looked_mono_ms;
    if (t->looked_mono_ms != 0 && since_ms < APART_RECENT_MS)
        return since_ms >= APART_LOOK_MS;
    t->looked_mono_ms = b->now.mono_ms;
    t->ack_us = -1;
    return false;
}

/* others: it was compared with another target. If there is none, its times prove little. */
static void judge(struct bridge *b, struct target *t, int64_t fastest_us, bool others)
{
    bool slow = t->ack_us >= APART_MS * 1000 && t->ack_us >= APART_TIMES * fastest_us;
    bool fast =
        t->ack_us <= APART_FAST_MS * 1000 || (others && t->ack_us <= APART_FAST_TIMES * fastest_us);
    bool wanted = t->is_slow ? !fast : slow;
    bool stays = t->judged_mono_ms != 0 && b->now.mono_ms - t->judged_mono_ms < APART_STAYS_MS;
    if (!slow)
        t->looked_mono_ms = 0;
    if (wanted == t->is_slow || stays)
        return;
    bool ready = !wanted || b->port.apart_ready(b->port.ctx); /* the first look starts its client */
    if (wanted && (!is_slow_again(b, t) || !ready))
        return;
    set_slow(b, t, wanted);
}

static void judge_all(struct bridge *b)
{
    int64_t fastest_us = INT64_MAX;
    uint64_t slow_n = 0;
    int recent_n = 0;
    b->apart.judged_mono_ms = b->now.mono_ms;
    for (size_t i = 0; i < b->targets.n; i++) {
        const struct target *t = &b->targets.all[i];
        if (!is_recent(b, t))
            continue;
        recent_n++;
        fastest_us = t->ack_us < fastest_us ? t->ack_us : fastest_us;
    }
    for (size_t i = 0; i < b->targets.n; i++) {
        if (is_recent(b, &b->targets.all[i]))
            judge(b, &b->targets.all[i], fastest_us, recent_n > 1);
        slow_n += b->targets.all[i].is_slow;
    }
    counter_set(&b->stats->targets_apart, slow_n);
}

bool apart_is_silent(const struct bridge *b)
{
    const struct apart *a = &b->apart;
    int64_t since_mono_ms = a->answered_mono_ms;
    if (b->cluster.muted_mono_ms > since_mono_ms)
        since_mono_ms = b->cluster.muted_mono_ms;
    return a->in_flight > 0 && a->state != APART_BROKEN &&
           b->now.mono_ms - since_mono_ms >= APART_SILENT_MS &&
           b->now.mono_ms - b->cluster.acked_mono_ms < TXN_SILENT_MS;
}

void apart_serve(struct bridge *b)
{
    struct apart *a = &b->apart;
    if (!b->config.exactly_once)
        return;
    if (b->now.mono_ms - a->judged_mono_ms >= APART_JUDGE_MS)
        judge_all(b);
    if (a->n > 0 && b->now.mono_ms - a->since_mono_ms >= TXN_AGE_MAX_MS)
        apart_close(b);
}

bool apart_is_owed(const struct bridge *b)
{
    return b->apart.n > 0 && b->apart.state != APART_BROKEN && b->txn.state != TXN_BROKEN;
}
