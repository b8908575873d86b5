/* SPDX-License-Identifier: Apache-2.0 */
/* The transactional clients: carries out the orders of the step machine, and passes on the facts.
   It decides nothing. */
#include "bridge/base/clock.h"
#include "bridge/base/limit.h"
#include "bridge/base/log.h"
#include "consumer/client/client_log.h"
#include "consumer/producer_parts.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { SLOW_MS = 10000 };

/* Brokers that hold one client often hold all clients of the process, for minutes. The clients
   share one line of a kind in REPEAT_MS, and a later line has the number of the others. */
enum { REPEAT_MS = 60000 };
static struct {
    pthread_mutex_t turn;
    struct limit limit;
} repeats = {.turn = PTHREAD_MUTEX_INITIALIZER, .limit = LIMIT_INIT(REPEAT_MS, 1)};

static bool may_pass(const char *what, uint64_t *suppressed)
{
    struct limit_kind kind = {.key = limit_key(LIMIT_KEY, bytes_text(what))};
    pthread_mutex_lock(&repeats.turn);
    bool pass = limit_pass(&repeats.limit, kind, clock_mono_ms(), suppressed);
    pthread_mutex_unlock(&repeats.turn);
    return pass;
}

static const char *name_of(enum client_call call)
{
    static const char *const names[] = {[CALL_NONE] = "none",
                                        [CALL_SEND_OFFSETS] = "send_offsets_to_transaction",
                                        [CALL_COMMIT] = "commit_transaction",
                                        [CALL_DESTROY] = "destroy",
                                        [CALL_INIT] = "init_transactions"};
    return names[call];
}

static rd_kafka_t *handle(const struct producer *p, int client)
{
    return p->clients[FIRST + client].rk;
}

/* Facts. */

static void tell(struct producer *p, struct client_fact fact)
{
    p->config.fact(p->config.ctx, &fact);
}

static enum blame blame_of(rd_kafka_resp_err_t err)
{
    switch ((int)err) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
        return BLAME_RECORDS;
    case RD_KAFKA_RESP_ERR_NO_ERROR:
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR__STATE:
        return BLAME_NOBODY;
    default:
        return BLAME_CLUSTER;
    }
}

static void tell_failed(struct producer *p, int client, rd_kafka_resp_err_t err, const char *why)
{
    tell(p, (struct client_fact){
                .event = CLIENT_FAILED, .client = client, .blame = blame_of(err), .why = why});
}

void producer_txn_record_failed(struct producer *p, enum role role, rd_kafka_resp_err_t err)
{
    tell_failed(p, (int)role - FIRST, err, producer_why(err));
}

static void tell_ended(struct producer *p, int client, const struct outcome *outcome)
{
    struct producer_txn *t = &p->txn[client];
    enum client_call call = t->call;
    t->call = CALL_NONE;
    tell(p, (struct client_fact){.event = CLIENT_ENDED,
                                 .client = client,
                                 .call = call,
                                 .ok = outcome->err == 0,
                                 .may_arrive = atomic_load(&t->tainted),
                                 .offsets_may_arrive = atomic_load(&t->offsets_tainted),
                                 .blame = blame_of(outcome->err),
                                 .why = outcome->why});
}

static void tell_responses(struct producer *p, int client)
{
    struct producer_txn *t = &p->txn[client];
    bool is_old = t->call == CALL_DESTROY; /* the handle that answered */
    if (atomic_exchange(&t->produced, false) && !is_old)
        tell(p, (struct client_fact){.event = CLIENT_PRODUCED, .client = client});
    if (atomic_exchange(&t->registered, false) && !is_old)
        tell(p, (struct client_fact){.event = CLIENT_REGISTERED, .client = client});
}

/* Gets the cause from the client: a fatal error, or the error of a call that can only fail. The
   reports of purged records do not name the cause. While offsets are being sent, only a fatal error
   is available, since the client makes one call at a time. */
