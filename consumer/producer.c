/* SPDX-License-Identifier: Apache-2.0 */
/* Sends records to the clients (producer_clients.c) and passes on their reports. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/client/client_report.h"
#include "consumer/message.h"
#include "consumer/producer_parts.h"

#include <stdlib.h>

/* A broker handles the requests of a connection in order. Once a quota is exceeded, each one makes
   the next wait longer, and a delivery may time out meanwhile. So the other clients may have an
   eighth of the bytes in flight. The client of hops may have half, since a hop has two minutes. */
static const struct pace_share pace_share[PACE_CLIENTS] = {
    [HOPS] = {2, 64 << 10},  [DELIVERIES] = {8, 32 << 10}, [ALONE] = {8, 32 << 10},
    [FIRST] = {8, 32 << 10}, [SECOND] = {8, 32 << 10},     [THIRD] = {8, 32 << 10},
    [FOURTH] = {8, 32 << 10}};

static enum report report_of(rd_kafka_resp_err_t err)
{
    switch ((int)err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return REPORT_OK;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
        return REPORT_TOO_LARGE;
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
        return REPORT_UNFIT;
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
        return REPORT_TIMED_OUT;
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__DESTROY:
    case CLIENT_REPORT_UNKNOWN:
    case RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
        return REPORT_NOT_SENT;
    default:
        return REPORT_REFUSED;
    }
}

/* Passes the client's report on one record to the step machine. */
static void report(struct producer *p, struct answer answer)
{
    const char *why = answer.err == 0 ? "" : producer_why(answer.err);
    bool delivered = producer_is_delivery(answer.parcel);
    enum role role = producer_answered(p, answer);
    if (answer.err == 0 && delivered && !producer_is_transactional(p))
        p->config.delivered(p->config.ctx, answer.parcel, answer.partition, answer.offset);
    if (answer.err != 0 && producer_is_transactional(p))
        producer_txn_record_failed(p, role, answer.err);
    p->config.reported(p->config.ctx, answer.parcel, report_of(answer.err), why);
}

/* Queues a report, and passes on the oldest one if HEARD_MAX are queued. By now the parcel has left
   the CPU cache, so it is prefetched while earlier reports are handled. */
static void hear(struct producer *p, struct answer answer)
{
    struct answer *place = &p->heard[p->heard_n % HEARD_MAX];
    if (p->heard_n++ >= HEARD_MAX)
        report(p, *place);
    for (int line = 0; line < PARCEL_LINES; line++)
        __builtin_prefetch((const char *)answer.parcel + line * CACHE_LINE, 1);
    *place = answer;
}

static void report_heard(struct producer *p)
{
    for (size_t i = p->heard_n > HEARD_MAX ? p->heard_n - HEARD_MAX : 0; i < p->heard_n; i++)
        report(p, p->heard[i % HEARD_MAX]);
    p->heard_n = 0;
}

void producer_on_report(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk;
    struct producer *p = opaque;
    int slot = (int)(intptr_t)rd_kafka_topic_opaque(message->rkt);
    struct queue_id level = {message->partition * p->config.slots + slot, message->partition, slot};
    rd_kafka_resp_err_t err = client_report_err(message);
    if (slot != 0 && err == 0)
        p->config.landed(p->config.ctx, message->_private, level, message->offset);
    hear(p, (struct answer){message->_private, err, message->partition, message->offset});
}

static enum role role_of(const struct producer *p, const struct forward *f)
{
    if (producer_is_transactional(p))
        return FIRST + (enum role)f->client;
    if (f->alone)
        return ALONE;
    return f->kind == FORWARD_LEVEL || f->kind == FORWARD_DEAD ? HOPS : DELIVERIES;
}

static int make_routes(struct producer *p)
{
    int topics = producer_own_topics(p), routes = p->config.lanes * topics;
    p->own = calloc((size_t)routes, sizeof *p->own);
    if (p->own == NULL)
        return ERR_NO_MEMORY;
    for (int i = 0; i < routes; i++) {
        outbox_init(&p->own[i].outbox);
        p->own[i].lane = i / topics;
        p->own[i].own = i % topics;
    }
    return 0;
}

