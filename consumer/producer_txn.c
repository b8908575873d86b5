/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a transactional client, and the end of each phase. */
#include "consumer/producer_parts.h"

static struct producer_turn *current(struct producer *p)
{
    return producer_turn_of(p, p->txn.turn);
}

static rd_kafka_t *handle(const struct producer *p)
{
    return p->clients[p->txn.turn].rk;
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
    for (enum role role = FIRST; role < ROLES; role++) {
        struct producer_turn *turn = producer_turn_of(p, role);
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
    producer_turn_begins(turn);
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
    struct producer_turn *turn = producer_turn_of(p, role);
    if (outcome->err == 0)
        turn->phase = PHASE_READY;
    else
        producer_turn_failed_to_start(turn, outcome);
}

static void serve_committed(struct producer *p, const struct outcome *outcome)
{
    struct producer_txn *t = &p->txn;
    bool tainted = atomic_load(&current(p)->tainted);
    bool may_arrive = atomic_load(&current(p)->offsets_tainted);
    t->stays = outcome->err != 0 || may_arrive || (t->stays && !t->progress);
    if (outcome->err != 0) {
        producer_txn_fail(p, outcome->err, outcome->why);
        purge(p);
        return;
    }
    t->failing = false;
    current(p)->phase = PHASE_READY;
    if (tainted)
        producer_turn_renew(p, t->turn); /* a late request would join its next transaction */
    producer_turn_pass(p);
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
    t->stays |= atomic_load(&current(p)->offsets_tainted);
    if (outcome->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        p->config.offsets_refused(p->config.ctx);
    if (outcome->err != 0)
        producer_txn_fail(p, outcome->err, outcome->why);
    else if (t->finishing)
        finish(p);
}

static void serve_outcome(struct producer *p, enum role role, const struct outcome *outcome)
{
    struct producer_turn *turn = producer_turn_of(p, role);
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
    case PHASE_PURGING: /* of a client that the coordinator refuses */
    case PHASE_TORN:
        p->txn.sending = false;
        break;
    case PHASE_LEFT:
        producer_turn_renew(p, role);
        break;
    case PHASE_OFF: /* no call runs */
    case PHASE_READY:
    case PHASE_CLOSING:
        atomic_store(&turn->tainted, false);
        atomic_store(&turn->offsets_tainted, false);
        producer_turn_start(p, role);
        break;
    }
}

static void serve_turn(struct producer *p, enum role role)
{
    struct producer_turn *turn = producer_turn_of(p, role);
    struct outcome outcome;
    if (turn->phase == PHASE_OFF)
        return;
    if (txn_calls_ended(turn->calls, &outcome)) {
        producer_turn_log_ended(turn, &outcome);
        serve_outcome(p, role, &outcome);
    }
    producer_turn_log_slow(turn);
    producer_turn_retry(p, role);
}

/* Gives the transaction up if the coordinator refuses it. Its records never left the client. */
static void watch_refusal(struct producer *p)
{
    if (current(p)->phase != PHASE_OPEN || p->txn.failing || !producer_turn_is_refused(current(p)))
        return;
    producer_txn_fail(p, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS,
                      "brokers cannot complete the last transaction of this producer");
    p->config.leaders_doubted(p->config.ctx);
    purge(p);
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
   returns no committed offsets. A client in PHASE_LEFT has sent none. */
static bool may_restart(struct producer *p)
{
    return is_in(p, PHASE_READY) && !producer_turns_close(p);
}

static void serve_given_up(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    if (is_in(p, PHASE_TORN) && t->sending)
        producer_turn_leave(p);
    else if (is_in(p, PHASE_TORN))
        producer_turn_renew(p, t->turn);
    producer_turns_replace_held(p);
    producer_turn_choose(p);
    if (may_restart(p)) {
        t->failing = t->giving_up = t->refused = t->finishing = false;
        p->config.restarted(p->config.ctx);
    }
}

void producer_txn_serve(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    for (enum role role = FIRST; role < ROLES; role++)
        serve_turn(p, role);
    producer_turns_replace_held(p);
    producer_turn_choose(p);
    if (is_in(p, PHASE_READY) && t->offsets != NULL)
        send_offsets(p);
    if ((is_in(p, PHASE_READY) || is_in(p, PHASE_OPEN)) && t->refused && !t->giving_up)
        refuse(p);
    watch_refusal(p);
    if (is_in(p, PHASE_OPEN) && (t->failing || t->giving_up) && !t->sending)
        purge(p);
    if (is_in(p, PHASE_PURGING))
        serve_purged(p);
    if (t->giving_up)
        serve_given_up(p);
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

void producer_abort(struct producer *p)
{
    p->txn.giving_up = true;
    wakeup_signal(p->config.wakeup, WAKEUP_REPORTS);
}
