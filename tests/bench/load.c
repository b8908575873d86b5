/* SPDX-License-Identifier: Apache-2.0 */
/* load: writes --count records of --size bytes to --topic, spread evenly over its partitions.
   --rate limits the records a second (0: no limit).

   --kind plain: without headers. headers: with --headers of them, as a delivered record has.
   request: for the schedule topic, to --target, with one user header. cancel: of the request with
   the same number, except for each number divisible by --skip. envelope: as the bridge writes
   records into a level, stamped at --stamp, with an optional --id. entry: as it writes cancels in
   force, of a cancel at offset 1. Requests and envelopes are due at --due, or --delay to
   --delay-max ms after their writing. The delays are random, but the same in each run.
   --prefix: the first letter of all keys. --key: the only key, which decides the partition.
   --orders 1: each value is the JSON text of a different order. Otherwise it repeats one byte.
   --seconds: ends after this time, even if records are missing. --linger: linger.ms of the client.
   Plain records at a rate use 0, since their lateness begins with their writing.
 */
#include "levels/cancel_log.h"
#include "levels/envelope.h"
#include "levels/murmur2.h"
#include "tests/bench/bench.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_MAX = 1 << 20, HEADERS = 8, STEP = 1024 };

enum kind { PLAIN, HEADED, REQUEST, CANCEL, ENVELOPE, ENTRY, KINDS };

struct load {
    rd_kafka_t *rk;
    rd_kafka_topic_t *topic;
    enum kind kind;
    const char *target, *id, *prefix, *key;
    int64_t skip, count, rate, for_us, due_ms, delay_ms, delay_max_ms, stamp_ms;
    size_t size;
    int partitions, headers;
    bool orders;
    char body[BODY_MAX], envelope[BODY_MAX];
};

static int64_t acked, failed;

static void reported(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk, (void)opaque;
    acked += message->err == 0;
    failed += message->err != 0;
}

/* Mixes bits as the last steps of splitmix64 do (Vigna). */
static uint64_t mixed(uint64_t n)
{
    n = (n + 1) * 0x9e3779b97f4a7c15;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
    n = (n ^ n >> 27) * 0x94d049bb133111eb;
    return n ^ n >> 31;
}

static int64_t due_of(const struct load *load, int64_t n)
{
    if (load->due_ms != 0)
        return load->due_ms;
    int64_t span_ms = load->delay_max_ms - load->delay_ms;
    int64_t more_ms = span_ms > 0 ? (int64_t)(mixed((uint64_t)n) % (uint64_t)span_ms) : 0;
    return wall_us() / 1000 + load->delay_ms + more_ms;
}

static rd_kafka_headers_t *request_headers(const struct load *load, int64_t due_ms)
{
    char due[24];
    rd_kafka_headers_t *headers = rd_kafka_headers_new(3);
    snprintf(due, sizeof due, "%" PRId64, due_ms);
    rd_kafka_header_add(headers, "dlb-deliver-at", -1, due, -1);
    rd_kafka_header_add(headers, "dlb-target", -1, load->target, -1);
    rd_kafka_header_add(headers, "order", -1, "0123456789", 10);
    return headers;
}

static rd_kafka_headers_t *cancel_headers(void)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(1);
    rd_kafka_header_add(headers, "dlb-op", -1, "cancel", -1);
    return headers;
}

static rd_kafka_headers_t *some_headers(const struct load *load)
{
    static const char *const names[HEADERS] = {"order", "dlb-due", "dlb-source", "dlb-id",
                                               "h4",    "h5",      "h6",         "h7"};
    rd_kafka_headers_t *headers = rd_kafka_headers_new((size_t)load->headers);
    for (int i = 0; i < load->headers; i++)
        rd_kafka_header_add(headers, names[i % HEADERS], -1, "0123456789012", 13);
    return headers;
}

