/* SPDX-License-Identifier: Apache-2.0 */
/* The two transactional clients: their phases, the end of each phase, and the turns. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/producer_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { START_AGAIN_MS = 1000, SLOW_MS = 10000 };

static struct producer_turn *turn_of(struct producer *p, enum role role)
{
    return &p->txn.turns[role - FIRST];
}

static struct producer_turn *current(struct producer *p)
{
    return turn_of(p, p->txn.turn);
}

static enum role other_than(enum role role)
{
    return role == FIRST ? SECOND : FIRST;
}

static rd_kafka_t *handle(const struct producer *p)
{
    return p->clients[p->txn.turn].rk;
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
    struct producer_turn *turn = opaque;
    if (err != 0 && (api == PRODUCE || api == ADD_PARTITIONS || api == ADD_OFFSETS || api == END ||
                     api == OFFSETS))
        atomic_store(&turn->tainted, true);
    return 0;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque,
                                  char *error, size_t error_size)
{
    (void)conf, (void)error, (void)error_size;
    return rd_kafka_interceptor_add_on_response_received(rk, "delaybridge", on_response, opaque);
}

int producer_txn_configure(struct producer *p, enum role role, rd_kafka_conf_t *conf,
                           struct error *error)
{
    struct producer_turn *turn = turn_of(p, role);
    snprintf(turn->id, sizeof turn->id, "%s%s", p->config.transactional_id,
             role == SECOND ? ":2" : "");
    rd_kafka_conf_interceptor_add_on_new(conf, "delaybridge", on_new, turn);
    return client_transactional(conf, turn->id, error);
}

static void pass_turn(struct producer *p)
{
    if (!p->txn.stays)
        p->txn.turn = other_than(p->txn.turn);
}

/* Starts a client. Its creation can fail even though start-up succeeded: out of memory, certificate
   file removed. */
static void start(struct producer *p, enum role role)
{
    struct error error;
    struct producer_turn *turn = turn_of(p, role);
    turn->phase = PHASE_STARTING;
    if (p->clients[role].rk == NULL && producer_client_start(p, role, &error) != 0) {
        log_error("cannot recreate a transactional producer, trying again: run 'delaybridge check'",
                  F_TEXT("reason", error.text));
        turn->retry_mono_ms = clock_mono_ms() + START_AGAIN_MS;
        return;
    }
    turn->retry_mono_ms = 0;
    txn_calls_init(turn->calls, p->clients[role].rk);
}

/* Destroys a client and its topics. The next client with this id ends the transaction that the old
   one left open. */
static void renew(struct producer *p, enum role role)
{
    struct producer_turn *turn = turn_of(p, role);
    turn->phase = PHASE_CLOSING;
    txn_calls_destroy(turn->calls, producer_client_leave(p, role), atomic_load(&turn->tainted));
}

int producer_txn_start(struct producer *p)
{
    p->txn.turn = FIRST;
    for (enum role role = FIRST; role <= SECOND; role++) {
        turn_of(p, role)->calls = txn_calls_new(p->config.wakeup);
        if (turn_of(p, role)->calls == NULL)
            return ERR_NO_MEMORY;
    }
    start(p, FIRST);
    start(p, SECOND);
    return 0;
}

static void drop_offsets(struct producer_txn *t)
{
    if (t->offsets == NULL)
        return;
    rd_kafka_topic_partition_list_destroy(t->offsets);
    rd_kafka_consumer_group_metadata_destroy(t->member);
    t->offsets = NULL;
}

bool producer_txn_stop(struct producer *p)
{
    bool freed = true;
    for (enum role role = FIRST; role <= SECOND; role++) {
        struct producer_turn *turn = turn_of(p, role);
        freed &= turn->calls == NULL || txn_calls_free(turn->calls);
        turn->calls = NULL;
    }
    drop_offsets(&p->txn);
    return freed;
}