static void tell_purged(struct producer *p, int client)
{
    struct outcome outcome = {.err = rd_kafka_fatal_error(handle(p, client), NULL, 0)};
    const char *why = outcome.err != 0 ? producer_why(outcome.err) : outcome.why;
    if (outcome.err == 0 && p->txn[client].call == CALL_NONE)
        outcome_take(&outcome, rd_kafka_begin_transaction(handle(p, client)));
    tell(p,
         (struct client_fact){
             .event = CLIENT_PURGED, .client = client, .blame = blame_of(outcome.err), .why = why});
}

/* Logs a call that lasts long. The call may wait for brokers indefinitely. */
static void log_slow(struct producer_txn *t)
{
    int64_t running_ms = t->calls != NULL ? txn_calls_running_ms(t->calls) : 0;
    if (running_ms < t->logged_ms)
        t->logged_ms = 0;
    if (running_ms - t->logged_ms < SLOW_MS)
        return;
    t->logged_ms = running_ms;
    uint64_t suppressed;
    if (!may_pass(name_of(t->call), &suppressed))
        return;
    t->slow_mono_ms = clock_mono_ms() - running_ms;
    log_warn("transactional producer waits for the brokers, records of its worker wait: run "
             "kafka-topics.sh --describe --unavailable-partitions",
             F_TEXT("id", t->id), F_TEXT("call", name_of(t->call)), F_MS("waited_ms", running_ms),
             F_NONZERO("suppressed", suppressed));
}

static void log_ended(struct producer_txn *t, const struct outcome *outcome)
{
    if (t->slow_mono_ms != 0 && outcome->err == 0)
        log_info("brokers answered, transactional producer continues", F_TEXT("id", t->id),
                 F_TEXT("call", name_of(t->call)),
                 F_MS("waited_ms", clock_mono_ms() - t->slow_mono_ms));
    t->slow_mono_ms = 0;
    if (t->call == CALL_INIT && outcome->err != 0)
        log_error("transactional producer cannot start, trying again: run 'delaybridge check'",
                  F_TEXT("id", t->id), F_TEXT("error", rd_kafka_err2name(outcome->err)),
                  F_TEXT("reason", outcome->why),
                  F_HINT(outcome->err == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                             ? "allow Write on its transactional id"
                             : NULL));
}

/* Orders. */

static void begin_call(struct producer_txn *t, enum client_call call)
{
    assert(t->call == CALL_NONE);
    t->call = call;
}

int producer_begin(struct producer *p, int client)
{
    struct producer_txn *t = &p->txn[client];
    struct outcome outcome;
    atomic_store(&t->produced, false);
    atomic_store(&t->registered, false);
    outcome_take(&outcome, rd_kafka_begin_transaction(handle(p, client)));
    if (outcome.err == 0)
        return 0;
    tell_failed(p, client, outcome.err, outcome.why);
    return ERR_KAFKA;
}

void producer_send_offsets(struct producer *p, int client, rd_kafka_topic_partition_list_t *offsets,
                           rd_kafka_consumer_group_metadata_t *member)
{
    begin_call(&p->txn[client], CALL_SEND_OFFSETS);
    txn_calls_send(p->txn[client].calls, handle(p, client), offsets, member);
}

void producer_commit(struct producer *p, int client)
{
    begin_call(&p->txn[client], CALL_COMMIT);
    txn_calls_commit(p->txn[client].calls, handle(p, client));
}

void producer_purge_client(struct producer *p, int client)
{
    p->txn[client].purging = true;
    producer_drop_held(p);
    rd_kafka_purge(handle(p, client), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                          RD_KAFKA_PURGE_F_NON_BLOCKING);
    wakeup_signal(p->config.wakeup, WAKEUP_REPORTS);
}

/* A client that was never used, or that does not exist, has nothing to destroy. Its call ends in
   producer_reports. */
