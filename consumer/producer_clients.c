/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, replaces and stops the clients of a producer. With at-least-once there are three
   idempotent ones: for hops, for deliveries, and for records that must be alone in their batch.
   With exactly-once there are two to four transactional ones (producer_txn.c), and the one for
   hops. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/producer_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { REBUILD_MS = 500, REBUILD_AGAIN_MS = 1000 };

/* Returns whether this client sends to a topic of the bridge. At least once, the entries of cancels
   go with the deliveries, since their senders wait for them. So do events. */
static bool owns_topic(const struct producer *p, enum role role, int own)
{
    if (producer_is_transactional(p))
        return role >= FIRST;
    bool urgent = own == producer_own_cancelled(p) || own == producer_own_events(p);
    return role == ALONE || role == (urgent ? DELIVERIES : HOPS);
}

/* Opens the topics of the bridge to which this client sends. The opaque of a topic is its slot. The
   dead-letter topic and the topic of cancels have none, so their reports look like those of slot 0,
   which is never written to. The topic of events may not exist: its first event opens it. */
static int open_own_topics(struct producer *p, enum role role, struct client *c)
{
    int n = producer_own_topics(p);
    c->own = calloc((size_t)n, sizeof(rd_kafka_topic_t *));
    if (c->own == NULL)
        return ERR_NO_MEMORY;
    for (int own = 0; own < n; own++) {
        int slot = own < p->config.slots ? own : 0;
        const char *name = own == producer_own_dead_letter(p) ? p->config.dead_letter
                           : own == producer_own_cancelled(p) ? p->config.cancelled
                           : own == producer_own_events(p)    ? p->config.events
                                                              : p->config.topics[own];
        if (own == producer_own_events(p) || !owns_topic(p, role, own))
            continue;
        rd_kafka_topic_conf_t *conf = rd_kafka_default_topic_conf_dup(c->rk);
        rd_kafka_topic_conf_set_opaque(conf, (void *)(intptr_t)slot);
        c->own[own] = rd_kafka_topic_new(c->rk, name, conf);
    }
    return 0;
}

static void close_own_topics(const struct producer *p, struct client *c)
{
    for (int own = 0; c->own != NULL && own < producer_own_topics(p); own++) {
        if (c->own[own] != NULL)
            rd_kafka_topic_destroy(c->own[own]);
    }
    free(c->own);
    c->own = NULL;
}

/* Makes the client refuse a record that is too large for a request. A broker would only close the
   connection. */
static void set_record_max(const struct producer *p, rd_kafka_conf_t *conf)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", p->config.record_max_bytes);
    if (p->config.record_max_bytes > 0)
        rd_kafka_conf_set(conf, "message.max.bytes", text, NULL, 0);
}

/* Keeps the longest throttle time until serve_throttling reads it. The client calls this from
   rd_kafka_poll, or in the thread of txn_calls. */