int producer_txn_enter(struct producer *p)
{
    struct producer_turn *turn = current(p);
    if (turn->phase == PHASE_OPEN && !p->txn.failing)
        return 0;
    if (turn->phase != PHASE_READY || p->txn.giving_up)
        return ERR_FULL;
    rd_kafka_error_t *error = rd_kafka_begin_transaction(handle(p));
    turn->phase = PHASE_OPEN;
    if (error == NULL)
        return 0;
    producer_txn_fail(p, rd_kafka_error_code(error), rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return ERR_FULL;
}

static void purge(struct producer *p)
{
    producer_drop_held(p);
    rd_kafka_purge(handle(p), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                  RD_KAFKA_PURGE_F_NON_BLOCKING);
    current(p)->phase = PHASE_PURGING;
}

static void serve_purged(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    producer_drop_held(p); /* repeated: the first call may have lacked memory */
    if (rd_kafka_outq_len(handle(p)) > 0 || p->failed_n > 0 || producer_holds(p))
        return;
    producer_txn_ask_why(p);
    current(p)->phase = PHASE_TORN;
    if (!t->giving_up)
        p->config.aborted(p->config.ctx, t->cause, t->why[0] == '\0' ? "purged" : t->why);
}

static void serve_started(struct producer *p, enum role role, const struct outcome *outcome)
{
    struct producer_turn *turn = turn_of(p, role);
    if (outcome->err == 0) {
        turn->phase = PHASE_READY;
        return;
    }
    log_error("transactional producer cannot start, trying again: run 'delaybridge check'",
              F_TEXT("id", turn->id), F_TEXT("error", rd_kafka_err2name(outcome->err)),
              F_TEXT("reason", outcome->why),
              F_HINT(outcome->err == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                         ? "allow Write on its transactional id"
                         : NULL));
    turn->retry_mono_ms = clock_mono_ms() + START_AGAIN_MS;
}

static void serve_committed(struct producer *p, const struct outcome *outcome)
{
    struct producer_txn *t = &p->txn;
    bool tainted = atomic_load(&current(p)->tainted);
    t->stays = outcome->err != 0 || tainted || (t->stays && !t->progress);
    if (outcome->err != 0) {
        producer_txn_fail(p, outcome->err, outcome->why);
        purge(p);
        return;
    }
    t->failing = false;
    current(p)->phase = PHASE_READY;
    if (tainted)
        renew(p, t->turn); /* a late request would become part of its next transaction */
    pass_turn(p);
    if (!t->giving_up)
        p->config.committed(p->config.ctx, t->seq);
}

/* Commits the transaction: all its records are reported, and its offsets are sent. Does nothing
   after a failure, since the transaction is aborted then. */
static void finish(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    t->finishing = false;
    if (current(p)->phase != PHASE_OPEN || t->failing || t->giving_up || t->refused)
        return;
    current(p)->phase = PHASE_COMMITTING;
    txn_calls_commit(current(p)->calls, handle(p));
}

static void serve_sent(struct producer *p, const struct outcome *outcome)
{
    struct producer_txn *t = &p->txn;
    t->sending = false;
    t->stays |= outcome->err != 0 || atomic_load(&current(p)->tainted);
    if (outcome->err != 0)
        producer_txn_fail(p, outcome->err, outcome->why);
    else if (t->finishing)
        finish(p);
}

static void serve_outcome(struct producer *p, enum role role, const struct outcome *outcome)
{
    struct producer_turn *turn = turn_of(p, role);
    switch (turn->phase) {
    case PHASE_STARTING:
        serve_started(p, role, outcome);
        break;
    case PHASE_OPEN:
        serve_sent(p, outcome);
        break;
    case PHASE_COMMITTING:
        serve_committed(p, outcome);
        break;
    case PHASE_READY:
    case PHASE_PURGING:
    case PHASE_TORN:
    case PHASE_CLOSING:
        atomic_store(&turn->tainted, false);
        start(p, role);
        break;
    }
}

/* Logs a call that lasts long. The call may wait for brokers indefinitely, and no transaction ends
   meanwhile. */
static void log_slow(struct producer_turn *turn)
{
    int64_t running_ms = txn_calls_running_ms(turn->calls);
    if (running_ms < turn->logged_ms)
        turn->logged_ms = 0;
    if (running_ms - turn->logged_ms < SLOW_MS)
        return;
    turn->logged_ms = running_ms;
    log_warn("transactional producer waits for the brokers, records of its worker wait: run "
             "kafka-topics.sh --describe --unavailable-partitions",
             F_TEXT("id", turn->id), F_TEXT("call", txn_calls_name(turn->calls)),
             F_MS("waited_ms", running_ms));
}

static void serve_turn(struct producer *p, enum role role)
{
    struct producer_turn *turn = turn_of(p, role);
    struct outcome outcome;
    if (txn_calls_ended(turn->calls, &outcome))
        serve_outcome(p, role, &outcome);
    log_slow(turn);
    if (turn->phase == PHASE_STARTING && turn->retry_mono_ms != 0 &&
        clock_mono_ms() >= turn->retry_mono_ms) {
        if (p->clients[role].rk != NULL)
            renew(p, role);
        else
            start(p, role);
    }
}

/* Gives the next transaction to the other client if that one is ready, and the current one is being
   recreated. */
static void choose_turn(struct producer *p)
{
    enum txn_phase phase = current(p)->phase;
    if ((phase == PHASE_STARTING || phase == PHASE_CLOSING) &&
        turn_of(p, other_than(p->txn.turn))->phase == PHASE_READY)
        pass_turn(p);
}

/* Sends the announced offsets in the transaction. Drops them if the transaction cannot begin or has
   failed: it will be aborted. */
static void send_offsets(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    if (t->giving_up || producer_txn_enter(p) != 0) {
        drop_offsets(t);
        return;
    }
    t->progress = t->offsets->cnt > 0;
    t->sending = true;
    txn_calls_send(current(p)->calls, handle(p), t->offsets, t->member);
    t->offsets = NULL;
}

static void refuse(struct producer *p)
{
    p->txn.refused = false;
    producer_txn_fail(p, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
                      "the lanes are no longer assigned, or memory is lacking");
    purge(p);
}

static bool is_in(struct producer *p, enum txn_phase phase)
{
    return current(p)->phase == phase;
}

/* Returns whether the next transaction may begin. The failed client must be destroyed first, since
   only then this loop starts its successor. Until the successor has initialized the id, Kafka
   returns no committed offsets. */
static bool may_restart(struct producer *p)
{
    return is_in(p, PHASE_READY) && turn_of(p, other_than(p->txn.turn))->phase != PHASE_CLOSING;
}

void producer_txn_serve(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    serve_turn(p, FIRST);
    serve_turn(p, SECOND);
    choose_turn(p);
    if (is_in(p, PHASE_READY) && t->offsets != NULL)
        send_offsets(p);
    if ((is_in(p, PHASE_READY) || is_in(p, PHASE_OPEN)) && t->refused && !t->giving_up)
        refuse(p);
    if (is_in(p, PHASE_OPEN) && (t->failing || t->giving_up) && !t->sending)
        purge(p);
    if (is_in(p, PHASE_PURGING))
        serve_purged(p);
    if (is_in(p, PHASE_TORN) && t->giving_up) {
        renew(p, t->turn);
        choose_turn(p);
    }
    if (t->giving_up && may_restart(p)) {
        t->failing = t->giving_up = t->refused = t->finishing = false;
        p->config.restarted(p->config.ctx);
    }
}

void producer_announce(struct producer *p, rd_kafka_topic_partition_list_t *offsets,
                       rd_kafka_consumer_group_metadata_t *member)
{
    struct producer_txn *t = &p->txn;
    drop_offsets(t);
    t->offsets = offsets;
    t->member = member;
    t->refused = offsets == NULL;
    if (!is_in(p, PHASE_STARTING) && !is_in(p, PHASE_CLOSING) && !t->refused)
        send_offsets(p);
    wakeup_signal(p->config.wakeup, WAKEUP_REPORTS);
}

void producer_finish(struct producer *p, uint64_t seq)
{
    struct producer_txn *t = &p->txn;
    t->seq = seq;
    t->finishing = true;
    if (!t->sending && t->offsets == NULL)
        finish(p);
}

bool producer_has_spare(struct producer *p)
{
    return turn_of(p, other_than(p->txn.turn))->phase == PHASE_READY;
}

void producer_abort(struct producer *p)
{
    p->txn.giving_up = true;
    wakeup_signal(p->config.wakeup, WAKEUP_REPORTS);
}