static size_t enclose(struct load *load, int64_t due_ms, int64_t n)
{
    struct header business = {"order", bytes_of("0123456789", 10)};
    struct record record = {
        .value = bytes_of(load->body, load->size), .headers = &business, .headers_n = 1};
    struct stamp stamp = {.due_ms = due_ms,
                          .timestamp_ms = load->stamp_ms,
                          .expires_ms = STAMP_NEVER,
                          .origin_offset = n,
                          .origin_lane = (uint32_t)(n % load->partitions),
                          .id = load->id != NULL ? bytes_text(load->id) : bytes_null(),
                          .target = bytes_text(load->target)};
    size_t size = envelope_enclosed_size(&stamp, &record);
    if (size > sizeof load->envelope)
        abort();
    envelope_enclose(&stamp, &record, load->envelope);
    return size;
}

static size_t make_entry(struct load *load)
{
    int64_t now_ms = wall_us() / 1000;
    struct cancel_entry entry = {.kind = CANCEL_BY_KEY,
                                 .op = CANCEL_OP_CANCEL,
                                 .offset = 1,
                                 .timestamp_ms = now_ms,
                                 .in_force_ms = now_ms};
    return cancel_entry_encode(&entry, load->envelope);
}

/* Fills the body with text that compresses like business records. */
static void write_order(struct load *load, int64_t n)
{
    uint64_t random = mixed((uint64_t)n);
    size_t len =
        (size_t)snprintf(load->body, sizeof load->body,
                         "{\"order\":\"%016" PRIx64 "\",\"customer\":%u,\"currency\":\"EUR\","
                         "\"state\":\"UNPAID\",\"items\":[",
                         random, (unsigned)(random >> 40));
    while (len < load->size) {
        random = mixed(random);
        len += (size_t)snprintf(load->body + len, sizeof load->body - len,
                                "{\"sku\":\"%08x\",\"quantity\":%u,\"price\":\"%u.%02u\"},",
                                (unsigned)random, (unsigned)(random >> 60) + 1,
                                (unsigned)(random >> 48) % 900, (unsigned)(random >> 32) % 100);
    }
}

/* Returns the size of the value, which is in body or in envelope. */
static size_t make_value(struct load *load, int64_t n, void **value)
{
    *value = load->envelope;
    switch (load->kind) {
    case ENVELOPE:
        return enclose(load, due_of(load, n), n);
    case ENTRY:
        return make_entry(load);
    case CANCEL:
        return 0;
    case PLAIN:
    case HEADED:
    case REQUEST:
    case KINDS:
        break;
    }
    *value = load->body;
    return load->size;
}

static rd_kafka_headers_t *make_headers(const struct load *load, int64_t n)
{
    if (load->kind == REQUEST)
        return request_headers(load, due_of(load, n));
    if (load->kind == HEADED)
        return some_headers(load);
    return load->kind == CANCEL ? cancel_headers() : NULL;
}

static void write_one(struct load *load, int64_t n)
{
    if (load->orders)
        write_order(load, n);
    void *value;
    size_t size = make_value(load, n, &value);
    rd_kafka_headers_t *headers = make_headers(load, n);
    char key[16];
    size_t key_len =
        (size_t)snprintf(key, sizeof key, "%.1s%07" PRId64, load->prefix, n % 10000000);
    struct bytes of_record = load->key != NULL ? bytes_text(load->key) : bytes_of(key, key_len);
    int64_t partition =
        load->key != NULL ? murmur2_partition(of_record, load->partitions) : n % load->partitions;
    rd_kafka_vu_t fields[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = load->topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = (int32_t)partition},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)of_record.data, of_record.len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {value, size}},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = load->stamp_ms},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers}};
    rd_kafka_error_t *error;
    while ((error = rd_kafka_produceva(load->rk, fields, headers != NULL ? 7 : 6)) != NULL) {
        bool full = rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__QUEUE_FULL;
        if (!full)
            fprintf(stderr, "load: %s\n", rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
        if (!full)
            exit(70);
        rd_kafka_poll(load->rk, 5);
    }
}

