/* SPDX-License-Identifier: Apache-2.0 */
/* The transactional clients: which of them begins the next transaction, and how many there are.

   FIRST and SECOND take turns. Brokers complete a transaction only when each of its partitions has
   a leader, and until then its client can begin no other transaction. THIRD and FOURTH have
   separate transactional ids. They are started when a client waits for brokers for HELD_MS, and
   take its place. This is safe: the transaction that is left was decided, or its offsets are
   pending. In both cases Kafka returns committed offsets only after the decision. */
#include "bridge/base/clock.h"
#include "bridge/base/limit.h"
#include "bridge/base/log.h"
#include "consumer/client/client_log.h"
#include "consumer/producer_parts.h"

#include <pthread.h>
#include <stdio.h>

enum { START_AGAIN_MS = 1000, SLOW_MS = 10000, HELD_MS = 3000, REGISTER_MS = 500, WANTED = 2 };

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

struct producer_turn *producer_turn_of(struct producer *p, enum role role)
{
    return &p->txn.turns[role - FIRST];
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
    bool of_offsets = api == ADD_OFFSETS || api == END || api == OFFSETS;
    if (err != 0 && of_offsets)
        atomic_store(&turn->offsets_tainted, true);
    if (err != 0 && (of_offsets || api == PRODUCE || api == ADD_PARTITIONS))
        atomic_store(&turn->tainted, true);
    if (err == 0 && api == PRODUCE)
        atomic_store(&turn->produced, true);
    if (err == 0 && api == ADD_PARTITIONS)
        atomic_store(&turn->registered_mono_ms, clock_mono_ms());
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
    static const char *const ends[TURNS] = {"", ":2", ":3", ":4"};
    struct producer_turn *turn = producer_turn_of(p, role);
    snprintf(turn->id, sizeof turn->id, "%s%s", p->config.transactional_id, ends[role - FIRST]);
    rd_kafka_conf_interceptor_add_on_new(conf, "delaybridge", on_new, turn);
    return client_transactional(conf, turn->id, error);
}

/* Starts a client. Its creation can fail even though start-up succeeded: out of memory, certificate
   file removed. */
