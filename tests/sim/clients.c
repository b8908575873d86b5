/* SPDX-License-Identifier: Apache-2.0 */
/* The transactional clients of a process: the orders of the port but send_offsets and
   commit_transaction (commits.c), and the facts about their ends. An order may fail, end late, or
   end after its transaction was given up. */
#include "tests/sim/coordinator.h"
#include "tests/sim/oracle.h"

enum { POLL_MS = 5, REGISTER_MS = 100, AWAY_MS = 500 };

/* A fact on its way to the bridge, which gets it in a turn. */
struct late_fact {
    struct late_fact *next;
    struct client_fact fact;
};

void client_says(struct process *p, struct client_fact fact)
{
    struct late_fact *it = arena_take(&p->world->arena, sizeof *it);
    *it = (struct late_fact){.fact = fact};
    *p->facts_end = it;
    p->facts_end = &it->next;
    process_turn_by(p, p->world->now_ms + world_delay(p->world, p->world->knobs.turn_ms));
}

void client_ended(struct process *p, int i, bool ok)
{
    struct client_model *c = &p->clients[i];
    enum client_call call = c->call;
    c->call = CALL_NONE;
    trace(p->world, p, "client %d: call %d %s", i, (int)call, ok ? "succeeded" : "failed");
    client_says(p, (struct client_fact){.event = CLIENT_ENDED,
                                        .client = i,
                                        .call = call,
                                        .ok = ok,
                                        .may_arrive = c->may_arrive,
                                        .offsets_may_arrive = c->offsets_may_arrive,
                                        .blame = BLAME_CLUSTER,
                                        .why = "the call failed"});
}

struct client_model *client_of(struct process *p, int i, const char *order)
{
    if (i < 0 || i >= TXN_CLIENTS || !p->world->setup.exactly_once)
        world_fail(p->world, "p%d orders %s from client %d, which does not exist", p->id, order, i);
    if (p->clients[i].call != CALL_NONE && strcmp(order, "purge") != 0)
        world_fail(p->world, "p%d orders %s from client %d while a call runs", p->id, order, i);
    return &p->clients[i];
}

/* Offsets of one client may still arrive. Another one may then write newer offsets, and the late
   ones would replace these. */
static void check_doubts(const struct process *p, int i)
{
    for (int j = 0; j < TXN_CLIENTS; j++) {
        if (j != i && p->clients[j].in_doubt)
            world_fail(p->world, "p%d uses client %d while offsets of client %d may still arrive",
                       p->id, i, j);
        if (j != i && p->clients[j].open)
            world_fail(p->world, "p%d uses client %d while the transaction of client %d is open",
                       p->id, i, j);
    }
}

int port_begin(void *ctx, int i)
{
    struct process *p = ctx;
    struct world *w = p->world;
    if (!port_enter(p))
        return ERR_KAFKA;
    struct client_model *c = client_of(p, i, "begin");
    if (!c->ready || c->open)
        world_fail(w, "p%d begins a transaction of client %d, which is not ready", p->id, i);
    if (c->may_arrive)
        world_fail(w, "p%d uses client %d, a request of which may still arrive", p->id, i);
    check_doubts(p, i);
    c->open = true;
    c->produced_reported = false;
    c->register_ms = 0;
    c->handle->solo = false;
    c->handle->attempts = NULL;
    c->handle->produced = false;
    p->producer = c->handle;
    if (!c->handle->torn && !rng_chance(&w->rng, w->knobs.starts_fail / 8))
        return 0;
    bridge_client_fact(p->bridge, &(struct client_fact){.event = CLIENT_FAILED,
                                                        .client = i,
                                                        .blame = BLAME_CLUSTER,
                                                        .why = "it cannot begin"});
    return ERR_KAFKA;
}

void port_purge(void *ctx, int i)
{
    struct process *p = ctx;
    struct world *w = p->world;
    if (!port_enter(p))
        return;
    struct client_model *c = client_of(p, i, "purge");
    trace(w, p, "client %d: purges its transaction", i);
    if (!c->open || c->purging)
        world_fail(w, "p%d purges client %d, which has no transaction", p->id, i);
    c->purging = true;
    c->purged_ms = w->now_ms + world_delay(w, w->knobs.turn_ms);
    producer_give_up(c->handle);
    process_turn_by(p, c->purged_ms);
}

static bool hears_nobody(const struct world *w, const struct process *p)
{
    return p->stalled || p->isolated || world_coordinator_back(w) > w->now_ms;
}

static void again(struct process *p, void (*run)(struct world *, struct process *, void *, int64_t),
                  int64_t i)
{
    world_at(p->world, p->world->now_ms + POLL_MS, p, run, NULL, i);
}

/* Returns the last one with the same transactional id, perhaps of an earlier life. NULL: none. */
static struct producer *named(const struct process *p, int64_t i)
{
    struct producer *last = p->world->named[p->id][i];
    bool same_id = last != NULL && (p->world->setup.producers_have_names || last->life == p->life);
    return same_id ? last : NULL;
}

/* Creates the client again. The coordinator first ends the transaction of the old one, which it
   does before it answers. */