static int start(struct producer *p, struct error *error)
{
    static const enum role idempotent[] = {HOPS, DELIVERIES};
    static const enum role with_transactions[] = {HOPS, FIRST, SECOND};
    bool transactional = producer_is_transactional(p);
    if (make_routes(p) != 0)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    for (int i = 0; i < (transactional ? 3 : 2); i++) {
        enum role role = transactional ? with_transactions[i] : idempotent[i];
        int err = producer_client_start(p, role, error);
        if (err != 0)
            return err;
    }
    p->lookup = topic_lookup_new(p->config.wakeup);
    return p->lookup != NULL ? 0 : error_set(error, ERR_NO_MEMORY, "out of memory or threads");
}

int producer_new(const struct producer_config *config, struct producer **producer,
                 struct error *error)
{
    struct producer *p = calloc(1, sizeof *p);
    if (p == NULL)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    p->config = *config;
    list_init(&p->pending);
    pace_init(&p->pace, pace_share);
    int err = start(p, error);
    if (err != 0) {
        (void)!producer_free(p);
        return err;
    }
    p->trim.trimmed = config->trimmed;
    p->trim.ctx = config->ctx;
    trim_open(&p->trim, p->clients[HOPS].rk, config->wakeup);
    *producer = p;
    return 0;
}

static void ignore_report(void *ctx, struct parcel *parcel, enum report report, const char *why)
{
    (void)ctx, (void)parcel, (void)report, (void)why;
}

static void ignore_landing(void *ctx, const struct parcel *parcel, struct queue_id level,
                           int64_t offset)
{
    (void)ctx, (void)parcel, (void)level, (void)offset;
}

static void ignore_delivery(void *ctx, struct parcel *parcel, int32_t partition, int64_t offset)
{
    (void)ctx, (void)parcel, (void)partition, (void)offset;
}

static void ignore_fact(void *ctx, const struct client_fact *fact)
{
    (void)ctx, (void)fact;
}