void producer_renew(struct producer *p, int client, bool was_left)
{
    struct producer_txn *t = &p->txn[client];
    begin_call(t, CALL_DESTROY);
    if (t->calls == NULL) {
        wakeup_signal(p->config.wakeup, WAKEUP_REPORTS);
        return;
    }
    bool tainted = atomic_load(&t->tainted) || was_left;
    txn_calls_destroy(t->calls, producer_client_leave(p, FIRST + (enum role)client), tainted);
}

/* Logs that a client is used that was not needed before. */
static void log_further(const struct producer_txn *t)
{
    uint64_t suppressed;
    if (may_pass("held", &suppressed))
        log_warn("brokers hold a transactional producer, starting another one: run "
                 "kafka-topics.sh --describe --unavailable-partitions",
                 F_TEXT("id", t->id), F_NONZERO("suppressed", suppressed));
}

/* Creates a client, unless it was never used, and initializes it. The creation can fail even though
   start-up succeeded: out of memory, certificate file removed. */
static void start(struct producer *p, int client)
{
    struct producer_txn *t = &p->txn[client];
    struct error error = {0};
    bool is_first = t->calls == NULL;
    begin_call(t, CALL_INIT);
    atomic_store(&t->tainted, false);
    atomic_store(&t->offsets_tainted, false);
    if (is_first)
        t->calls = txn_calls_new(p->config.wakeup);
    int err = t->calls != NULL ? 0 : error_set(&error, ERR_NO_MEMORY, "out of memory or threads");
    if (err == 0 && handle(p, client) == NULL)
        err = producer_client_start(p, FIRST + (enum role)client, &error);
    if (err == 0) {
        if (is_first && client >= TXN_CLIENTS_WANTED)
            log_further(t);
        txn_calls_init(t->calls, handle(p, client));
        return;
    }
    log_error("cannot recreate a transactional producer, trying again: run 'delaybridge check'",
              F_TEXT("reason", error.text));
    tell_ended(p, client,
               &(struct outcome){.err = RD_KAFKA_RESP_ERR__FAIL, .why = "it cannot be created"});
}

static void serve_call(struct producer *p, int client)
{
    struct producer_txn *t = &p->txn[client];
    struct outcome outcome = {0};
    enum client_call call = t->call;
    log_slow(t);
    if (t->calls == NULL ? call == CALL_NONE : !txn_calls_ended(t->calls, &outcome))
        return;
    log_ended(t, &outcome);
    if (call == CALL_SEND_OFFSETS && outcome.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        p->config.offsets_refused(p->config.ctx);
    tell_ended(p, client, &outcome);
    if (call == CALL_DESTROY)
        start(p, client);
}

static void serve_purge(struct producer *p, int client)
{
    struct producer_txn *t = &p->txn[client];
    if (!t->purging)
        return;
    producer_drop_held(p); /* repeated: the first call may have lacked memory */
    if (rd_kafka_outq_len(handle(p, client)) > 0 || p->failed_n > 0 || producer_holds(p))
        return;
    t->purging = false;
    t->refusal = 0;
    tell_purged(p, client);
}

/* A refusal comes before the end of a call, after which the transaction might be committed. */
void producer_txn_serve(struct producer *p)
{
    if (client_log_away_since_mono_ms() != 0)
        tell(p, (struct client_fact){.event = CLIENT_AWAY});
    for (int client = 0; client < TXN_CLIENTS; client++) {
        struct producer_txn *t = &p->txn[client];
        tell_responses(p, client);
        if (t->refusal != 0)
            tell_failed(p, client, t->refusal, producer_why(t->refusal));
        serve_call(p, client);
        serve_purge(p, client);
    }
}

bool producer_txn_stop(struct producer *p)
{
    bool freed = true;
    for (int client = 0; client < TXN_CLIENTS; client++) {
        struct producer_txn *t = &p->txn[client];
        freed &= t->calls == NULL || txn_calls_free(t->calls);
        t->calls = NULL;
    }
    return freed;
}
