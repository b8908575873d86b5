/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs, and the retries of calls whose errors are retriable. */
#include "consumer/txn_calls.h"

#include "bridge/base/clock.h"
#include "consumer/blocking_call.h"
#include "consumer/client/client.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAUSE_MS = 100, /* between two tries of a call */
    FREE_MS = 1000, /* how long txn_calls_free waits for the running job */
    /* Offsets in one request. The broker writes a request as one batch of at most 1 MB. */
    OFFSETS_MAX = 1000,
    TEXT_BYTES_MAX = 512 * 1024 /* metadata in one request */
};

enum job { JOB_NONE, JOB_INIT, JOB_SEND, JOB_COMMIT, JOB_DESTROY };

struct txn_calls {
    struct blocking_call *blocking_call;
    enum job job;
    int64_t begun_mono_ms; /* start of the running job */
    atomic_bool stop;
    bool tainted;
    rd_kafka_t *rk;
    rd_kafka_topic_partition_list_t *offsets;
    rd_kafka_consumer_group_metadata_t *member;
    struct outcome outcome;
};

void outcome_take(struct outcome *outcome, rd_kafka_error_t *error)
{
    *outcome = (struct outcome){0};
    if (error == NULL)
        return;
    outcome->err = rd_kafka_error_code(error);
    bool refused = outcome->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    snprintf(outcome->why, sizeof outcome->why, "%s%s", rd_kafka_error_string(error),
             refused ? ": allow Write on the topic" : "");
    rd_kafka_error_destroy(error);
}

/* Makes a call without a timeout, and repeats it while its error is retriable. With a timeout, a
   repeated commit could receive the answer to its first try. librdkafka 2.0.2 then fails an
   assertion and ends the process. */
static rd_kafka_error_t *call_on(struct txn_calls *c,
                                 rd_kafka_error_t *(*call)(rd_kafka_t *rk, int timeout_ms))
{
    rd_kafka_error_t *error;
    while ((error = call(c->rk, -1)) != NULL && rd_kafka_error_is_retriable(error) &&
           !atomic_load(&c->stop)) {
        rd_kafka_error_destroy(error);
        poll(NULL, 0, PAUSE_MS);
    }
    return error;
}

/* Moves the metadata instead of copying it, so that a lack of memory cannot drop it. */
static void list_add(rd_kafka_topic_partition_list_t *to, rd_kafka_topic_partition_t *from)
{
    rd_kafka_topic_partition_t *p =
        rd_kafka_topic_partition_list_add(to, from->topic, from->partition);
    p->offset = from->offset;
    p->metadata = from->metadata;
    p->metadata_size = from->metadata_size;
    from->metadata = NULL;
    from->metadata_size = 0;
}

/* Sends the offsets in as many requests as their size demands. */
static rd_kafka_error_t *send_all_offsets(struct txn_calls *c)
{
    rd_kafka_error_t *error = NULL;
    for (int i = 0; error == NULL && i < c->offsets->cnt;) {
        rd_kafka_topic_partition_list_t *part = rd_kafka_topic_partition_list_new(64);
        size_t bytes = 0;
        for (; i < c->offsets->cnt && part->cnt < OFFSETS_MAX && bytes < TEXT_BYTES_MAX; i++) {
            bytes += c->offsets->elems[i].metadata_size;
            list_add(part, &c->offsets->elems[i]);
        }
        error = rd_kafka_send_offsets_to_transaction(c->rk, part, c->member, -1);
        rd_kafka_topic_partition_list_destroy(part);
    }
    return error;
}

static rd_kafka_error_t *send_offsets(struct txn_calls *c)
{
    rd_kafka_error_t *error = send_all_offsets(c);
    rd_kafka_topic_partition_list_destroy(c->offsets);
    rd_kafka_consumer_group_metadata_destroy(c->member);
    return error;
}

static void work(void *arg)
{
    struct txn_calls *c = arg;
    switch (c->job) {
    case JOB_INIT:
        outcome_take(&c->outcome, call_on(c, rd_kafka_init_transactions));
        break;
    case JOB_SEND:
        outcome_take(&c->outcome, send_offsets(c));
        break;
    case JOB_COMMIT:
        outcome_take(&c->outcome, call_on(c, rd_kafka_commit_transaction));
        break;
    case JOB_DESTROY:
        if (c->rk != NULL)
            client_transactional_destroy(c->rk, c->tainted);
        outcome_take(&c->outcome, NULL);
        break;
    case JOB_NONE:
        break;
    }
}

struct txn_calls *txn_calls_new(struct wakeup *wakeup)
{
    struct txn_calls *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->blocking_call = blocking_call_new(wakeup);
    if (c->blocking_call != NULL)
        return c;
    free(c);
    return NULL;
}

bool txn_calls_free(struct txn_calls *c)
{
    atomic_store(&c->stop, true);
    if (!blocking_call_free(c->blocking_call, FREE_MS))
        return false;
    free(c);
    return true;
}

static void start(struct txn_calls *c, enum job job, rd_kafka_t *rk)
{
    c->rk = rk;
    c->job = job;
    c->begun_mono_ms = clock_mono_ms();
    blocking_call_begin(c->blocking_call, work, c);
}

void txn_calls_init(struct txn_calls *c, rd_kafka_t *rk)
{
    start(c, JOB_INIT, rk);
}

void txn_calls_destroy(struct txn_calls *c, rd_kafka_t *rk, bool tainted)
{
    c->tainted = tainted;
    start(c, JOB_DESTROY, rk);
}

void txn_calls_commit(struct txn_calls *c, rd_kafka_t *rk)
{
    start(c, JOB_COMMIT, rk);
}

void txn_calls_send(struct txn_calls *c, rd_kafka_t *rk, rd_kafka_topic_partition_list_t *offsets,
                    rd_kafka_consumer_group_metadata_t *member)
{
    c->offsets = offsets;
    c->member = member;
    start(c, JOB_SEND, rk);
}

int64_t txn_calls_running_ms(struct txn_calls *c)
{
    return blocking_call_is_over(c->blocking_call) ? 0 : clock_mono_ms() - c->begun_mono_ms;
}

bool txn_calls_ended(struct txn_calls *c, struct outcome *outcome)
{
    if (c->job == JOB_NONE || !blocking_call_is_over(c->blocking_call))
        return false;
    *outcome = c->outcome;
    c->job = JOB_NONE;
    return true;
}
