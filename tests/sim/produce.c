/* SPDX-License-Identifier: Apache-2.0 */
/* The port, writing side. Records to one partition stay in order, records to different partitions
   may not. A record is stored or not. Its report says so, or says that the outcome is unknown. */
#include "tests/sim/coordinator.h"
#include "tests/sim/facts.h"
#include "tests/sim/oracle.h"
#include "tests/sim/voids.h"

#include <assert.h>

enum { DELIVERY_TIMEOUT_MS = 5000, REPORT_LATE_MS = 3000 };

static const char *why_text[] = {
    [REPORT_OK] = "stored",       [REPORT_TOO_LARGE] = "too large", [REPORT_UNFIT] = "unfit",
    [REPORT_REFUSED] = "refused", [REPORT_TIMED_OUT] = "timed out", [REPORT_NOT_SENT] = "not sent",
};

static int target_index(const struct world *w, const char *name)
{
    for (int i = 0; i < TARGETS_N; i++) {
        if (strcmp(w->targets[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* Returns the size of key or value, the larger one, without the bytes that an envelope adds. */
static size_t size_of(const struct flight *f, enum dead_letter_content letter)
{
    bool whole = f->request != NULL && letter == DEAD_LETTER_FULL && f->kind != FORWARD_CANCEL &&
                 f->kind != FORWARD_EVENT;
    size_t value_len = whole ? f->request->value.len : f->made.value.len;
    return f->made.key.len > value_len ? f->made.key.len : value_len;
}

/* Decides the outcome of a record as far as it is known at the start. */
static void decide(struct world *w, struct flight *f, const struct forward *forward)
{
    struct knobs *knobs = &w->knobs;
    static const size_t most[] = {
        [FORWARD_LEVEL] = LEVEL_BYTES_MAX, [FORWARD_TARGET] = TARGET_BYTES_MAX,
        [FORWARD_DEAD] = DEAD_BYTES_MAX,   [FORWARD_CANCEL] = LEVEL_BYTES_MAX,
        [FORWARD_EVENT] = EVENT_MAX,
    };
    f->report = REPORT_OK;
    if (size_of(f, forward->content) > most[f->kind])
        f->report = REPORT_TOO_LARGE;
    else if (f->kind == FORWARD_DEAD && !forward->alone && rng_chance(&w->rng, knobs->batch))
        f->report = REPORT_TOO_LARGE;
    else if (f->kind == FORWARD_TARGET && !forward->alone && rng_chance(&w->rng, knobs->batch))
        f->report = size_of(f, forward->content) % 2 == 0 ? REPORT_TOO_LARGE : REPORT_UNFIT;
    else if (rng_chance(&w->rng, knobs->timed_out))
        f->report = REPORT_TIMED_OUT;
    else if (rng_chance(&w->rng, knobs->not_sent))
        f->report = REPORT_NOT_SENT;
    f->stored = f->report == REPORT_TIMED_OUT && rng_chance(&w->rng, 5000);
}

/* Decides the outcome in a world with one failure, if this is its opportunity. */
static void decide_by_failure(struct world *w, struct flight *f, const struct forward *forward)
{
    bool delivery = f->kind == FORWARD_TARGET;
    if (f->report != REPORT_OK)
        return;
    if (fails(w, FAILURE_NOT_SENT)) {
        f->report = REPORT_NOT_SENT;
    } else if (fails(w, FAILURE_TIMED_OUT)) {
        f->report = REPORT_TIMED_OUT;
    } else if (fails(w, FAILURE_TIMED_OUT_STORED)) {
        f->report = REPORT_TIMED_OUT;
        f->stored = true;
    } else if (fails(w, FAILURE_REFUSED)) {
        f->report = REPORT_REFUSED;
    } else if (delivery && !forward->alone && fails(w, FAILURE_TOO_LARGE)) {
        f->report = REPORT_TOO_LARGE;
    } else if (delivery && !forward->alone && fails(w, FAILURE_UNFIT)) {
        f->report = REPORT_UNFIT;
    } else if (delivery && w->setup.exactly_once && fails(w, FAILURE_UNNAMED)) {
        f->unnamed = true;
        f->report = REPORT_NOT_SENT;
    }
}

static void decide_by_target(struct world *w, struct flight *f, int target)
{
    f->lands_at += target < 0 ? 0 : w->targets[target].ack_ms;
    switch (target < 0 ? TARGET_AWAY : w->targets[target].mood) {
    case TARGET_FINE:
        break;
    case TARGET_REFUSES:
        f->unnamed = w->setup.exactly_once;
        f->report = f->unnamed ? REPORT_NOT_SENT : REPORT_REFUSED;
        f->stored = false;
        break;
    case TARGET_AWAY:
        f->report = REPORT_REFUSED;
        f->stored = false;
        break;
    case TARGET_KEYED:
    case TARGET_UNKEYED:
        if ((f->request->key.data == NULL) == (w->targets[target].mood == TARGET_KEYED)) {
            f->report = REPORT_UNFIT;
            f->stored = false;
        }
        break;
    case TARGET_SLOW:
        f->lands_at += rng_between(&w->rng, 0, 2 * DELIVERY_TIMEOUT_MS);
        if (w->setup.exactly_once && f->lands_at > f->sent_ms + DELIVERY_TIMEOUT_MS)
            f->lands_at = f->sent_ms + DELIVERY_TIMEOUT_MS + 1;
        break;
    }
}

static int chain_of(struct process *p, const struct forward *forward)
{
    if (forward->kind == FORWARD_LEVEL)
        return p->topic_of_slot[forward->slot] * LANES_MAX + forward->from.lane;
    if (forward->kind == FORWARD_DEAD)
        return CHAINS_DEAD + forward->from.lane;
    if (forward->kind == FORWARD_CANCEL)
        return TOPIC_CANCELS * LANES_MAX + forward->from.lane;
    if (forward->kind == FORWARD_EVENT)
        return CHAINS_EVENTS + forward->from.lane;
    assert(forward->env != NULL); /* of all other kinds */
    int target = target_index(p->world, forward->target->name);
    int partition = (int)(forward->env->value.len % TARGET_PARTITIONS);
    return CHAINS_TARGETS + (target < 0 ? 0 : target) * TARGET_PARTITIONS + partition;
}

static void reported(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)n;
    struct flight *f = arg;
    f->next = NULL;
    *p->reports_end = f;
    p->reports_end = &f->next;
    process_turn_by(p, w->now_ms + world_delay(w, w->knobs.turn_ms));
}

static void store(struct world *w, struct producer *producer, struct flight *f)
{
    struct written *it = arena_take(&w->arena, sizeof *it);
    *it = (struct written){.input = f->input,
                           .attempt = f->attempt,
                           .from_topic = f->process->topic_of_slot[f->from.slot],
                           .topic = f->topic,
                           .lane = f->lane,
                           .request = f->request,
                           .raw = f->raw,
                           .expired = f->expired,
                           .told = f->told,
                           .kind = f->kind};
    trace(w, NULL, "stored: %s of %d/%d/%lld, sent by life %d, request %lld",
          f->kind == FORWARD_LEVEL    ? "hop"
          : f->kind == FORWARD_TARGET ? "delivery"
          : f->kind == FORWARD_CANCEL ? "cancel"
          : f->kind == FORWARD_EVENT  ? "event"
                                      : "dead letter",
          f->from.slot, f->from.lane, (long long)f->input->offset, producer->life,
          f->request ? (long long)f->request->offset : -1);
    if (f->kind == FORWARD_LEVEL) {
        struct log *log = &w->broker.logs[f->topic][f->lane];
        it->made = log_append(&w->broker, log, &f->made);
        f->landed_offset = it->made->offset;
        oracle_level_appended(w, log, it->made, f->ladder, producer->life);
    }
    if (f->kind == FORWARD_CANCEL) {
        it->made = log_append(&w->broker, &w->broker.logs[f->topic][f->lane], &f->made);
        void_stored(f->process, producer->life, f->lane, it->made);
    }
    if (w->setup.exactly_once)
        coordinator_write(producer, it);
    else
        written_counts(w, it);
    if (f->kind == FORWARD_LEVEL)
        inbox_appended(w, f->topic, f->lane);
}

/* A client gives up a record that it cannot send. Five seals of a lane take longer. */
static int64_t hop_timeout_ms(const struct world *w)
{
    return 2 * w->setup.seal_ms;
}

/* Handles a partition without a leader: it stores no record. A delivery times out. A hop waits,
   unless it is part of a transaction. */
static bool outage_keeps(struct world *w, struct flight *f)
{
    int64_t leader_back = world_leader_back(w, f->chain);
    bool own_topic = f->kind == FORWARD_LEVEL || f->kind == FORWARD_CANCEL;
    if (own_topic && f->producer->cut_until_ms > leader_back)
        leader_back = f->producer->cut_until_ms;
    if (leader_back <= w->now_ms)
        return false;
    bool delivery = f->kind == FORWARD_TARGET || f->kind == FORWARD_EVENT || w->setup.exactly_once;
    int64_t gives_up_at = f->sent_ms + (delivery ? DELIVERY_TIMEOUT_MS : hop_timeout_ms(w));
    bool skip_requested =
        delivery || (w->setup.cancel_memory > 0 && w->bug != BUG_HOP_WITHOUT_TIMEOUT);
    if (skip_requested && w->now_ms >= gives_up_at) {
        f->report = REPORT_TIMED_OUT;
        f->stored = rng_chance(&w->rng, 1000);
        return false;
    }
    f->lands_at = leader_back + 1 + world_delay(w, w->knobs.land_ms);
    if (skip_requested && f->lands_at > gives_up_at)
        f->lands_at = gives_up_at;
    return true;
}

static void report_later(struct world *w, struct producer *producer, struct flight *f)
{
    struct chain *chain = &producer->chains[f->chain];
    int64_t at_ms = w->now_ms + world_delay(w, w->knobs.report_ms);
    if (f->report == REPORT_TIMED_OUT && f->sent_ms + DELIVERY_TIMEOUT_MS > at_ms)
        at_ms = f->sent_ms + DELIVERY_TIMEOUT_MS;
    if (fails(w, FAILURE_REPORT_LATE))
        at_ms += REPORT_LATE_MS;
    if (at_ms < chain->reported_at)
        at_ms = chain->reported_at;
    chain->reported_at = at_ms;
    world_at(w, at_ms, f->process, reported, f, 0);
}

/* Returns whether the record must still wait: for its time, the broker, or the end of the
   transaction before. */
static bool is_kept(struct world *w, struct producer *producer, struct flight *f)
{
    if (f->lands_at > w->now_ms)
        return true;
    if (f->vanishes)
        return false;
    if (outage_keeps(w, f))
        return true;
    if (!coordinator_is_busy(producer))
        return false;
    f->lands_at = w->now_ms + 1;
    return true;
}

void flight_land(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    (void)nobody;
    struct producer *producer = arg;
    struct chain *chain = &producer->chains[n];
    struct flight *f = chain->head;
    bool ended = producer->died || producer->given_up || producer->torn;
    chain->armed = false;
    if (f == NULL || (w->knobs.hold_landings && !ended))
        return;
    if (is_kept(w, producer, f)) {
        producer_arm(producer, (int)n);
        return;
    }
    chain->head = f->next;
    if (chain->head == NULL)
        chain->end = &chain->head;
    chain->landed_at = w->now_ms;
    w->flying_n--;
    if (f->report == REPORT_OK && f->kind == FORWARD_TARGET &&
        w->now_ms - f->sent_ms > DELIVERY_TIMEOUT_MS) {
        f->report = REPORT_TIMED_OUT;
        f->stored = rng_chance(&w->rng, 5000);
    }
    if (producer->fenced)
        flight_give_up(f);
    if (!f->vanishes && (f->report == REPORT_OK || f->stored)) {
        producer->produced = true;
        store(w, producer, f);
    }
    if (w->setup.exactly_once && f->report != REPORT_OK && !ended)
        producer_tear(f);
    if (!producer->died)
        report_later(w, producer, f);
    producer_arm(producer, (int)n);
}

/* Makes the record to store. The client copies headers and key at once, but not the value, which
   must not change before the report. */
static void make_entry(struct world *w, struct flight *f, const struct forward *forward)
{
    const struct record *record = forward->record;
    struct bytes value = forward->env != NULL ? forward->env->value : record->value;
    if (forward->kind == FORWARD_LEVEL)
        value = record->value;
    if (forward->content != DEAD_LETTER_FULL)
        value = bytes_null();
    struct bytes key = forward->content == DEAD_LETTER_REASON_ONLY ? bytes_null() : record->key;
    f->lent_value = value;
    f->made = (struct entry){.timestamp_ms = bug_stamp(w, forward->timestamp_wall_ms),
                             .key = arena_copy(&w->arena, key),
                             .value = arena_copy(&w->arena, value),
                             .request = f->request};
    if (forward->kind == FORWARD_LEVEL && w->is_older[f->process->id])
        f->made.value = older_writes(&w->arena, f->made.value);
}

/* The input of a seal or a cut, which have none. */
static struct entry *no_input(struct world *w)
{
    struct entry *input = arena_take(&w->arena, sizeof *input);
    *input = (struct entry){.offset = -1, .foreign = true, .done = true};
    return input;
}

/* Returns the request of a forwarded record. */
static struct request *request_of(struct process *p, const struct forward *forward,
                                  struct entry *input)
{
    struct world *w = p->world;
    if (input == NULL)
        world_fail(w, "p%d forwards %d/%d/%lld, which does not exist", p->id, forward->from.slot,
                   forward->from.lane, (long long)forward->offset);
    if (input->made_in != NULL)
        world_fail(w, "p%d forwards %d/%d/%lld, which is not committed", p->id, forward->from.slot,
                   forward->from.lane, (long long)forward->offset);
    if (!input->foreign && input->request == NULL)
        world_fail(w, "the simulator has lost a request");
    return input->request;
}

/* Checks that a record that is tried alone has its own transaction. */
static void check_company(struct process *p, const struct forward *forward)
{
    struct producer *producer = p->producer;
    if (!p->world->setup.exactly_once || forward->kind == FORWARD_EVENT)
        return;
    if (producer->solo || (forward->alone && producer->attempts != NULL))
        world_fail(p->world, "p%d forwards %d/%d/%lld next to a record that must be alone", p->id,
                   forward->from.slot, forward->from.lane, (long long)forward->offset);
    producer->solo = forward->alone;
}

/* Checks records to partitions without a leader, in exactly-once mode. One record may find this
   out. After that the brokers know it, and a second record would block another producer. */
static void check_leader(struct process *p, const struct forward *forward, int chain)
{
    struct world *w = p->world;
    if (!w->setup.exactly_once)
        return;
    p->producer->takes_part[chain] = true;
    if (world_is_leaderless(w, chain) && p->timed_out_ms[chain] > w->leaderless_since[chain])
        world_fail(
            w,
            "p%d forwards %d/%d/%lld to a partition without a leader, where a record has timed out",
            p->id, forward->from.slot, forward->from.lane, (long long)forward->offset);
}

/* A client that knows that its transaction has failed accepts no record. */
static bool is_torn(struct process *p, const struct forward *forward)
{
    if (!p->producer->torn)
        return false;
    if (p->world->setup.exactly_once)
        client_says(p, (struct client_fact){.event = CLIENT_FAILED,
                                            .client = forward->client,
                                            .blame = BLAME_NOBODY,
                                            .why = ""});
    return true;
}

static void check_client(const struct process *p, const struct forward *forward)
{
    const struct client_model *c = &p->clients[forward->client];
    if (!p->world->setup.exactly_once)
        return;
    if (!c->open || c->purging || c->handle != p->producer)
        world_fail(p->world, "p%d forwards without an open transaction", p->id);
    if (c->commit != NULL)
        world_fail(p->world, "p%d forwards a record after its progress was sent", p->id);
}

/* Reports that the transaction has failed, before the report of the record. */
static void report_failure(struct process *p, const struct flight *f)
{
    enum blame blame = f->report == REPORT_NOT_SENT    ? BLAME_NOBODY
                       : f->report == REPORT_TIMED_OUT ? BLAME_CLUSTER
                                                       : BLAME_RECORDS;
    for (int i = 0; i < TXN_CLIENTS && f->report != REPORT_OK; i++) {
        if (p->clients[i].handle == f->producer)
            bridge_client_fact(p->bridge, &(struct client_fact){.event = CLIENT_FAILED,
                                                                .client = i,
                                                                .blame = blame,
                                                                .why = why_text[f->report]});
    }
}

int port_forward(void *ctx, const struct forward *forward)
{
    struct process *p = ctx;
    struct world *w = p->world;
    struct producer *producer = p->producer;
    if (!port_enter(p) || rng_chance(&w->rng, w->knobs.full) || is_torn(p, forward) ||
        fails(w, FAILURE_FULL))
        return ERR_FULL;
    check_client(p, forward);
    check_company(p, forward);
    struct log *log = &w->broker.logs[p->topic_of_slot[forward->from.slot]][forward->from.lane];
    struct forwarded seen = {.forward = forward, .input = log_at(log, forward->offset)};
    bool event = forward->kind == FORWARD_EVENT;
    if (event || (forward->kind == FORWARD_CANCEL && forward->offset < 0))
        seen.input = no_input(w);
    seen.request = request_of(p, forward, seen.input);
    struct told *told = event ? facts_forwarded(p, forward) : NULL;
    struct attempt *attempt =
        event ? arena_take(&w->arena, sizeof *attempt) : oracle_forwarded(p, &seen);
    if (event)
        *attempt = (struct attempt){.life = p->life, .offset = -1, .told_epoch = -1};
    w->forwards += forward->offset >= 0 && !event; /* a clean stop ends no seals */
    w->flying_n++;
    struct flight *f = arena_take(&w->arena, sizeof *f);
    *f = (struct flight){.process = p,
                         .producer = producer,
                         .parcel = forward->parcel,
                         .attempt = attempt,
                         .request = seen.request,
                         .input = seen.input,
                         .from = forward->from,
                         .kind = forward->kind,
                         .raw = forward->env == NULL && forward->kind == FORWARD_DEAD,
                         .expired = forward->kind == FORWARD_DEAD &&
                                    forward->refusal->code == CODE_EXPIRED,
                         .told = told,
                         .ladder = p->ladder,
                         .topic = forward->kind == FORWARD_CANCEL ? TOPIC_CANCELS
                                  : event                         ? 0
                                                                  : p->topic_of_slot[forward->slot],
                         .lane = forward->from.lane,
                         .chain = chain_of(p, forward),
                         .sent_ms = w->now_ms,
                         .lands_at = w->now_ms + world_delay(w, w->knobs.land_ms)};
    make_entry(w, f, forward);
    decide(w, f, forward);
    decide_by_failure(w, f, forward);
    if (w->refuses[f->chain])
        f->report = REPORT_REFUSED;
    if (forward->kind == FORWARD_TARGET)
        decide_by_target(w, f, target_index(w, forward->target->name));
    check_leader(p, forward, f->chain);
    trace(w, p, "forwards %d/%d/%lld: kind %d slot %d, will be %s", forward->from.slot,
          forward->from.lane, (long long)forward->offset, (int)forward->kind, forward->slot,
          why_text[f->report]);
    struct chain *chain = &producer->chains[f->chain];
    attempt->before = producer->attempts;
    producer->attempts = attempt;
    producer->unreported++;
    *chain->end = f;
    chain->end = &f->next;
    producer_arm(producer, f->chain);
    return 0;
}

static struct queue_id level_of(const struct flight *f)
{
    bool found;
    return port_queue(f->process, f->lane, f->topic, &found);
}

void port_reports(void *ctx)
{
    struct process *p = ctx;
    struct world *w = p->world;
    struct flight *f = p->reports;
    p->calls--; /* a call without a report is no work */
    if (!port_enter(p) || w->knobs.hold_reports)
        return;
    p->reports = NULL;
    p->reports_end = &p->reports;
    for (struct flight *next; f != NULL && !p->dead; f = next) {
        next = f->next;
        p->calls++;
        if (!bug_reports_early(w->bug) && !w->is_older[p->id] &&
            !bytes_equal(f->lent_value, f->made.value))
            world_fail(w, "p%d changed the value of %d/%d/%lld before its report", p->id,
                       f->from.slot, f->from.lane, (long long)f->input->offset);
        if (bug_report_lost(p))
            continue;
        f->producer->unreported--;
        trace(w, p, "gets the report that %d/%d/%lld is %s", f->from.slot, f->from.lane,
              (long long)f->input->offset, why_text[f->report]);
        if (f->report == REPORT_TIMED_OUT)
            p->timed_out_ms[f->chain] = w->now_ms;
        if (f->kind != FORWARD_EVENT)
            oracle_told(p, f->attempt, f->from, f->request, f->kind, f->report);
        if (f->kind == FORWARD_TARGET && f->report == REPORT_OK && !w->setup.exactly_once)
            bridge_delivery_stored(p->bridge, f->parcel, 0, 7);
        if (f->kind == FORWARD_LEVEL && f->report == REPORT_OK)
            bridge_hop_stored(p->bridge, f->parcel, level_of(f), bug_landed(p, f->landed_offset));
        report_failure(p, f);
        bug_reported(p, f->parcel, f->report, why_text[f->report]);
    }
    if (!p->dead)
        clients_report(p);
}
