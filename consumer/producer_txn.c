/* SPDX-License-Identifier: Apache-2.0 */
/* The transactional producer: its phases, and how each ends. */
#include "bridge/clock.h"
#include "bridge/log.h"
#include "consumer/producer_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { START_AGAIN_MS = 1000 };
/* For so long a killed process stands in the way of its successor. */

static rd_kafka_t *handle(const struct producer *p)
{
    return p->clients[DELIVERIES].rk;
}

/* The transaction's requests; one that failed here may have been received all the same, or will be.
 */
static rd_kafka_resp_err_t on_response(rd_kafka_t *rk, int fd, const char *broker, int32_t id,
                                       int16_t api, int16_t version, int32_t correlation,
                                       size_t size, int64_t rtt, rd_kafka_resp_err_t err,
                                       void *opaque)
{
    enum { PRODUCE = 0, ADD_PARTITIONS = 24, ADD_OFFSETS = 25, END = 26, OFFSETS = 28 };
    (void)rk, (void)fd, (void)broker, (void)id, (void)version, (void)correlation, (void)size,
        (void)rtt;
    struct producer_txn *t = opaque;
    if (err != 0 && (api == PRODUCE || api == ADD_PARTITIONS || api == ADD_OFFSETS || api == END ||
                     api == OFFSETS))
        atomic_store(&t->tainted, true);
    return 0;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque,
                                  char *error, size_t error_size)
{
    (void)conf, (void)error, (void)error_size;
    return rd_kafka_interceptor_add_on_response_received(rk, "delaybridge", on_response, opaque);
}

int producer_txn_configure(struct producer *p, rd_kafka_conf_t *conf, char error[CLIENT_ERROR_MAX])
{
    rd_kafka_conf_interceptor_add_on_new(conf, "delaybridge", on_new, &p->txn);
    return client_transactional(conf, p->config.transactional_id, error);
}

static void set_ready(struct producer *p)
{
    p->txn.phase = PHASE_READY;
    p->txn.failing = false;
}

/* The last one goes, with all that hangs on it, and its successor starts. What it could be made of
   at the start may be missing now: memory, a file with a certificate. */
static void renew(struct producer *p)
{
    char error[CLIENT_ERROR_MAX];
    struct client fresh;
    p->txn.phase = PHASE_STARTING;
    if (producer_client_make(p, DELIVERIES, &fresh, error) != 0) {
        producer_log_failure("cannot make a producer: trying on", error);
        p->txn.again_ms = clock_mono_ms() + START_AGAIN_MS;
        return;
    }
    producer_own_topics_close(p);
    producer_client_stop(p, DELIVERIES);
    p->clients[DELIVERIES] = fresh;
    producer_own_topics_open(p);
    atomic_store(&p->txn.tainted, false);
    p->txn.again_ms = 0;
    committer_init(p->txn.committer, handle(p));
}

int producer_txn_start(struct producer *p)
{
    p->txn.committer = committer_new(p->config.bell);
    if (p->txn.committer == NULL)
        return ERR_NO_MEMORY;
    p->txn.phase = PHASE_STARTING;
    committer_init(p->txn.committer, handle(p));
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
    bool freed = p->txn.committer == NULL || committer_free(p->txn.committer);
    p->txn.committer = NULL;
    drop_offsets(&p->txn);
    return freed;
}

/* A record, or the topic that it is for: another try would end the same way. */
static bool is_of_records(rd_kafka_resp_err_t err)
{
    switch (err) {
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
        return true;
    default:
        return false;
    }
}

static bool is_purged(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__PURGE_QUEUE || err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT ||
           err == RD_KAFKA_RESP_ERR__STATE;
}

void producer_txn_fail(struct producer *p, rd_kafka_resp_err_t err, const char *why)
{
    struct producer_txn *t = &p->txn;
    bool first = !t->failing;
    if (first) {
        t->failing = true;
        t->blame = BLAME_NOBODY;
        t->why[0] = '\0';
    }
    if (is_of_records(err))
        t->blame = BLAME_RECORDS;
    if (t->why[0] == '\0' && !is_purged(err))
        snprintf(t->why, sizeof t->why, "%s%s", why,
                 err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ? ": allow Write on the topic"
                                                                     : "");
}

