/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: which of them are available. A target that fails must not delay others. So records in
   flight to it are limited, and a target that is down is not tried. If it stays silent for a
   second, its parked records return to a level. */
#include "bridge/core/target.h"
#include "bridge/core/cluster.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "bridge/core/slowness.h"
#include "bridge/core/state.h"
#include "bridge/core/target_limits.h"
#include "bridge/core/target_table.h"

#include <stdio.h>

enum { IN_FLIGHT_MAX = 100000, DOUBT_MS = 3000 };

static void fail(struct target *t, enum delivery_error error, const char *why)
{
    t->error = error;
    snprintf(t->why, sizeof t->why, "%s", why);
}

static void set_down(struct bridge *b, struct target *t, bool costs_attempt, int64_t for_ms)
{
    bool news = t->state != TARGET_DOWN; /* records in flight fail one by one */
    t->state = TARGET_DOWN;
    t->costs_attempt = costs_attempt;
    t->failed = true;
    t->recheck_mono_ms = b->now.mono_ms + for_ms;
    if (news)
        bridge_notice(b, (struct notice){.kind = NOTICE_TARGET_DOWN,
                                         .target = bytes_text(t->id.name),
                                         .error = t->error,
                                         .reason = t->why,
                                         .span_ms = for_ms});
}

static void found_there(struct bridge *b, struct target *t, enum lookup found)
{
    t->whole_mono_ms = found == LOOKUP_WHOLE ? b->now.mono_ms : 0;
    t->doubted |= b->config.exactly_once && found != LOOKUP_WHOLE;
    t->state = t->failed || t->doubted ? TARGET_PROBING : TARGET_UP;
}

static void look_up(struct bridge *b, struct target *t, bool waited_for)
{
    enum lookup found = b->port.lookup(b->port.ctx, &t->id);
    b->targets.looking_up = found == LOOKUP_PENDING ? t : NULL;
    b->targets.lookup_awaited = waited_for;
    b->targets.looked_up_last = (size_t)(t - b->targets.all);
    if (found != LOOKUP_PENDING && found != LOOKUP_UNKNOWN)
        cluster_heard(b);
    if (t->state != TARGET_UNKNOWN) /* a report came before the answer */
        return;
    /* No record waits for this topic yet, so it may still be created in time. */
    if (!waited_for && found != LOOKUP_FOUND && found != LOOKUP_WHOLE)
        return;
    switch (found) {
    case LOOKUP_UNWRITABLE:
        if (b->config.exactly_once) {
            fail(t, DELIVERY_TIMED_OUT,
                 "a partition of the topic has no leader, or too few replicas in sync");
            set_down(b, t, false, DOWN_MS);
            break;
        }
        found_there(b, t, found);
        break;
    case LOOKUP_FOUND:
    case LOOKUP_WHOLE:
        found_there(b, t, found);
        break;
    case LOOKUP_MISSING:
        fail(t, DELIVERY_MISSING,
             "there is no such topic, or the bridge may not see it: create it, or allow Write on "
             "it");
        set_down(b, t, true, MISSING_MS);
        break;
    case LOOKUP_UNKNOWN:
        t->recheck_mono_ms = b->now.mono_ms + LOOK_UP_AGAIN_MS;
        break;
    case LOOKUP_PENDING:
        break;
    }
}

/* Looks up an unknown target, one at a time. Returns whether it is still unknown. */
static bool is_unknown(struct bridge *b, struct target *t)
{
    bool is_free = b->targets.looking_up == NULL && b->outlets.looking_up == NULL;
    if (t->state == TARGET_UNKNOWN && is_free && b->now.mono_ms >= t->recheck_mono_ms)
        look_up(b, t, true);
    return t->state == TARGET_UNKNOWN;
}

/* Looks up a target once, and never replaces a known target for it. */
void target_expect(struct bridge *b, struct bytes name)
{
    if (b->targets.looking_up != NULL || b->outlets.looking_up != NULL)
        return;
    struct target *t = target_find(b, name);
    bool is_free = b->targets.n < TARGETS_MAX;
    if (t == NULL && is_free && allowlist_allows(&b->config.rules.allowlist, name))
        t = target_get(b, name);
    if (t == NULL || t->state != TARGET_UNKNOWN || t->expected)
        return;
    t->expected = true;
    look_up(b, t, false);
}

static bool has_room(const struct bridge *b, const struct target *t)
{
    return t->in_flight < IN_FLIGHT_MAX &&
           (int64_t)t->in_flight_bytes < b->config.memory_bytes / 4 + (int64_t)PARCEL_OVERHEAD;
}

/* Exactly-once: a target that stopped all others is not tried soon after any such stall. */
static bool must_wait(const struct bridge *b, const struct target *t)
{
    return t->stalls > 0 && t->state != TARGET_UP &&
           b->now.mono_ms - b->cluster.stall_mono_ms < STALL_GAP_MS;
}

/* Exactly-once: brokers cannot end a transaction that has a partition without a leader, so its
   producer is blocked. Returns whether a record for this target may block the remaining producer in
   the same way. */
