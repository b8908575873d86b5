/* SPDX-License-Identifier: Apache-2.0 */
/* The transactional client of slow targets. Its transaction is open next to the one that has the
   turn. It sends its offsets and its end only in a turn. It is started for the first slow target.
 */
#include "consumer/producer_parts.h"

static struct producer_turn *apart(struct producer *p)
{
    return producer_turn_of(p, APART);
}

static bool has_turn(const struct producer *p)
{
    return p->txn.turn == APART;
}

bool producer_is_apart(const struct producer *p, enum role role)
{
    return role == APART && !has_turn(p);
}

/* Returns false while brokers hold its last transaction, because a partition lost its leader. */
bool producer_apart_is_ready(struct producer *p)
{
    struct producer_turn *turn = apart(p);
    if (turn->phase == PHASE_OFF)
        producer_turn_first(p, APART);
    return !has_turn(p) && !p->txn.apart_given_up &&
           (turn->phase == PHASE_READY || turn->phase == PHASE_OPEN);
}

int producer_apart_open(struct producer *p)
{
    struct producer_turn *turn = apart(p);
    if (!producer_apart_is_ready(p))
        return ERR_FULL;
    if (turn->phase == PHASE_OPEN)
        return 0;
    rd_kafka_error_t *error = rd_kafka_begin_transaction(p->clients[APART].rk);
    if (error != NULL) {
        rd_kafka_error_destroy(error);
        producer_turn_renew(p, APART);
        return ERR_FULL;
    }
    turn->phase = PHASE_OPEN;
    producer_turn_begins(turn);
    return 0;
}

/* The shared client may have an open transaction without a record: its first record did not fit. It
   continues after the turn. While older offsets of a client may still arrive, only that client
   sends newer ones. */
bool producer_enter_apart(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    if (has_turn(p) || t->stays || t->failing || t->giving_up || t->apart_given_up ||
        apart(p)->phase != PHASE_OPEN)
        return false;
    t->shared_turn = t->turn;
    t->turn = APART;
    return true;
}

void producer_abort_apart(struct producer *p)
{
    p->txn.apart_given_up = true;
    wakeup_signal(p->config.wakeup, WAKEUP_REPORTS);
}

/* Purges a transaction that the coordinator refuses: the last one is not complete. Its records are
   reported as not sent, and then it is given up. No target is to blame. */
static void watch_refusal(struct producer *p)
{
    struct producer_turn *turn = apart(p);
    if (turn->phase != PHASE_OPEN || has_turn(p) || p->txn.apart_given_up ||
        !producer_turn_is_refused(turn))
        return;
    p->config.leaders_doubted(p->config.ctx);
    producer_drop_held_apart(p);
    rd_kafka_purge(p->clients[APART].rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                             RD_KAFKA_PURGE_F_NON_BLOCKING);
}

void producer_apart_serve(struct producer *p)
{
    rd_kafka_t *rk = p->clients[APART].rk;
    watch_refusal(p);
    if (!p->txn.apart_given_up || has_turn(p))
        return;
    producer_drop_held_apart(p); /* repeated: the first call may have lacked memory */
    if (rk != NULL)
        rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                               RD_KAFKA_PURGE_F_NON_BLOCKING);
    if ((rk != NULL && rd_kafka_outq_len(rk) > 0) || p->failed_n > 0 || producer_holds(p, true))
        return;
    if (apart(p)->phase == PHASE_OPEN)
        producer_turn_renew(p, APART);
    p->txn.apart_given_up = false;
    p->config.apart_restarted(p->config.ctx);
}
