/* SPDX-License-Identifier: Apache-2.0 */
/* The transactional clients: their orders, and the ends of these. */
#include "bridge/core/sender.h"
#include "bridge/core/bridge.h"

#include <stdio.h>

enum {
    START_AGAIN_MS = 1000, /* after a start that failed */
    HELD_MS = 3000,        /* a client that waits for brokers for so long does not count */
    REGISTER_MS = 500      /* the coordinator answers requests at least as often */
};

static struct txn_client *current(struct bridge *b)
{
    return &b->sender.clients[b->sender.current];
}

static void begin_call(struct bridge *b, struct txn_client *c, enum client_call call)
{
    assert(c->call == CALL_NONE);
    c->call = call;
    c->since_mono_ms = b->now.mono_ms;
}

static void renew(struct bridge *b, int i)
{
    struct txn_client *c = &b->sender.clients[i];
    bool was_left = c->state == CLIENT_LEFT;
    c->state = CLIENT_CLOSING;
    begin_call(b, c, CALL_DESTROY);
    b->port.renew(b->port.ctx, i, was_left);
}

void sender_init(struct bridge *b)
{
    for (int i = 0; b->config.exactly_once && i < TXN_CLIENTS_WANTED; i++)
        b->sender.clients[i] = (struct txn_client){.state = CLIENT_STARTING};
}

static bool call_fits(const struct txn_client *c)
{
    switch (c->state) {
    case CLIENT_OFF:
    case CLIENT_READY:
        return c->call == CALL_NONE;
    case CLIENT_CLOSING:
        return c->call == CALL_DESTROY;
    case CLIENT_STARTING:
        return c->call == CALL_NONE || c->call == CALL_INIT;
    case CLIENT_OPEN:
    case CLIENT_PURGING:
        return c->call == CALL_NONE || c->call == CALL_SEND_OFFSETS;
    case CLIENT_COMMITTING:
        return c->call == CALL_COMMIT;
    case CLIENT_LEFT:
        return c->call == CALL_SEND_OFFSETS;
    }
    return false;
}

void sender_check(const struct bridge *b)
{
    for (int i = 0; i < TXN_CLIENTS; i++) {
        const struct txn_client *c = &b->sender.clients[i];
        bool sends =
            c->state == CLIENT_OPEN || c->state == CLIENT_COMMITTING || c->state == CLIENT_PURGING;
        assert(!sends || i == b->sender.current);
        assert(call_fits(c));
        assert(b->config.exactly_once || c->state == CLIENT_OFF);
    }
    enum client_state state = b->sender.clients[b->sender.current].state;
    assert(b->txn.state != TXN_FAILED || state == CLIENT_OPEN || state == CLIENT_PURGING);
    assert(b->txn.state != TXN_OPEN || b->txn.n == 0 || state == CLIENT_OPEN);
}

int sender_enter(struct bridge *b)
{
    struct txn_client *c = current(b);
    if (!b->config.exactly_once)
        return 0;
    if (b->txn.state == TXN_FAILED || b->txn.state == TXN_BROKEN)
        return ERR_FULL;
    if (b->txn.n == 0)
        c->begun_mono_ms = b->now.mono_ms; /* a quota may keep its first record for seconds */
    if (c->state == CLIENT_OPEN)
        return 0;
    if (c->state != CLIENT_READY)
        return ERR_FULL;
    c->state = CLIENT_OPEN;
    c->registered_mono_ms = 0;
    c->produced = false;
    if (b->port.begin(b->port.ctx, b->sender.current) == 0)
        return 0;
    sender_fail(b, BLAME_CLUSTER, "");
    return ERR_FULL;
}

/* Waits if the client cannot begin now. */
static void send_offsets(struct bridge *b)
{
    struct txn *t = &b->txn;
    if (t->offsets != OFFSETS_WAITING || sender_enter(b) != 0)
        return;
    struct txn_client *c = current(b);
    t->offsets = OFFSETS_SENT;
    b->sender.sent_n = t->progress_n;
    if (b->port.send_offsets(b->port.ctx, b->sender.current, b->commit.progress, t->progress_n) ==
        0)
        begin_call(b, c, CALL_SEND_OFFSETS);
    else
        sender_fail(b, BLAME_CLUSTER, "the lanes are no longer assigned, or memory is lacking");
}

void sender_announce(struct bridge *b, size_t n)
{
    b->txn.offsets = OFFSETS_WAITING;
    b->txn.progress_n = n;
    send_offsets(b);
}

void sender_finish(struct bridge *b)
{
    struct txn_client *c = current(b);
    if (b->txn.state != TXN_CLOSED || !b->commit.is_out || b->txn.offsets != OFFSETS_ACCEPTED)
        return;
    c->state = CLIENT_COMMITTING;
    begin_call(b, c, CALL_COMMIT);
    b->port.commit_transaction(b->port.ctx, b->sender.current);
}

