/* SPDX-License-Identifier: Apache-2.0 */
/* transactions: see transactions.h. */
#include "tests/bench/transactions.h"

#include "tests/bench/bench.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAITING_MAX = 10000, ABORTS_MAX = 100, RETRY_MS = 10, ABORT_MS = 500, OF_TRANSACTION = -1 };

struct waiting {
    rd_kafka_message_t *message;
    int64_t came_wall_ms;
};

struct batch {
    struct waiting records[WAITING_MAX];
    int n;
};

struct transactions {
    rd_kafka_t *producer;
    rd_kafka_topic_t *out;
    const char *out_name;
    rd_kafka_consumer_group_metadata_t *group;
    pthread_t thread;
    struct transactions_done done; /* written by the thread only */
    pthread_mutex_t lock;          /* for the members below */
    pthread_cond_t changed;
    struct batch *next; /* records of the next transaction */
    bool ended;         /* no more records come */
};

enum outcome { DONE, AGAIN, ABORT };

static _Noreturn void die(const char *step, const char *why)
{
    fprintf(stderr, "loop: %s failed, the loop ends: %s\n", step, why);
    _exit(70);
}

/* Returns what to do after a step. Ends the process if no other attempt can help. */
static enum outcome outcome_of(rd_kafka_error_t *error, const char *step)
{
    if (error == NULL)
        return DONE;
    enum outcome outcome = rd_kafka_error_txn_requires_abort(error) ? ABORT : AGAIN;
    if (outcome == AGAIN && !rd_kafka_error_is_retriable(error))
        die(step, rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return outcome;
}

/* The client wants a callback. Without one, each commit takes 10 ms longer. An error of a record
   makes the commit fail. */
static void reported(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk, (void)message, (void)opaque;
}

static rd_kafka_resp_err_t try_to_produce(struct transactions *t, const struct waiting *record)
{
    const rd_kafka_message_t *message = record->message;
    rd_kafka_headers_t *headers = NULL;
    if (rd_kafka_message_headers(message, &headers) == 0)
        headers = rd_kafka_headers_copy(headers); /* the record keeps its own for another attempt */
    rd_kafka_vu_t fields[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = t->out},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = message->partition},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {message->key, message->key_len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {message->payload, message->len}},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = record->came_wall_ms},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers}};
    rd_kafka_error_t *error = rd_kafka_produceva(t->producer, fields, headers != NULL ? 6 : 5);
    if (error == NULL)
        return 0;
    rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    if (headers != NULL)
        rd_kafka_headers_destroy(headers);
    return code;
}

/* Hands records to the client. If the transaction has failed, the client takes none, and the next
   step says so. */
static void produce(struct transactions *t, const struct batch *batch)
{
    for (int i = 0; i < batch->n; i++) {
        rd_kafka_resp_err_t err;
        while ((err = try_to_produce(t, &batch->records[i])) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            rd_kafka_poll(t->producer, RETRY_MS);
        if (err == RD_KAFKA_RESP_ERR__STATE)
            return;
        if (err != 0)
            die("produce", rd_kafka_err2str(err));
    }
}

/* Lists the offsets after the last record of each partition. */
static rd_kafka_topic_partition_list_t *offsets_after(const struct batch *batch)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(64);
    for (int i = 0; i < batch->n; i++) {
        const rd_kafka_message_t *message = batch->records[i].message;
        const char *topic = rd_kafka_topic_name(message->rkt);
        rd_kafka_topic_partition_t *place =
            rd_kafka_topic_partition_list_find(list, topic, message->partition);
        if (place == NULL)
            place = rd_kafka_topic_partition_list_add(list, topic, message->partition);
        place->offset = message->offset + 1;
    }
    return list;
}

static enum outcome send_offsets(struct transactions *t, const struct batch *batch)
{
    rd_kafka_topic_partition_list_t *offsets = offsets_after(batch);
    enum outcome outcome;
    do {
        outcome = outcome_of(
            rd_kafka_send_offsets_to_transaction(t->producer, offsets, t->group, OF_TRANSACTION),
            "send_offsets_to_transaction");
    } while (outcome == AGAIN);
    rd_kafka_topic_partition_list_destroy(offsets);
    return outcome;
}