/* Returns how many records should be written by now. */
static int64_t wanted(const struct load *load, int64_t elapsed_us)
{
    int64_t by_now = load->rate > 0 ? elapsed_us * load->rate / 1000000 + 1 : load->count;
    return by_now < load->count ? by_now : load->count;
}

static int64_t write_all(struct load *load)
{
    int64_t start_us = mono_us(), elapsed_us = 0, n = 0;
    while (n < load->count && elapsed_us < load->for_us) {
        int64_t ahead = wanted(load, elapsed_us);
        int64_t until = ahead < n + STEP ? ahead : n + STEP;
        for (; n < until; n++) {
            if (load->skip == 0 || n % load->skip != 0)
                write_one(load, n);
            if (n % 256 == 0)
                rd_kafka_poll(load->rk, 0);
        }
        rd_kafka_poll(load->rk, 0);
        if (n == ahead)
            poll(NULL, 0, 1);
        elapsed_us = mono_us() - start_us;
    }
    while (rd_kafka_flush(load->rk, 10000) != 0) {
    }
    return n;
}

static enum kind kind_of(const char *name)
{
    static const char *const names[KINDS] = {"plain",  "headers",  "request",
                                             "cancel", "envelope", "entry"};
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(names[i], name) == 0)
            return (enum kind)i;
    }
    fprintf(stderr, "load: no kind '%s'\n", name);
    exit(64);
}

static int64_t skipped(const struct load *load, int64_t offered)
{
    return load->skip == 0 ? 0 : (offered + load->skip - 1) / load->skip;
}

int bench_load(void)
{
    static struct load load;
    load = (struct load){.kind = kind_of(option("kind", "plain")),
                         .target = option("target", "bench.target"),
                         .id = option("id", NULL),
                         .prefix = option("prefix", "k"),
                         .key = option("key", NULL),
                         .skip = option_int("skip", 0),
                         .count = option_int("count", 1000),
                         .rate = option_int("rate", 0),
                         .for_us = option_int("seconds", 3600) * 1000000,
                         .due_ms = option_int("due", 0),
                         .delay_ms = option_int("delay", 0),
                         .delay_max_ms = option_int("delay-max", 0),
                         .stamp_ms = option_int("stamp", 0),
                         .size = (size_t)option_int("size", 100),
                         .headers = (int)option_int("headers", 1),
                         .orders = option_int("orders", 0) != 0};
    const char *const settings[] = {
        "enable.idempotence", /* idempotent, the client's thread may spin (consumer/outbox.h) */
        "false",
        "acks",
        "all",
        "linger.ms",
        option("linger", load.rate > 0 && load.kind == PLAIN ? "0" : "5"),
        "queue.buffering.max.messages",
        "400000",
        "batch.size",
        option("batch", "65536"),
        NULL};
    load.rk = client(RD_KAFKA_PRODUCER, reported, settings);
    memset(load.body, 'x', sizeof load.body);
    if (load.size + 256 > sizeof load.body)
        abort();
    const char *name = option("topic", "schedule");
    rd_kafka_topic_partition_list_t *list = partitions_of(load.rk, name, 0);
    load.partitions = list->cnt;
    rd_kafka_topic_partition_list_destroy(list);
    load.topic = rd_kafka_topic_new(load.rk, name, NULL);
    int64_t start_us = mono_us();
    int64_t offered = write_all(&load);
    double seconds = (double)(mono_us() - start_us) / 1e6;
    printf("{\"written\": %" PRId64 ", \"failed\": %" PRId64 ", \"seconds\": %.3f}\n", acked,
           failed, seconds);
    rd_kafka_topic_destroy(load.topic);
    rd_kafka_destroy(load.rk);
    return acked == offered - skipped(&load, offered) ? 0 : 1;
}
