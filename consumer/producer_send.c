/* SPDX-License-Identifier: Apache-2.0 */
/* Sends records to the clients: the outbox of a route decides when a batch is sent. */
#include "bridge/base/clock.h"
#include "consumer/client/client_report.h"
#include "consumer/producer_parts.h"

#include <stdlib.h>

static struct outgoing *note_of(struct parcel *parcel)
{
    return (struct outgoing *)(void *)parcel;
}

static struct parcel *parcel_of(struct outgoing *o)
{
    return (struct parcel *)(void *)o;
}

/* Chooses the partition of a record with a key, as a callback of the client. Keeps the number of
   partitions, which only the client knows. */
int32_t producer_partition(const rd_kafka_topic_t *topic, const void *key, size_t key_len,
                           int32_t partitions_n, void *topic_opaque, void *parcel)
{
    struct route *route = note_of(parcel)->route;
    if (route != NULL && route->target != NULL)
        atomic_store_explicit(&route->target->partitions_n, partitions_n, memory_order_relaxed);
    return rd_kafka_msg_partitioner_murmur2_random(topic, key, key_len, partitions_n, topic_opaque,
                                                   parcel);
}

/* Returns the client's handle of a target's topic, and creates it at the first record. */
static rd_kafka_topic_t *target_topic(struct producer *p, struct target_topics *t, enum role role)
{
    if (t->topic[role] == NULL)
        t->topic[role] = rd_kafka_topic_new(p->clients[role].rk, t->name, NULL);
    return t->topic[role];
}

static rd_kafka_topic_t *topic_of(struct producer *p, const struct route *route, enum role role)
{
    if (route->target != NULL)
        return target_topic(p, route->target, role);
    rd_kafka_topic_t **own = &p->clients[role].own[route->own];
    if (*own == NULL && route->own == producer_own_events(p))
        *own = rd_kafka_topic_new(p->clients[role].rk, p->config.events, NULL);
    return *own;
}

static struct route *route_of(struct producer *p, const struct forward *f, struct bytes key)
{
    if (f->kind != FORWARD_TARGET) {
        int own = f->kind == FORWARD_DEAD     ? producer_own_dead_letter(p)
                  : f->kind == FORWARD_CANCEL ? producer_own_cancelled(p)
                  : f->kind == FORWARD_EVENT  ? producer_own_events(p)
                                              : f->slot;
        return &p->own[f->from.lane * producer_own_topics(p) + own];
    }
    struct target_topics *t = f->target->handle;
    if (bytes_is_null(key))
        return &t->routes[ROUTES_KEYED];
    int n = atomic_load_explicit(&t->partitions_n, memory_order_relaxed);
    if (n == 0)
        return &t->routes[0];
    int partition = rd_kafka_msg_partitioner_murmur2(NULL, key.data, key.len, n, NULL, NULL);
    return &t->routes[partition % ROUTES_KEYED];
}

static const struct outbox_limits *limits_of(const struct producer *p, const struct route *route,
                                             enum role role)
{
    const struct client *c = &p->clients[role];
    bool level = route->target == NULL && route->own < p->config.slots;
    return level ? &c->level_limits : &c->limits;
}

/* Passes a record to the client. If this succeeds, the client owns the headers. */
static rd_kafka_resp_err_t produce(struct producer *p, struct route *route, struct outgoing *o,
                                   const struct dispatch *d)
{
    const struct message *m = &d->message;
    int32_t partition = route->target == NULL ? route->lane : RD_KAFKA_PARTITION_UA;
    rd_kafka_vu_t vus[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic_of(p, route, o->role)},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)m->key.data, m->key.len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {(void *)m->value.data, m->value.len}},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = d->timestamp_ms},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = 0}, /* no copy: the record outlives the report */
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = parcel_of(o)},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = m->headers},
    };
    size_t n = sizeof vus / sizeof *vus - (m->headers == NULL);
    o->route = route;
    rd_kafka_error_t *error = rd_kafka_produceva(p->clients[o->role].rk, vus, n);
    if (error == NULL) {
        outbox_sent(&route->outbox, limits_of(p, route, o->role), &o->item, p->turn_mono_ms);
        return 0;
    }
    o->route = NULL;
    rd_kafka_resp_err_t err = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    return err;
}