static enum outcome commit(struct transactions *t)
{
    enum outcome outcome;
    do {
        outcome = outcome_of(rd_kafka_commit_transaction(t->producer, OF_TRANSACTION),
                             "commit_transaction");
    } while (outcome == AGAIN);
    return outcome;
}

static void open_client(struct transactions *t)
{
    const char *const settings[] = {"transactional.id",
                                    option("transactions", NULL),
                                    "transaction.timeout.ms",
                                    "10000",
                                    "message.timeout.ms",
                                    "8000",
                                    "linger.ms",
                                    "1",
                                    "retry.backoff.ms",
                                    "1",
                                    NULL};
    t->producer = client(RD_KAFKA_PRODUCER, reported, settings);
    t->out = rd_kafka_topic_new(t->producer, t->out_name, NULL);
    while (outcome_of(rd_kafka_init_transactions(t->producer, OF_TRANSACTION),
                      "init_transactions") != DONE)
        poll(NULL, 0, RETRY_MS);
}

/* Aborts the transaction. The client of librdkafka 2.0 may wait for the end of its next transaction
   without a limit, so a new one takes its place. Its initialization aborts an open transaction. */
static void abort_one(struct transactions *t)
{
    rd_kafka_error_t *error = rd_kafka_abort_transaction(t->producer, ABORT_MS);
    if (error != NULL)
        rd_kafka_error_destroy(error);
    rd_kafka_topic_destroy(t->out);
    rd_kafka_destroy(t->producer);
    open_client(t);
    t->done.aborted++;
}

/* Runs a transaction. Returns false if it was aborted, so that no record of it is visible. */
static bool transact(struct transactions *t, const struct batch *batch)
{
    while (outcome_of(rd_kafka_begin_transaction(t->producer), "begin_transaction") != DONE)
        poll(NULL, 0, RETRY_MS);
    produce(t, batch);
    if (send_offsets(t, batch) == DONE && commit(t) == DONE)
        return true;
    abort_one(t);
    return false;
}

/* Writes a batch until it is committed, and frees its records. */
static void write_batch(struct transactions *t, struct batch *batch)
{
    for (int aborts = 0; !transact(t, batch); poll(NULL, 0, RETRY_MS)) {
        if (++aborts == ABORTS_MAX)
            die("the same transaction", "it was aborted too often");
    }
    t->done.committed++;
    for (int i = 0; i < batch->n; i++)
        rd_kafka_message_destroy(batch->records[i].message);
    batch->n = 0;
}

/* Waits for records, and gives an empty batch for them. Returns NULL if all are written. */
static struct batch *take(struct transactions *t, struct batch *empty)
{
    pthread_mutex_lock(&t->lock);
    while (t->next->n == 0 && !t->ended)
        pthread_cond_wait(&t->changed, &t->lock);
    struct batch *taken = t->next->n > 0 ? t->next : NULL;
    if (taken != NULL)
        t->next = empty;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return taken;
}

static void *run(void *opaque)
{
    static struct batch second;
    struct transactions *t = opaque;
    struct batch *spare = &second, *taken;
    while ((taken = take(t, spare)) != NULL) {
        write_batch(t, taken);
        spare = taken;
    }
    return NULL;
}

struct transactions *transactions_start(rd_kafka_t *consumer, const char *out)
{
    static struct batch first;
    static struct transactions t = {
        .next = &first, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    t.out_name = out;
    t.group = rd_kafka_consumer_group_metadata(consumer);
    open_client(&t);
    if (pthread_create(&t.thread, NULL, run, &t) != 0)
        die("pthread_create", "no thread");
    return &t;
}

void transactions_add(struct transactions *t, rd_kafka_message_t *message)
{
    int64_t came_wall_ms = wall_us() / 1000;
    pthread_mutex_lock(&t->lock);
    while (t->next->n == WAITING_MAX)
        pthread_cond_wait(&t->changed, &t->lock);
    t->next->records[t->next->n++] = (struct waiting){message, came_wall_ms};
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

struct transactions_done transactions_finish(struct transactions *t)
{
    pthread_mutex_lock(&t->lock);
    t->ended = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    return t->done;
}