static bool may_block_last_producer(const struct bridge *b, const struct target *t)
{
    return (t->stalls > 0 || t->doubted) &&
           !cluster_leaders_are_known(b, t->whole_mono_ms, LEADERS_MS);
}

static enum gate probe(struct bridge *b, struct target *t)
{
    if (t->in_flight > 0)
        return GATE_PARK;
    if (!may_block_last_producer(b, t))
        return GATE_OPEN;
    /* Perhaps Kafka was away, and the other producer will be back in a moment. */
    if (t->stalls == 0 && b->now.mono_ms - b->cluster.stall_mono_ms < DOUBT_MS)
        return GATE_WAIT;
    if (!t->failed)
        fail(t, DELIVERY_TIMED_OUT, "a partition of the topic lacks a leader, or replicas in sync");
    t->state = TARGET_DOWN; /* no notice: nothing new is known */
    t->costs_attempt = false;
    t->recheck_mono_ms = b->now.mono_ms + DOWN_MS;
    return GATE_DEFER;
}

static void end_down(const struct bridge *b, struct target *t)
{
    if (t->state == TARGET_DOWN && b->now.mono_ms >= t->recheck_mono_ms)
        t->state = TARGET_UNKNOWN;
}

bool target_is_there(struct bridge *b, struct target *t)
{
    if (t->error == DELIVERY_MISSING)
        end_down(b, t);
    return !is_unknown(b, t) && (t->state != TARGET_DOWN || t->error != DELIVERY_MISSING);
}

enum gate target_gate(struct bridge *b, struct target *t)
{
    if (must_wait(b, t))
        return GATE_DEFER;
    end_down(b, t);
    if (is_unknown(b, t))
        return GATE_PARK;
    switch (t->state) {
    case TARGET_DOWN:
        return t->costs_attempt ? GATE_FAIL : GATE_DEFER;
    case TARGET_PROBING:
        return probe(b, t);
    case TARGET_UNKNOWN: /* impossible here */
    case TARGET_UP:
        break;
    }
    return has_room(b, t) ? GATE_OPEN : GATE_PARK;
}

void target_sent(struct bridge *b, struct target *t, struct parcel *p)
{
    if (t->in_flight == 0)
        t->answered_mono_ms = b->now.mono_ms;
    t->in_flight++;
    t->in_transaction = b->targets.in_transaction = b->config.exactly_once;
    t->keyless_in_transaction |= t->in_transaction && p->keyless;
    t->in_flight_bytes += (size_t)record_memory(p->record, 0);
    p->target = t;
}

void target_refuses(struct bridge *b, struct target *t, const char *why)
{
    fail(t, DELIVERY_REFUSED, why);
    set_down(b, t, true, DOWN_MS);
}

/* With exactly-once, all targets wait for the slowest one. So a target that stalls a transaction is
   tried more and more rarely. */
static void stalled(struct bridge *b, struct target *t, const char *why)
{
    if (t->state == TARGET_DOWN)
        return;
    bool again = t->stalls > 0 && b->now.mono_ms - t->recheck_mono_ms < STALLS_FORGOTTEN_MS;
    t->stalls = !again ? 1 : t->stalls < STALLS_MAX ? t->stalls + 1 : STALLS_MAX;
    b->cluster.stall_mono_ms = b->now.mono_ms;
    fail(t, DELIVERY_TIMED_OUT, why);
    set_down(b, t, false, DOWN_MS << (t->stalls - 1));
}

void target_doubt(struct bridge *b, struct target *t)
{
    b->cluster.stall_mono_ms = b->now.mono_ms;
    t->doubted = true;
    t->doubted_mono_ms = b->now.mono_ms;
    t->whole_mono_ms = 0;
    if (t->state == TARGET_UP || t->state == TARGET_PROBING)
        t->state = TARGET_UNKNOWN;
}

void targets_look_up_again(struct bridge *b)
{
    for (size_t i = 0; i < b->targets.n; i++) {
        struct target *t = &b->targets.all[i];
        if (t->state == TARGET_UP)
            t->state = TARGET_UNKNOWN;
    }
}

/* Its answer changes no target that is available. */
void targets_listen(struct bridge *b)
{
    if (b->targets.looking_up != NULL || b->outlets.looking_up != NULL)
        return;
    for (size_t i = 0; i < b->targets.n; i++) {
        struct target *t = &b->targets.all[i];
        if (t->in_transaction && t->in_flight > 0) {
            look_up(b, t, false);
            return;
        }
    }
}

bool targets_take_down_silent(struct bridge *b, const char *why)
{
    size_t in_flight = 0;
    for (size_t i = 0; i < b->targets.n; i++)
        in_flight += b->targets.all[i].in_flight;
    if (in_flight < b->in_flight)
        return false; /* a topic of ours is silent, too */
    for (size_t i = 0; i < b->targets.n; i++) {
        struct target *t = &b->targets.all[i];
        if (t->in_transaction && t->in_flight > 0)
            stalled(b, t, why);
    }
    return true;
}