bool producer_free(struct producer *p)
{
    p->config.delivered = ignore_delivery;
    p->config.reported = ignore_report;
    p->config.landed = ignore_landing;
    p->config.fact = ignore_fact;
    if (!producer_txn_stop(p))
        return false;
    if (p->lookup != NULL && !topic_lookup_free(p->lookup))
        return false;
    trim_close(&p->trim);
    producer_free_held(p);
    for (int role = 0; role < ROLES; role++) {
        if (p->clients[role].rk == NULL)
            continue;
        rd_kafka_purge(p->clients[role].rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        producer_client_stop(p, (enum role)role);
    }
    for (struct target_topics *t = p->targets, *next; t != NULL; t = next) {
        next = t->next;
        free(t);
    }
    free(p->own);
    free(p->failed);
    free(p);
    return true;
}

static bool start_alone(struct producer *p)
{
    struct error error;
    if (p->clients[ALONE].rk != NULL || producer_client_start(p, ALONE, &error) == 0)
        return true;
    log_error(
        "cannot start the producer for records that are sent alone, they wait, trying again: run "
        "'delaybridge check'",
        F_TEXT("reason", error.text));
    return false;
}

int producer_forward(struct producer *p, const struct forward *f)
{
    enum role role = role_of(p, f);
    size_t bytes = f->record->key.len + f->record->value.len;
    if (producer_refuses(p, role) || !pace_takes(&p->pace, (int)role, bytes, p->turn_mono_ms))
        return ERR_FULL;
    if (role != ALONE || start_alone(p))
        return producer_send(p, f, role);
    /* Report the failure later: ERR_FULL would stop the records behind this one. */
    return producer_remember_failed(p, f->parcel, RD_KAFKA_RESP_ERR__DESTROY) ? 0 : ERR_FULL;
}

/* Passes on the throttle time that brokers have returned since the last call. */
static void serve_throttling(struct producer *p)
{
    int ms = atomic_exchange_explicit(&p->throttled_ms, 0, memory_order_relaxed);
    if (ms == 0)
        return;
    pace_throttled(&p->pace, ms, p->turn_mono_ms);
    p->config.throttled(p->config.ctx, ms);
}

static void report_failed(struct producer *p)
{
    size_t n = p->failed_n;
    for (size_t i = 0; i < n; i++) {
        struct answer answer = p->failed[i]; /* a report may add failures and move the array */
        report(p, answer);
    }
    p->failed_n -= n;
    memmove(p->failed, p->failed + n, p->failed_n * sizeof *p->failed);
}

void producer_reports(struct producer *p)
{
    p->turn_mono_ms = clock_mono_ms();
    for (int role = 0; role < ROLES; role++) {
        if (p->clients[role].rk == NULL)
            continue;
        rd_kafka_poll(p->clients[role].rk, 0);
        if (role >= FIRST)
            continue; /* the step machine replaces it after each failure */
        if (rd_kafka_fatal_error(p->clients[role].rk, NULL, 0) != 0 &&
            p->turn_mono_ms >= p->rebuild_mono_ms)
            producer_client_rebuild(p, (enum role)role);
    }
    report_heard(p);
    serve_throttling(p);
    if (p->failed_n > 0)
        report_failed(p);
    if (producer_is_transactional(p))
        producer_txn_serve(p);
    producer_send_next(p);
    trim_serve(&p->trim);
}

void producer_recall(struct producer *p)
{
    producer_drop_held(p);
}

void producer_purge(struct producer *p)
{
    producer_recall(p);
    for (int role = 0; role < ROLES; role++) {
        if (p->clients[role].rk != NULL)
            rd_kafka_purge(p->clients[role].rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                                    RD_KAFKA_PURGE_F_NON_BLOCKING);
    }
}

void producer_flush(struct producer *p, int timeout_ms)
{
    producer_send_all(p);
    for (int role = 0; role < ROLES; role++) {
        if (p->clients[role].rk != NULL)
            rd_kafka_flush(p->clients[role].rk, timeout_ms);
    }
    report_heard(p);
}

rd_kafka_t *producer_handle(const struct producer *p)
{
    return p->clients[producer_is_transactional(p) ? HOPS : DELIVERIES].rk;
}

static void *new_target(struct producer *p, const char *name)
{
    struct target_topics *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->name = name;
    for (int i = 0; i < ROUTES; i++) {
        outbox_init(&t->routes[i].outbox);
        t->routes[i].target = t;
    }
    t->next = p->targets;
    p->targets = t;
    return t;
}

enum lookup producer_lookup(struct producer *p, struct target_id *target)
{
    if (target->handle == NULL)
        target->handle = new_target(p, target->name);
    if (target->handle == NULL)
        return LOOKUP_UNKNOWN;
    return topic_lookup_get(p->lookup, producer_handle(p), target->name);
}

enum lookup producer_lookup_outlet(struct producer *p, struct queue_id outlet)
{
    const char *topic = outlet.slot == SLOT_SCHEDULE  ? p->config.dead_letter
                        : outlet.slot == SLOT_CANCELS ? p->config.cancelled
                        : outlet.slot == SLOT_EVENTS  ? p->config.events
                                                      : p->config.topics[outlet.slot];
    return topic_lookup_get_partition(p->lookup, producer_handle(p), topic, outlet.lane);
}

void producer_forget(struct producer *p, struct target_id *target)
{
    struct target_topics *t = target->handle, **at = &p->targets;
    target->handle = NULL;
    if (t == NULL)
        return;
    for (int role = 0; role < ROLES; role++)
        producer_topic_close(t, (enum role)role);
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    free(t);
}

void producer_trim(struct producer *p, const char *topic, int lane, int64_t offset)
{
    trim_add(&p->trim, topic, lane, offset);
}