void producer_turn_start(struct producer *p, enum role role)
{
    struct error error;
    struct producer_turn *turn = producer_turn_of(p, role);
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

void producer_turn_renew(struct producer *p, enum role role)
{
    struct producer_turn *turn = producer_turn_of(p, role);
    bool tainted = atomic_load(&turn->tainted) || turn->phase == PHASE_LEFT;
    turn->phase = PHASE_CLOSING;
    txn_calls_destroy(turn->calls, producer_client_leave(p, role), tainted);
}

void producer_turn_retry(struct producer *p, enum role role)
{
    struct producer_turn *turn = producer_turn_of(p, role);
    if (turn->phase != PHASE_STARTING || turn->retry_mono_ms == 0 ||
        clock_mono_ms() < turn->retry_mono_ms)
        return;
    if (p->clients[role].rk != NULL)
        producer_turn_renew(p, role);
    else
        producer_turn_start(p, role);
}

void producer_turn_failed_to_start(struct producer_turn *turn, const struct outcome *outcome)
{
    log_error("transactional producer cannot start, trying again: run 'delaybridge check'",
              F_TEXT("id", turn->id), F_TEXT("error", rd_kafka_err2name(outcome->err)),
              F_TEXT("reason", outcome->why),
              F_HINT(outcome->err == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                         ? "allow Write on its transactional id"
                         : NULL));
    turn->retry_mono_ms = clock_mono_ms() + START_AGAIN_MS;
}

int producer_txn_start(struct producer *p)
{
    p->txn.turn = FIRST;
    for (enum role role = FIRST; role < FIRST + WANTED; role++) {
        producer_turn_of(p, role)->calls = txn_calls_new(p->config.wakeup);
        if (producer_turn_of(p, role)->calls == NULL)
            return ERR_NO_MEMORY;
    }
    for (enum role role = FIRST; role < FIRST + WANTED; role++)
        producer_turn_start(p, role);
    return 0;
}

/* Returns a client other than the current one that can begin a transaction, or ROLES: none. */
static enum role ready_other(struct producer *p)
{
    enum role role = FIRST;
    while (role < ROLES && (role == p->txn.turn || producer_turn_of(p, role)->phase != PHASE_READY))
        role++;
    return role;
}

void producer_turn_pass(struct producer *p)
{
    enum role role = ready_other(p);
    if (!p->txn.stays && role != ROLES)
        p->txn.turn = role;
}

void producer_turn_choose(struct producer *p)
{
    enum txn_phase phase = producer_turn_of(p, p->txn.turn)->phase;
    if (phase == PHASE_STARTING || phase == PHASE_LEFT || phase == PHASE_CLOSING)
        producer_turn_pass(p);
}

/* A client is replaced within a second, unless brokers hold its last transaction. */
static bool is_held(const struct producer_turn *turn)
{
    bool waits = turn->phase == PHASE_STARTING || turn->phase == PHASE_CLOSING;
    return turn->phase == PHASE_LEFT || (waits && txn_calls_running_ms(turn->calls) >= HELD_MS);
}

/* Returns whether Kafka is away, or was a moment ago. Another client would wait as well. */
static bool is_away(struct producer_txn *txn)
{
    int64_t now_mono_ms = clock_mono_ms();
    if (client_log_away_since_mono_ms() != 0)
        txn->away_mono_ms = now_mono_ms;
    return txn->away_mono_ms != 0 && now_mono_ms - txn->away_mono_ms < HELD_MS;
}

void producer_turns_replace_held(struct producer *p)
{
    if (is_away(&p->txn))
        return;
    int usable = 0;
    enum role unused = ROLES;
    for (enum role role = FOURTH; role >= FIRST; role--) {
        bool off = producer_turn_of(p, role)->phase == PHASE_OFF;
        unused = off ? role : unused;
        usable += !off && !is_held(producer_turn_of(p, role));
    }
    if (usable >= WANTED || unused == ROLES)
        return;
    struct producer_turn *turn = producer_turn_of(p, unused);
    if (turn->calls == NULL)
        turn->calls = txn_calls_new(p->config.wakeup);
    if (turn->calls == NULL)
        return; /* out of memory: tried again in the next turn */
    producer_turn_start(p, unused);
    uint64_t suppressed;
    if (may_pass("held", &suppressed))
        log_warn("brokers hold a transactional producer, starting another one: run "
                 "kafka-topics.sh --describe --unavailable-partitions",
                 F_TEXT("id", turn->id), F_NONZERO("suppressed", suppressed));
}

void producer_turn_begins(struct producer_turn *turn)
{
    turn->begun_mono_ms = clock_mono_ms();
    atomic_store(&turn->produced, false);
    atomic_store(&turn->registered_mono_ms, 0);
}

/* The coordinator refuses each partition while the last transaction of the same id is incomplete,
   and the client repeats its request. */
bool producer_turn_is_refused(struct producer_turn *turn)
{
    int64_t now_mono_ms = clock_mono_ms();
    return now_mono_ms - turn->begun_mono_ms >= HELD_MS && !atomic_load(&turn->produced) &&
           now_mono_ms - atomic_load(&turn->registered_mono_ms) < REGISTER_MS;
}

/* Transactions of the other clients may have the same partition, so these clients are recreated
   before they are used. */
void producer_turn_leave(struct producer *p)
{
    producer_turn_of(p, p->txn.turn)->phase = PHASE_LEFT;
    p->txn.sending = false;
    for (enum role role = FIRST; role < ROLES; role++) {
        if (producer_turn_of(p, role)->phase == PHASE_READY)
            producer_turn_renew(p, role);
    }
}

bool producer_turns_close(struct producer *p)
{
    for (enum role role = FIRST; role < ROLES; role++) {
        if (producer_turn_of(p, role)->phase == PHASE_CLOSING)
            return true;
    }
    return false;
}

/* A spare counts only while no client is held. Otherwise a record for a partition without a leader
   could take the last client that works. */
bool producer_has_spare(struct producer *p)
{
    for (enum role role = FIRST; role < ROLES; role++) {
        enum txn_phase phase = producer_turn_of(p, role)->phase;
        if (role != p->txn.turn && phase != PHASE_READY && phase != PHASE_OFF)
            return false;
    }
    return true;
}

/* Logs a call that lasts long. The call may wait for brokers indefinitely. */
void producer_turn_log_slow(struct producer_turn *turn)
{
    int64_t running_ms = txn_calls_running_ms(turn->calls);
    if (running_ms < turn->logged_ms)
        turn->logged_ms = 0;
    if (running_ms - turn->logged_ms < SLOW_MS)
        return;
    turn->logged_ms = running_ms;
    uint64_t suppressed;
    if (!may_pass(txn_calls_name(turn->calls), &suppressed))
        return;
    turn->slow_mono_ms = clock_mono_ms() - running_ms;
    log_warn("transactional producer waits for the brokers, records of its worker wait: run "
             "kafka-topics.sh --describe --unavailable-partitions",
             F_TEXT("id", turn->id), F_TEXT("call", txn_calls_name(turn->calls)),
             F_MS("waited_ms", running_ms), F_NONZERO("suppressed", suppressed));
}

/* Logs the end of a call that was logged as slow. A failure has another line. */
void producer_turn_log_ended(struct producer_turn *turn, const struct outcome *outcome)
{
    if (turn->slow_mono_ms != 0 && outcome->err == 0)
        log_info("brokers answered, transactional producer continues", F_TEXT("id", turn->id),
                 F_TEXT("call", txn_calls_name(turn->calls)),
                 F_MS("waited_ms", clock_mono_ms() - turn->slow_mono_ms));
    turn->slow_mono_ms = 0;
}