/* A cause that names records replaces another one. The first phrase is kept. */
void sender_fail(struct bridge *b, enum blame blame, const char *why)
{
    struct txn *t = &b->txn;
    if (t->state == TXN_BROKEN)
        return;
    if (t->state != TXN_FAILED) {
        t->blame = BLAME_CLUSTER;
        b->clock.turn_incomplete = true; /* its client is purged */
    }
    t->state = TXN_FAILED;
    if (blame == BLAME_RECORDS)
        t->blame = BLAME_RECORDS;
    if (t->why[0] == '\0' && blame != BLAME_NOBODY)
        snprintf(t->why, sizeof t->why, "%s", why);
}

static void purge(struct bridge *b)
{
    current(b)->state = CLIENT_PURGING;
    b->port.purge(b->port.ctx, b->sender.current);
}

static int ready_other(const struct bridge *b)
{
    int i = 0;
    while (i < TXN_CLIENTS &&
           (i == b->sender.current || b->sender.clients[i].state != CLIENT_READY))
        i++;
    return i;
}

static void pass(struct bridge *b)
{
    int other = ready_other(b);
    if (!current(b)->may_arrive && other < TXN_CLIENTS)
        b->sender.current = other;
}

/* Gives the client up while its call runs. Transactions of the other clients may have the same
   partition without a leader, so these clients are replaced before they are used. */
static void leave(struct bridge *b)
{
    current(b)->state = CLIENT_LEFT;
    for (int i = 0; i < TXN_CLIENTS; i++) {
        if (b->sender.clients[i].state == CLIENT_READY)
            renew(b, i);
    }
}

static enum sender_news committed(struct bridge *b, const struct client_fact *f)
{
    struct txn_client *c = current(b);
    assert(c->state == CLIENT_COMMITTING);
    c->may_arrive = !f->ok || f->offsets_may_arrive || (c->may_arrive && b->sender.sent_n == 0);
    if (!f->ok) {
        sender_fail(b, f->blame, f->why);
        purge(b);
        return SENDER_NO_NEWS;
    }
    c->state = CLIENT_READY;
    if (f->may_arrive) /* a late request would join its next transaction */
        renew(b, f->client);
    pass(b);
    return SENDER_COMMITTED;
}

static void offsets_sent(struct bridge *b, const struct client_fact *f)
{
    struct txn_client *c = &b->sender.clients[f->client];
    c->may_arrive |= f->offsets_may_arrive;
    if (c->state == CLIENT_LEFT)
        renew(b, f->client);
    if (c->state != CLIENT_OPEN)
        return;
    if (!f->ok) {
        sender_fail(b, f->blame, f->why);
    } else if (b->txn.offsets == OFFSETS_SENT) {
        b->txn.offsets = OFFSETS_ACCEPTED;
        sender_finish(b);
    }
}

static enum sender_news ended(struct bridge *b, const struct client_fact *f)
{
    struct txn_client *c = &b->sender.clients[f->client];
    assert(c->call == f->call);
    c->call = CALL_NONE;
    switch (f->call) {
    case CALL_NONE:
        break;
    case CALL_DESTROY:
        c->state = CLIENT_STARTING;
        begin_call(b, c, CALL_INIT);
        break;
    case CALL_INIT:
        c->state = f->ok ? CLIENT_READY : CLIENT_STARTING;
        c->was_ready |= f->ok;
        c->retry_mono_ms = b->now.mono_ms + START_AGAIN_MS;
        break;
    case CALL_SEND_OFFSETS:
        offsets_sent(b, f);
        break;
    case CALL_COMMIT:
        return committed(b, f);
    }
    return SENDER_NO_NEWS;
}

static enum sender_news purged(struct bridge *b, const struct client_fact *f)
{
    struct txn_client *c = current(b);
    assert(f->client == b->sender.current && c->state == CLIENT_PURGING);
    bool failed = b->txn.state == TXN_FAILED;
    if (f->blame != BLAME_NOBODY)
        sender_fail(b, f->blame, f->why);
    if (c->call == CALL_NONE)
        renew(b, f->client);
    else
        leave(b);
    return failed ? SENDER_ABORTED : SENDER_NO_NEWS;
}

enum sender_news sender_fact(struct bridge *b, const struct client_fact *f)
{
    switch (f->event) {
    case CLIENT_ENDED:
        return ended(b, f);
    case CLIENT_FAILED:
        if (f->client == b->sender.current)
            sender_fail(b, f->blame, f->why);
        break;
    case CLIENT_PURGED:
        return purged(b, f);
    case CLIENT_PRODUCED:
        b->sender.clients[f->client].produced = true;
        break;
    case CLIENT_REGISTERED:
        b->sender.clients[f->client].registered_mono_ms = b->now.mono_ms;
        break;
    case CLIENT_AWAY:
        b->sender.away_mono_ms = b->now.mono_ms;
        break;
    }
    return SENDER_NO_NEWS;
}