static void on_throttle(rd_kafka_t *rk, const char *broker, int32_t id, int ms, void *opaque)
{
    (void)rk, (void)broker, (void)id;
    struct producer *p = opaque;
    int most_ms = atomic_load_explicit(&p->throttled_ms, memory_order_relaxed);
    while (ms > most_ms &&
           !atomic_compare_exchange_weak_explicit(&p->throttled_ms, &most_ms, ms,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Marks the client as tainted when a request of its transaction fails. The broker may have received
   that request, or may receive it later. */
static rd_kafka_resp_err_t on_response(rd_kafka_t *rk, int fd, const char *broker, int32_t id,
                                       int16_t api, int16_t version, int32_t correlation,
                                       size_t size, int64_t rtt, rd_kafka_resp_err_t err,
                                       void *opaque)
{
    enum { PRODUCE = 0, ADD_PARTITIONS = 24, ADD_OFFSETS = 25, END = 26, OFFSETS = 28 };
    (void)rk, (void)fd, (void)broker, (void)id, (void)version, (void)correlation, (void)size,
        (void)rtt;
    struct producer_txn *t = opaque;
    bool of_offsets = api == ADD_OFFSETS || api == END || api == OFFSETS;
    if (err != 0 && of_offsets)
        atomic_store(&t->offsets_tainted, true);
    if (err != 0 && (of_offsets || api == PRODUCE || api == ADD_PARTITIONS))
        atomic_store(&t->tainted, true);
    if (err == 0 && api == PRODUCE)
        atomic_store(&t->produced, true);
    if (err == 0 && api == ADD_PARTITIONS)
        atomic_store(&t->registered, true);
    return 0;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque,
                                  char *error, size_t error_size)
{
    (void)conf, (void)error, (void)error_size;
    return rd_kafka_interceptor_add_on_response_received(rk, "delaybridge", on_response, opaque);
}

static int configure_transactions(struct producer *p, enum role role, rd_kafka_conf_t *conf,
                                  struct error *error)
{
    static const char *const ends[TXN_CLIENTS] = {"", ":2", ":3", ":4"};
    struct producer_txn *t = &p->txn[role - FIRST];
    snprintf(t->id, sizeof t->id, "%s%s", p->config.transactional_id, ends[role - FIRST]);
    rd_kafka_conf_interceptor_add_on_new(conf, "delaybridge", on_new, t);
    return client_transactional(conf, t->id, error);
}

static rd_kafka_conf_t *conf_of(struct producer *p, enum role role, struct error *error)
{
    rd_kafka_conf_t *conf =
        client_conf(p->config.config, role == HOPS ? CLIENT_HOPS : CLIENT_DELIVERIES, error);
    if (conf == NULL)
        return NULL;
    if (role >= FIRST && configure_transactions(p, role, conf, error) != 0) {
        rd_kafka_conf_destroy(conf);
        return NULL;
    }
    set_record_max(p, conf);
    if (role == ALONE)
        rd_kafka_conf_set(conf, "batch.num.messages", "1", NULL, 0);
    rd_kafka_topic_conf_set_partitioner_cb(rd_kafka_conf_get_default_topic_conf(conf),
                                           producer_partition);
    rd_kafka_conf_set_opaque(conf, p);
    rd_kafka_conf_set_dr_msg_cb(conf, producer_on_report);
    rd_kafka_conf_set_throttle_cb(conf, on_throttle);
    return conf;
}

static double number_of(const rd_kafka_conf_t *conf, const char *name)
{
    char text[32];
    size_t size = sizeof text;
    return rd_kafka_conf_get(conf, name, text, &size) == RD_KAFKA_CONF_OK ? strtod(text, NULL) : 0;
}

/* Returns the limits at which an outbox sends a batch. BATCH_BYTES bounds the held records, so that
   they are still in the CPU cache when they are sent. Hops gather by their linger, and a
   transaction by its interval. */
static struct outbox_limits limits_of(const rd_kafka_conf_t *conf, enum role role)
{
    enum { BATCH_BYTES = 128 << 10, GATHER_MS = 5 };
    size_t batch_bytes = (size_t)number_of(conf, "batch.size");
    return (struct outbox_limits){.gather_ms = role == DELIVERIES ? GATHER_MS : 0,
                                  .linger_ms = (int)number_of(conf, "linger.ms"),
                                  .batch_bytes =
                                      batch_bytes < BATCH_BYTES ? batch_bytes : BATCH_BYTES,
                                  .request_bytes = batch_bytes - batch_bytes / 8};
}

/* A fetch brings at least one batch, so reading a level partition needs the memory of one. The
   client of hops makes small batches (for_hops in client.c). A transactional client sends the
   deliveries, too, and makes batches of a megabyte. So the outbox makes its batches of hops. */
static struct outbox_limits level_limits_of(struct outbox_limits limits, enum role role)
{
    enum { LEVEL_BATCH_BYTES = 256 << 10 };
    if (role < FIRST)
        return limits;
    limits.one_request = limits.gathers_turn = true;
    if (limits.request_bytes > LEVEL_BATCH_BYTES)
        limits.request_bytes = LEVEL_BATCH_BYTES;
    return limits;
}

int producer_client_make(struct producer *p, enum role role, struct client *c, struct error *error)
{
    rd_kafka_conf_t *conf = conf_of(p, role, error);
    if (conf == NULL)
        return ERR_CONFIG;
    *c = (struct client){.limits = limits_of(conf, role)};
    c->level_limits = level_limits_of(c->limits, role);
    c->rk = client_new(RD_KAFKA_PRODUCER, conf, error);
    if (c->rk == NULL)
        return client_failure();
    if (open_own_topics(p, role, c) != 0) {
        rd_kafka_destroy(c->rk);
        c->rk = NULL;
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    }
    c->reports = rd_kafka_queue_get_main(c->rk);
    wakeup_attach(p->config.wakeup, c->reports, WAKEUP_REPORTS);
    return 0;
}

void producer_topic_close(struct target_topics *t, enum role role)
{
    if (t->topic[role] != NULL)
        rd_kafka_topic_destroy(t->topic[role]);
    t->topic[role] = NULL;
}

int producer_client_start(struct producer *p, enum role role, struct error *error)
{
    return producer_client_make(p, role, &p->clients[role], error);
}

rd_kafka_t *producer_client_leave(struct producer *p, enum role role)
{
    struct client *c = &p->clients[role];
    rd_kafka_t *rk = c->rk;
    if (rk == NULL)
        return NULL;
    for (struct target_topics *t = p->targets; t != NULL; t = t->next)
        producer_topic_close(t, role);
    close_own_topics(p, c);
    rd_kafka_queue_destroy(c->reports);
    c->rk = NULL;
    return rk;
}

void producer_client_stop(struct producer *p, enum role role)
{
    rd_kafka_t *rk = producer_client_leave(p, role);
    if (rk == NULL)
        return;
    if (role >= FIRST)
        client_transactional_destroy(rk, atomic_load(&p->txn[role - FIRST].tainted));
    else
        rd_kafka_destroy(rk);
}

/* Replaces a broken client. The records of the old client are reported as purged. The new client
   has another producer id. */
void producer_client_rebuild(struct producer *p, enum role role)
{
    struct client *c = &p->clients[role];
    struct error error;
    p->rebuild_mono_ms = clock_mono_ms() + REBUILD_AGAIN_MS;
    rd_kafka_fatal_error(c->rk, error.text, sizeof error.text);
    log_warn("fatal error of a producer, replacing it", F_TEXT("reason", error.text));
    rd_kafka_purge(c->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_flush(c->rk, REBUILD_MS);
    if (rd_kafka_outq_len(c->rk) > 0 || !topic_lookup_settle(p->lookup))
        return; /* try later: reports are missing, or a lookup uses the handle */
    struct client fresh;
    if (producer_client_make(p, role, &fresh, &error) != 0) {
        /* For example, a certificate file was removed. */
        log_error("cannot recreate a producer, trying again: run 'delaybridge check'",
                  F_TEXT("reason", error.text));
        return;
    }
    if (role == HOPS)
        trim_close(&p->trim);
    producer_client_stop(p, role);
    *c = fresh;
    if (role == HOPS)
        trim_open(&p->trim, c->rk, p->config.wakeup);
}