int producer_txn_enter(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    if (t->phase == PHASE_OPEN && !t->failing)
        return 0;
    if (t->phase != PHASE_READY || t->giving_up)
        return ERR_FULL;
    rd_kafka_error_t *error = rd_kafka_begin_transaction(handle(p));
    t->phase = PHASE_OPEN;
    if (error == NULL)
        return 0;
    producer_txn_fail(p, rd_kafka_error_code(error), rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return ERR_FULL;
}

/* What was purged says no more than that; the client still knows why. */
static void ask_why(struct producer *p)
{
    rd_kafka_error_t *error = rd_kafka_begin_transaction(handle(p));
    if (error == NULL)
        return;
    rd_kafka_resp_err_t err = rd_kafka_error_code(error);
    if (err != RD_KAFKA_RESP_ERR__STATE)
        producer_txn_fail(p, err, rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
}

static void purge(struct producer *p)
{
    rd_kafka_purge(handle(p), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                  RD_KAFKA_PURGE_F_NON_BLOCKING);
    p->txn.phase = PHASE_PURGING;
}

static void serve_purged(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    if (rd_kafka_outq_len(handle(p)) > 0 || p->failed_n > 0)
        return;
    ask_why(p);
    t->phase = PHASE_TORN;
    if (!t->giving_up)
        p->config.aborted(p->config.ctx, t->blame, t->why[0] == '\0' ? "purged" : t->why);
}

static void serve_torn(struct producer *p)
{
    if (!p->txn.giving_up)
        return;
    if (atomic_load(
            &p->txn.tainted)) { /* what is still on the way may arrive after an abort's end */
        renew(p);
        return;
    }
    p->txn.phase = PHASE_ABORTING;
    committer_abort(p->txn.committer, handle(p));
}

static void serve_started(struct producer *p, const struct outcome *outcome)
{
    char quoted[CLIENT_ERROR_MAX];
    if (outcome->err == 0) {
        set_ready(p);
        return;
    }
    log_error(outcome->err == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                  ? "a transactional producer cannot start: allow Write on its transactional id"
                  : "a transactional producer cannot start: trying on",
              "id=%s error=%s text=%s", p->config.transactional_id, rd_kafka_err2name(outcome->err),
              log_quote(outcome->why, quoted, sizeof quoted));
    p->txn.again_ms = clock_mono_ms() + START_AGAIN_MS;
}

static void serve_committed(struct producer *p, const struct outcome *outcome)
{
    struct producer_txn *t = &p->txn;
    if (outcome->err != 0) {
        producer_txn_fail(p, outcome->err, outcome->why);
        purge(p);
        return;
    }
    set_ready(p);
    if (atomic_load(&t->tainted))
        renew(p);
    if (!t->giving_up)
        p->config.committed(p->config.ctx, t->seq);
}

static void serve_outcome(struct producer *p, const struct outcome *outcome)
{
    switch (p->txn.phase) {
    case PHASE_STARTING:
        serve_started(p, outcome);
        break;
    case PHASE_COMMITTING:
        serve_committed(p, outcome);
        break;
    default: /* given up or not, its successor fences it */
        renew(p);
        break;
    }
}

/* If it cannot be begun, or has failed, what is to come is aborted. */
static void start_commit(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    if (t->giving_up || producer_txn_enter(p) != 0) {
        drop_offsets(t);
        return;
    }
    t->phase = PHASE_COMMITTING;
    committer_commit(t->committer, handle(p), t->offsets, t->member);
    t->offsets = NULL;
}

static void refuse(struct producer *p)
{
    p->txn.refused = false;
    producer_txn_fail(p, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
                      "the lanes are not ours, or there is no memory");
    purge(p);
}

void producer_txn_serve(struct producer *p)
{
    struct producer_txn *t = &p->txn;
    struct outcome outcome;
    if (committer_ended(t->committer, &outcome))
        serve_outcome(p, &outcome);
    if (t->phase == PHASE_STARTING && t->again_ms != 0 && clock_mono_ms() >= t->again_ms)
        renew(p);
    if (t->phase == PHASE_READY && t->offsets != NULL)
        start_commit(p);
    if ((t->phase == PHASE_READY || t->phase == PHASE_OPEN) && t->refused && !t->giving_up)
        refuse(p);
    if (t->phase == PHASE_OPEN && (t->failing || t->giving_up))
        purge(p);
    if (t->phase == PHASE_PURGING)
        serve_purged(p);
    if (t->phase == PHASE_TORN)
        serve_torn(p);
    if (t->phase == PHASE_READY && t->giving_up) {
        t->giving_up = t->refused = false;
        p->config.restarted(p->config.ctx);
    }
}

void producer_commit(struct producer *p, uint64_t seq, rd_kafka_topic_partition_list_t *offsets,
                     rd_kafka_consumer_group_metadata_t *member)
{
    struct producer_txn *t = &p->txn;
    drop_offsets(t);
    t->seq = seq;
    t->offsets = offsets;
    t->member = member;
    t->refused = offsets == NULL;
    if (t->phase != PHASE_STARTING && !t->refused)
        start_commit(p);
    bell_ring(p->config.bell, BELL_REPORTS);
}

void producer_abort(struct producer *p)
{
    p->txn.giving_up = true;
    bell_ring(p->config.bell, BELL_REPORTS);
}