static void start_again(struct bridge *b)
{
    for (int i = 0; i < TXN_CLIENTS; i++) {
        const struct txn_client *c = &b->sender.clients[i];
        if (c->state == CLIENT_STARTING && c->call == CALL_NONE &&
            b->now.mono_ms >= c->retry_mono_ms)
            renew(b, i);
    }
}

/* A client is replaced within a second, unless brokers hold its last transaction. */
static bool is_held(const struct bridge *b, const struct txn_client *c)
{
    bool waits = c->state == CLIENT_STARTING || c->state == CLIENT_CLOSING;
    return c->state == CLIENT_LEFT ||
           (waits && c->call != CALL_NONE && b->now.mono_ms - c->since_mono_ms >= HELD_MS);
}

/* Starts a further client if fewer than TXN_CLIENTS_WANTED can be used. While Kafka is away,
   another client would wait as well. */
static void replace_held(struct bridge *b)
{
    const struct sender *s = &b->sender;
    int usable = 0, unused = TXN_CLIENTS;
    if (s->away_mono_ms != 0 && b->now.mono_ms - s->away_mono_ms < HELD_MS)
        return;
    for (int i = TXN_CLIENTS - 1; i >= 0; i--) {
        bool off = s->clients[i].state == CLIENT_OFF;
        unused = off ? i : unused;
        usable += !off && !is_held(b, &s->clients[i]);
    }
    if (usable < TXN_CLIENTS_WANTED && unused < TXN_CLIENTS)
        renew(b, unused);
}

/* The coordinator refuses each partition while the last transaction of the same id is incomplete,
   and the client repeats its request. The records never left the client. */
static bool is_refused(const struct bridge *b, const struct txn_client *c)
{
    return c->state == CLIENT_OPEN && b->txn.state != TXN_FAILED && !c->produced &&
           b->now.mono_ms - c->begun_mono_ms >= HELD_MS && c->registered_mono_ms != 0 &&
           b->now.mono_ms - c->registered_mono_ms < REGISTER_MS;
}

static bool any_lane_is_owned(const struct bridge *b)
{
    for (int i = 0; i < b->config.lanes; i++) {
        if (b->lanes[i].owned)
            return true;
    }
    return false;
}

/* Offsets of the last process with an id may be pending until the first init of a client has ended
   them. So this call must run before anything waits for these offsets. */
bool bridge_may_gain(const struct bridge *b)
{
    for (int i = 0; b->config.exactly_once && i < TXN_CLIENTS_WANTED; i++) {
        const struct txn_client *c = &b->sender.clients[i];
        if (!c->was_ready && c->call != CALL_INIT)
            return false;
    }
    return b->txn.state != TXN_BROKEN;
}

bool bridge_must_reread(const struct bridge *b)
{
    return b->txn.state == TXN_BROKEN && b->txn.reread && any_lane_is_owned(b);
}

/* Returns whether the next transaction may begin. Until a failed client is destroyed and its
   successor has initialized the id, its offsets may be pending. A client that is LEFT has sent
   none. Windows that were marked early must be forgotten with their lanes. */
static bool may_continue(const struct bridge *b)
{
    for (int i = 0; i < TXN_CLIENTS; i++) {
        if (b->sender.clients[i].state == CLIENT_CLOSING)
            return false;
    }
    return b->sender.clients[b->sender.current].state == CLIENT_READY && !bridge_must_reread(b);
}

enum sender_news sender_serve(struct bridge *b)
{
    if (!b->config.exactly_once)
        return SENDER_NO_NEWS;
    start_again(b);
    replace_held(b);
    struct txn_client *c = current(b);
    if (c->state == CLIENT_STARTING || c->state == CLIENT_LEFT || c->state == CLIENT_CLOSING)
        pass(b);
    send_offsets(b);
    c = current(b);
    if (is_refused(b, c)) {
        sender_fail(b, BLAME_CLUSTER,
                    "brokers cannot complete the last transaction of this producer");
        purge(b);
        return SENDER_DOUBTS;
    }
    bool ends = b->txn.state == TXN_FAILED || b->txn.state == TXN_BROKEN;
    if (c->state == CLIENT_OPEN && ends && c->call == CALL_NONE)
        purge(b);
    return b->txn.state == TXN_BROKEN && may_continue(b) ? SENDER_CONTINUES : SENDER_NO_NEWS;
}

/* A spare counts only while no client is held. Otherwise a record for a partition without a leader
   could take the last client that works. */
bool sender_has_spare(const struct bridge *b)
{
    for (int i = 0; i < TXN_CLIENTS; i++) {
        enum client_state state = b->sender.clients[i].state;
        if (i != b->sender.current && state != CLIENT_READY && state != CLIENT_OFF)
            return false;
    }
    return true;
}
