/* SPDX-License-Identifier: Apache-2.0 */
/* loop: the limit to which the bridge is compared. It forwards --count records of --in to the same
   partitions of --out, and commits no offsets. It is as fast as the client allows. Each partition
   has a queue, and an empty topic (--idle) keeps a fetch in flight. It prefetches little, copies no
   value, passes headers on unchanged, and uses the bridge's allocator.
   --transactions ID: forwards exactly once, and commits offsets, with this transactional id
   (transactions.h). */
#include "tests/bench/bench.h"
#include "tests/bench/transactions.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LANES_MAX = 256, TURN = 256, WAIT_MS = 20 };

static const char *const reading[] = {"group.id",
                                      "bench.loop",
                                      "enable.auto.commit",
                                      "false",
                                      "enable.auto.offset.store",
                                      "false",
                                      "fetch.wait.max.ms",
                                      "10",
                                      "queued.min.messages",
                                      "2000",
                                      "queued.max.messages.kbytes",
                                      "1024",
                                      "fetch.message.max.bytes",
                                      "262144",
                                      NULL};
static const char *const writing[] = {"enable.idempotence",           "true",   "linger.ms", "5",
                                      "queue.buffering.max.messages", "200000", NULL};

struct loop {
    rd_kafka_t *consumer;
    rd_kafka_t *producer; /* NULL with --transactions */
    rd_kafka_topic_t *out;
    struct transactions *transactions; /* NULL without it */
    rd_kafka_queue_t *lanes[LANES_MAX];
    int lanes_n;
    int pipe[2];
    int64_t forwarded, wanted;
};

static int64_t failed;

static void reported(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk, (void)opaque;
    failed += message->err != 0;
    rd_kafka_message_destroy(message->_private);
}

static void assign(struct loop *loop)
{
    rd_kafka_topic_partition_list_t *list =
        partitions_of(loop->consumer, option("in", NULL), RD_KAFKA_OFFSET_BEGINNING);
    loop->lanes_n = list->cnt < LANES_MAX ? list->cnt : LANES_MAX;
    rd_kafka_topic_partition_list_t *idle = partitions_of(loop->consumer, option("idle", NULL), 0);
    for (int i = 0; i < idle->cnt; i++)
        rd_kafka_topic_partition_list_add(list, idle->elems[i].topic, i)->offset = 0;
    rd_kafka_topic_partition_list_destroy(idle);
    rd_kafka_assign(loop->consumer, list);
    for (uint8_t i = 0; i < loop->lanes_n; i++) {
        loop->lanes[i] = rd_kafka_queue_get_partition(loop->consumer, list->elems[i].topic,
                                                      list->elems[i].partition);
        rd_kafka_queue_forward(loop->lanes[i], NULL);
        rd_kafka_queue_io_event_enable(loop->lanes[i], loop->pipe[1], &i, sizeof i);
    }
    rd_kafka_topic_partition_list_destroy(list);
}

static void forward(struct loop *loop, rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers = NULL;
    rd_kafka_message_detach_headers(message, &headers);
    rd_kafka_vu_t fields[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = loop->out},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = message->partition},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {message->key, message->key_len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {message->payload, message->len}},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = message},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers}};
    rd_kafka_error_t *error;
    while ((error = rd_kafka_produceva(loop->producer, fields, headers != NULL ? 6 : 5)) != NULL) {
        rd_kafka_error_destroy(error);
        rd_kafka_poll(loop->producer, 5);
    }
    loop->forwarded++;
}

static void add(struct loop *loop, rd_kafka_message_t *message)
{
    transactions_add(loop->transactions, message);
    loop->forwarded++;
}

/* Forwards records of a lane. Returns false if it has no more; its queue then signals new ones. */
static bool serve(struct loop *loop, int lane)
{
    for (int n = 0; n < TURN; n++) {
        rd_kafka_message_t *message = rd_kafka_consume_queue(loop->lanes[lane], 0);
        if (message == NULL)
            return false;
        if (message->err != 0)
            rd_kafka_message_destroy(message);
        else if (loop->transactions != NULL)
            add(loop, message);
        else
            forward(loop, message);
    }
    return true;
}

static void run(struct loop *loop)
{
    bool active[LANES_MAX];
    uint8_t rang[1024];
    for (int i = 0; i < loop->lanes_n; i++)
        active[i] = true;
    while (loop->forwarded < loop->wanted) {
        bool more = false;
        for (int i = 0; i < loop->lanes_n; i++) {
            active[i] = active[i] && serve(loop, i);
            more |= active[i];
        }
        if (loop->producer != NULL)
            rd_kafka_poll(loop->producer, 0);
        struct pollfd wait = {.fd = loop->pipe[0], .events = POLLIN};
        if (poll(&wait, 1, more ? 0 : WAIT_MS) <= 0)
            continue;
        ssize_t n = read(loop->pipe[0], rang, sizeof rang);
        for (ssize_t i = 0; i < n; i++)
            active[rang[i]] = true;
    }
}

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void open_writer(struct loop *loop)
{
    const char *out = option("out", NULL);
    rd_kafka_topic_partition_list_destroy(partitions_of(loop->consumer, out, 0));
    if (option("transactions", NULL) != NULL) {
        loop->transactions = transactions_start(loop->consumer, out);
        return;
    }
    loop->producer = client(RD_KAFKA_PRODUCER, reported, writing);
    loop->out = rd_kafka_topic_new(loop->producer, out, NULL);
}

/* Waits until all records are written. Returns the numbers of transactions. */
static struct transactions_done finish(struct loop *loop)
{
    if (loop->transactions != NULL)
        return transactions_finish(loop->transactions);
    while (rd_kafka_flush(loop->producer, 10000) != 0) {
    }
    return (struct transactions_done){0, 0};
}

int bench_loop(void)
{
    static struct loop loop;
    loop.wanted = option_int("count", 1000);
    loop.consumer = client(RD_KAFKA_CONSUMER, NULL, reading);
    rd_kafka_poll_set_consumer(loop.consumer);
    open_writer(&loop);
    if (pipe(loop.pipe) != 0)
        return 70;
    assign(&loop);
    int64_t start_us = mono_us();
    run(&loop);
    struct transactions_done done = finish(&loop);
    printf("{\"forwarded\": %" PRId64 ", \"failed\": %" PRId64 ", \"committed\": %" PRId64
           ", \"aborted\": %" PRId64 ", \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n",
           loop.forwarded, failed, done.committed, done.aborted,
           (double)(mono_us() - start_us) / 1e6, cpu_seconds());
    fflush(stdout);
    _exit(failed == 0 ? 0 : 1); /* leaves fetched records to the end of the process */
}