/* One of these targets broke the transaction, so each of them is tried alone. */
void targets_suspect(struct bridge *b, const char *why)
{
    for (size_t i = 0; i < b->targets.n; i++) {
        struct target *t = &b->targets.all[i];
        if (!t->in_transaction || t->state == TARGET_DOWN)
            continue;
        fail(t, DELIVERY_REFUSED, why);
        t->failed = true;
        t->state = TARGET_PROBING;
    }
}

void targets_forget_transaction(struct bridge *b)
{
    for (size_t i = 0; b->targets.in_transaction && i < b->targets.n; i++)
        b->targets.all[i].in_transaction = b->targets.all[i].keyless_in_transaction = false;
    b->targets.in_transaction = false;
}

/* Returns parked records to the gate, which decides again. */
static void unpark(struct bridge *b, struct target *t, size_t n)
{
    for (struct link *l; n > 0 && (l = list_first(&t->parked)) != NULL; n--)
        parcel_ready(b, list_item(l, struct parcel, link));
}

/* Returns whether a success ends the doubt about its target. It may be a record of another
   partition than the one that timed out. */
static bool ends_doubt(const struct target *t, const struct parcel *p, bool others_failed)
{
    return !others_failed && p->since_mono_ms >= t->doubted_mono_ms;
}

void target_reported(struct bridge *b, struct target *t, struct parcel *p,
                     const struct answer *answer)
{
    bool others_failed = b->txn.state == TXN_FAILED;
    p->target = NULL;
    t->in_flight--;
    t->in_flight_bytes -= (size_t)record_memory(p->record, 0);
    t->answered_mono_ms = b->now.mono_ms;
    switch (answer->report) {
    case REPORT_OK:
        slowness_learn(b, t, b->now.mono_ms - p->since_mono_ms);
        t->took_mono_ms = b->now.mono_ms;
        if (t->doubted && !ends_doubt(t, p, others_failed))
            break;
        if (t->failed)
            bridge_notice(
                b, (struct notice){.kind = NOTICE_TARGET_UP, .target = bytes_text(t->id.name)});
        t->failed = t->doubted = false;
        t->state = TARGET_UP;
        if (b->now.mono_ms - t->recheck_mono_ms >= STALLS_FORGOTTEN_MS)
            t->stalls = 0;
        if (p->record->cost_bytes >= t->large_bytes)
            target_note_fits(t, p);
        if (p->keyless && !others_failed) /* otherwise it may be in a transaction with others */
            t->keyless_suspect = false;
        break;
    case REPORT_REFUSED:
        target_refuses(b, t, answer->why);
        break;
    case REPORT_TOO_LARGE:
        target_note_too_large(b, t, p, answer->alone);
        break;
    case REPORT_UNFIT:
        target_note_unfit(b, t, p, answer->alone);
        break;
    case REPORT_TIMED_OUT: /* other partitions of the topic may work */
        if (b->config.exactly_once) {
            stalled(b, t, answer->why);
            break;
        }
        if (t->took_mono_ms >= p->since_mono_ms)
            break;
        fail(t, DELIVERY_TIMED_OUT, answer->why);
        set_down(b, t, false, DOWN_MS);
        break;
    case REPORT_NOT_SENT:
        break;
    }
    if (!list_is_empty(&t->parked) && (t->state != TARGET_UP || has_room(b, t)))
        unpark(b, t, t->state == TARGET_DOWN ? SIZE_MAX : 64);
}

void target_park(struct bridge *b, struct target *t, struct parcel *p)
{
    parcel_detach(b, p);
    p->state = PARCEL_PARKED;
    p->target = t;
    p->since_mono_ms = b->now.mono_ms;
    list_append(&t->parked, &p->link);
    b->targets.parked++;
}

/* Returns whether a target acknowledges nothing while other records are acknowledged. If no record
   is acknowledged, Kafka is away. */
static bool is_silent(const struct bridge *b, const struct target *t)
{
    int64_t since_mono_ms = t->answered_mono_ms > b->cluster.back_mono_ms ? t->answered_mono_ms
                                                                          : b->cluster.back_mono_ms;
    return b->cluster.acked_mono_ms - since_mono_ms > PARK_MS;
}

void targets_serve(struct bridge *b)
{
    if (b->targets.looking_up != NULL)
        look_up(b, b->targets.looking_up, b->targets.lookup_awaited);
    if (b->targets.parked == 0)
        return;
    /* Each pass begins after the last look-up. Otherwise it would repeat the same few look-ups that
       have no answer. */
    size_t first = b->targets.looked_up_last + 1;
    for (size_t i = 0; i < b->targets.n; i++) {
        struct target *t = &b->targets.all[(first + i) % b->targets.n];
        if (list_is_empty(&t->parked) || is_unknown(b, t))
            continue;
        if (t->in_flight == 0) {
            unpark(b, t, SIZE_MAX);
        } else if (is_silent(b, t)) {
            fail(t, DELIVERY_TIMED_OUT, "nothing was acknowledged for a second");
            set_down(b, t, false, DOWN_MS);
            unpark(b, t, SIZE_MAX);
        }
    }
}