static void drop_headers(struct message *m)
{
    if (m->headers != NULL)
        rd_kafka_headers_destroy(m->headers);
    m->headers = NULL;
}

static void hold(struct producer *p, struct route *route, struct outgoing *o)
{
    o->route = NULL;
    outbox_hold(&route->outbox, &o->item);
    if (route->link.next == NULL)
        list_append(&p->pending, &route->link);
}

static struct outgoing *first_held(const struct route *route)
{
    struct outbox_item *first = outbox_first(&route->outbox);
    return first == NULL
               ? NULL
               : (struct outgoing *)(void *)((char *)first - offsetof(struct outgoing, item));
}

static void remove_held(struct route *route, struct outgoing *o)
{
    outbox_take(&route->outbox, &o->item);
    if (list_is_empty(&route->outbox.held))
        list_remove(&route->link);
}

const char *producer_why(rd_kafka_resp_err_t err)
{
    if (err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
        return "the topic does not have this partition";
    return err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
               ? "Topic authorization failed: allow Write on the topic"
               : client_report_why(err);
}

bool producer_remember_failed(struct producer *p, struct parcel *parcel, rd_kafka_resp_err_t err)
{
    if (p->failed_n == p->failed_size) {
        size_t size = p->failed_size == 0 ? 64 : p->failed_size * 2;
        struct answer *grown = realloc(p->failed, size * sizeof *grown);
        if (grown == NULL)
            return false;
        p->failed = grown;
        p->failed_size = size;
    }
    p->failed[p->failed_n++] = (struct answer){.parcel = parcel, .err = err};
    wakeup_signal(p->config.wakeup, WAKEUP_REPORTS);
    return true;
}

/* Returns whether the client that did not accept a record is full or broken, so that its other
   records would fail as well. A broken transaction is passed on later. */
static bool fails(struct producer *p, enum role role, rd_kafka_resp_err_t err)
{
    bool is_broken = err == RD_KAFKA_RESP_ERR__FATAL || err == RD_KAFKA_RESP_ERR__STATE;
    if (is_broken && role >= FIRST)
        p->txn[role - FIRST].refusal = err;
    return is_broken || err == RD_KAFKA_RESP_ERR__QUEUE_FULL;
}

/* Returns about how many bytes the record has in a request. The value of an envelope includes the
   headers of the delivery. */
static size_t written_bytes(const struct forward *f, const struct message *m)
{
    enum { OVERHEAD = 24, ADDED_HEADERS = 96 };
    size_t bytes = m->key.len + f->record->value.len + OVERHEAD;
    return f->kind == FORWARD_LEVEL || f->kind == FORWARD_CANCEL ? bytes : bytes + ADDED_HEADERS;
}

int producer_send(struct producer *p, const struct forward *f, enum role role)
{
    struct outgoing *o = note_of(f->parcel);
    struct dispatch d = {.message = message_of(f, p->config.topics),
                         .timestamp_ms = f->timestamp_wall_ms};
    o->role = role;
    o->item.bytes = written_bytes(f, &d.message);
    struct route *route = route_of(p, f, d.message.key);
    bool open = outbox_is_open(&route->outbox, limits_of(p, route, role), p->turn_mono_ms);
    rd_kafka_resp_err_t err = open ? produce(p, route, o, &d) : 0;
    if (!open) {
        o->held = d;
        hold(p, route, o);
    }
    if (err == 0) {
        o->paced = (struct pace_item){.bytes = o->item.bytes, .client = (int)role};
        pace_sent(&p->pace, &o->paced, p->turn_mono_ms);
        return 0;
    }
    drop_headers(&d.message);
    return !fails(p, role, err) && producer_remember_failed(p, f->parcel, err) ? 0 : ERR_FULL;
}

/* Sends the first held record of a route. Returns 0, or the error of a client that did not accept
   the record. */
static rd_kafka_resp_err_t send_first(struct producer *p, struct route *route)
{
    struct outgoing *o = first_held(route);
    rd_kafka_resp_err_t err = produce(p, route, o, &o->held);
    if (err != 0) {
        if (fails(p, o->role, err) || !producer_remember_failed(p, parcel_of(o), err))
            return err;
        drop_headers(&o->held.message);
    }
    remove_held(route, o);
    return 0;
}

/* Calls act for each route that holds records. act may remove its own route from the list. */
static void each_pending(struct producer *p, void (*act)(struct producer *p, struct route *route))
{
    for (struct link *l = list_first(&p->pending), *next; l != NULL; l = next) {
        next = list_after(&p->pending, l);
        act(p, list_item(l, struct route, link));
    }
}

/* Sends the held records of a route, or a part of them if the client becomes full or broken. */
static void send_held(struct producer *p, struct route *route)
{
    while (!list_is_empty(&route->outbox.held) && send_first(p, route) == 0)
        ;
}

static void send_if_due(struct producer *p, struct route *route)
{
    const struct outbox_limits *limits = limits_of(p, route, first_held(route)->role);
    if (!outbox_batch_is_due(&route->outbox, limits, p->turn_mono_ms))
        return;
    while (outbox_batch_takes(&route->outbox, limits, p->turn_mono_ms) && send_first(p, route) == 0)
        ;
}

void producer_send_next(struct producer *p)
{
    each_pending(p, send_if_due);
}

int64_t producer_wait_ms(const struct producer *p)
{
    int64_t least_ms = INT64_MAX;
    for (const struct link *l = list_first(&p->pending); l != NULL;
         l = list_after(&p->pending, l)) {
        const struct route *route = list_item(l, const struct route, link);
        enum role role = first_held(route)->role;
        if (producer_refuses(p, role))
            continue; /* the purge that follows drops the records */
        const struct outbox_limits *limits = limits_of(p, route, role);
        int64_t wait_ms = outbox_wait_ms(&route->outbox, limits, p->turn_mono_ms);
        if (wait_ms < least_ms)
            least_ms = wait_ms;
    }
    return least_ms;
}

void producer_send_all(struct producer *p)
{
    each_pending(p, send_held);
}

bool producer_is_delivery(struct parcel *parcel)
{
    const struct route *route = note_of(parcel)->route;
    return route != NULL && route->target != NULL;
}

enum role producer_answered(struct producer *p, struct answer answer)
{
    struct outgoing *o = note_of(answer.parcel);
    pace_answered(&p->pace, &o->paced, answer.err == 0, p->turn_mono_ms);
    if (o->route != NULL)
        outbox_reported(&o->route->outbox, limits_of(p, o->route, o->role), &o->item,
                        p->turn_mono_ms);
    o->route = NULL;
    return o->role;
}

static void drop_route(struct producer *p, struct route *route)
{
    for (struct outgoing *o; (o = first_held(route)) != NULL;) {
        if (!producer_remember_failed(p, parcel_of(o), RD_KAFKA_RESP_ERR__PURGE_QUEUE))
            return; /* out of memory: the next call drops the rest */
        remove_held(route, o);
        drop_headers(&o->held.message);
    }
}

void producer_drop_held(struct producer *p)
{
    each_pending(p, drop_route);
}

static void free_route(struct producer *p, struct route *route)
{
    (void)p;
    for (struct outgoing *o; (o = first_held(route)) != NULL;) {
        remove_held(route, o);
        drop_headers(&o->held.message);
    }
}

void producer_free_held(struct producer *p)
{
    each_pending(p, free_route);
}

bool producer_holds(const struct producer *p)
{
    return !list_is_empty(&p->pending);
}