static void initialize(struct world *w, struct process *p, void *arg, int64_t i)
{
    (void)arg;
    struct client_model *c = &p->clients[i];
    struct producer *old = named(p, i);
    if (hears_nobody(w, p) || w->knobs.hold_fences) {
        again(p, initialize, i);
        return;
    }
    if (old != NULL && !old->fenced && w->bug != BUG_NOT_FENCED) {
        coordinator_fence(old);
        world_at(w, w->now_ms + 1, p, initialize, NULL, i);
        return;
    }
    if (old != NULL && (coordinator_is_busy(old) || coordinator_is_held(old))) {
        again(p, initialize, i);
        return;
    }
    bool ok = !rng_chance(&w->rng, w->knobs.starts_fail);
    if (ok) {
        c->handle = w->named[p->id][i] = producer_new(p);
        if (!p->producer->ready)
            p->producer = c->handle; /* the first one of this life */
        c->handle->ready = c->ready = true;
        c->may_arrive = c->offsets_may_arrive = false;
        p->ready_ms = w->now_ms;
    }
    client_ended(p, (int)i, ok);
}

static void destroyed(struct world *w, struct process *p, void *arg, int64_t i)
{
    if (p->stalled) {
        world_at(w, p->stalled_until, p, destroyed, arg, i);
        return;
    }
    p->clients[i].handle = NULL;
    client_ended(p, (int)i, true);
    p->clients[i].call = CALL_INIT;
    world_at(w, w->now_ms + world_delay(w, w->knobs.restart_ms), p, initialize, NULL, i);
}

void port_renew(void *ctx, int i, bool was_left)
{
    struct process *p = ctx;
    struct world *w = p->world;
    if (!port_enter(p))
        return;
    struct client_model *c = client_of(p, i, "renew");
    trace(w, p, "client %d: is replaced%s", i, was_left ? ", after its call" : "");
    if (c->open || c->purging)
        world_fail(w, "p%d replaces client %d before its records are reported", p->id, i);
    c->ready = false;
    c->was_left = was_left;
    c->call = CALL_DESTROY;
    world_at(w, w->now_ms + rng_between(&w->rng, 0, w->knobs.restart_ms / 4), p, destroyed, NULL,
             i);
}

static void report_purged(struct process *p, int i)
{
    struct client_model *c = &p->clients[i];
    bool knows = c->handle->torn && c->handle->blame != BLAME_NOBODY;
    c->open = c->purging = false;
    c->commit = NULL;
    client_says(p, (struct client_fact){.event = CLIENT_PURGED,
                                        .client = i,
                                        .blame = knows ? c->handle->blame : BLAME_NOBODY,
                                        .why = knows ? "the transaction cannot be committed" : ""});
}

/* The coordinator answers a request for the first record. While brokers have not completed the last
   transaction, it refuses that request, which is repeated. */
static void report_answers(struct process *p, int i)
{
    struct client_model *c = &p->clients[i];
    bool repeats = coordinator_is_busy(c->handle) || c->register_ms == 0;
    if (repeats && c->handle->unreported > 0 && p->world->now_ms >= c->register_ms) {
        c->register_ms = p->world->now_ms + REGISTER_MS;
        client_says(p, (struct client_fact){.event = CLIENT_REGISTERED, .client = i});
    }
    if (c->handle->produced && !c->produced_reported)
        client_says(p, (struct client_fact){.event = CLIENT_PRODUCED, .client = i});
    c->produced_reported |= c->handle->produced;
}

void clients_report(struct process *p)
{
    struct world *w = p->world;
    if (w->setup.exactly_once && w->outage_until > w->now_ms && w->now_ms >= p->away_ms) {
        p->away_ms = w->now_ms + AWAY_MS;
        client_says(p, (struct client_fact){.event = CLIENT_AWAY});
    }
    for (int i = 0; i < TXN_CLIENTS && w->setup.exactly_once; i++) {
        struct client_model *c = &p->clients[i];
        if (c->purging && c->handle->unreported == 0 && w->now_ms >= c->purged_ms)
            report_purged(p, i);
        else if (c->open && !c->purging)
            report_answers(p, i);
    }
    for (struct late_fact *it; (it = p->facts) != NULL && !p->dead;) {
        p->facts = it->next;
        if (p->facts == NULL)
            p->facts_end = &p->facts;
        p->calls++;
        bridge_client_fact(p->bridge, &it->fact);
    }
}

bool clients_may_break(const struct process *p)
{
    for (int i = 0; i < TXN_CLIENTS; i++) {
        if (p->clients[i].handle == p->producer)
            return p->clients[i].call == CALL_NONE;
    }
    return false;
}

void clients_start(struct process *p)
{
    p->facts_end = &p->facts;
    p->producer = producer_new(p); /* exactly-once: until the first client is ready */
}

void clients_died(struct process *p, bool leaves)
{
    struct world *w = p->world;
    if (!w->setup.exactly_once) {
        producer_died(p->producer);
        return;
    }
    for (int i = 0; i < TXN_CLIENTS; i++) {
        if (p->clients[i].handle == NULL)
            continue;
        producer_died(p->clients[i].handle);
        if (leaves && rng_chance(&w->rng, 5000)) /* it could tell the coordinator */
            coordinator_fence(p->clients[i].handle);
    }
}
