/* SPDX-License-Identifier: Apache-2.0 */
/* read: reads --topic from its end (--begin 1: from its beginning) until --count records have come.
   Ends also after --idle seconds without a record (--lead seconds before the first one). Prints
   their lateness after dlb-due, or after their timestamp if that header is missing. Prints "ready"
   at the start.
   --settle MS: records due in this first time do not count, since clients connect then. "settling"
   is the largest lateness of them.

   --calm MS: "calm" is the wall clock in ms from which on at most 1 % of each second's records were
   later than this.
   --order 1: "distinct" is the number of requests by dlb-source. --count of them are awaited,
   within twice as many records. "inverted" is the difference of due times when a record came
   after a later one of its lane. */
#include "levels/cancel_log.h"
#include "tests/bench/bench.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 10000, WAIT_MS = 50, TRIES = 50, TRY_MS = 100, SECONDS_MAX = 3600 };
enum { LANES_MAX = 64, PARTITIONS_MAX = 64, REQUESTS_MAX = 1 << 24, TEXT_MAX = 300 };

/* The records of a lane in each partition of the target, in the order of the log. */
struct lane {
    uint64_t requests[REQUESTS_MAX / 64]; /* a bit for each offset on the schedule topic */
    int64_t due_max_us[PARTITIONS_MAX];
};

struct seen {
    int64_t n, early, first_us, last_us, due_min_us, distinct;
    int64_t late_n, settle_us, settled_us; /* records due after settled_us count */
    int64_t settling_us;                   /* largest lateness before settled_us */
    int32_t *late_us, *inverted_us;        /* inverted_us is NULL without --order */
    bool entries;
    int64_t calm_us, second[SECONDS_MAX], late_in[SECONDS_MAX];
    struct lane *lanes[LANES_MAX];
};

static bool header(const rd_kafka_message_t *message, const char *name, char text[TEXT_MAX])
{
    rd_kafka_headers_t *headers;
    const void *value;
    size_t len;
    if (rd_kafka_message_headers(message, &headers) != 0 ||
        rd_kafka_header_get_last(headers, name, &value, &len) != 0)
        return false;
    snprintf(text, TEXT_MAX, "%.*s", (int)len, (const char *)value);
    return true;
}

static int64_t due_us_of(const struct seen *seen, const rd_kafka_message_t *message)
{
    char text[TEXT_MAX];
    struct cancel_decoded cancel;
    if (seen->entries &&
        cancel_record_decode(bytes_of(message->payload, message->len), &cancel) == 0 &&
        cancel.type == CANCEL_RECORD_ENTRY)
        return cancel.is.entry.timestamp_ms * 1000;
    if (!header(message, "dlb-due", text))
        return rd_kafka_message_timestamp(message, NULL) * 1000;
    return strtoll(text, NULL, 10) * 1000;
}

/* Returns by how much an earlier record of the lane was due later than this one. */
static int64_t inversion_us(struct seen *seen, const rd_kafka_message_t *message, int64_t due_us)
{
    char text[TEXT_MAX] = "";
    header(message, "dlb-source", text);
    char *slash = strchr(text, '/');
    long lane = slash != NULL ? strtol(slash + 1, &slash, 10) : -1;
    long offset = slash != NULL ? strtol(slash + 1, NULL, 10) : -1;
    if (lane < 0 || lane >= LANES_MAX || offset < 0 || offset >= REQUESTS_MAX ||
        message->partition >= PARTITIONS_MAX)
        exit(65);
    if (seen->lanes[lane] == NULL)
        seen->lanes[lane] = calloc(1, sizeof *seen->lanes[lane]);
    if (seen->lanes[lane] == NULL)
        exit(70);
    uint64_t *bits = &seen->lanes[lane]->requests[offset / 64], bit = (uint64_t)1 << offset % 64;
    seen->distinct += (*bits & bit) == 0;
    *bits |= bit;
    int64_t *due_max_us = &seen->lanes[lane]->due_max_us[message->partition];
    if (due_us >= *due_max_us) {
        *due_max_us = due_us;
        return 0;
    }
    return *due_max_us - due_us;
}

static int32_t narrow(int64_t us)
{
    return us < INT32_MAX ? (int32_t)us : INT32_MAX;
}

static void see(struct seen *seen, const rd_kafka_message_t *message, int64_t now_us)
{
    int64_t due_us = due_us_of(seen, message);
    int64_t late_us = now_us - due_us;
    if (seen->n == 0) {
        seen->first_us = now_us;
        seen->settled_us = due_us + seen->settle_us;
    }
    if (seen->n == 0 || due_us < seen->due_min_us)
        seen->due_min_us = due_us;
    seen->last_us = now_us;
    seen->early += late_us < 0;
    int64_t second = (now_us - seen->first_us) / 1000000;
    if (second < SECONDS_MAX) {
        seen->second[second]++;
        seen->late_in[second] += late_us > seen->calm_us;
    }
    if (seen->inverted_us != NULL)
        seen->inverted_us[seen->n] = narrow(inversion_us(seen, message, due_us));
    if (due_us >= seen->settled_us || seen->settle_us == 0)
        seen->late_us[seen->late_n++] = narrow(late_us);
    else if (late_us > seen->settling_us)
        seen->settling_us = late_us;
    seen->n++;
}

static int by_size(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static double quantile_ms(const struct seen *seen, double q)
{
    int64_t i = (int64_t)(q * (double)(seen->late_n - 1));
    return seen->late_n == 0 ? 0 : seen->late_us[i] / 1000.0;
}

static int64_t calm_ms(const struct seen *seen)
{
    int64_t calm = 0;
    for (int64_t i = 0; i < SECONDS_MAX; i++)
        calm = seen->late_in[i] * 100 > seen->second[i] ? i + 1 : calm;
    return seen->first_us / 1000 + calm * 1000;
}

static void say_order(struct seen *seen)
{
    int64_t last = seen->n > 0 ? seen->n - 1 : 0, most_of = last * 99 / 100;
    qsort(seen->inverted_us, (size_t)seen->n, sizeof *seen->inverted_us, by_size);
    printf(", \"distinct\": %" PRId64 ", \"inverted\": {\"p99\": %.2f, \"max\": %.2f}",
           seen->distinct, seen->inverted_us[most_of] / 1000.0, seen->inverted_us[last] / 1000.0);
}

static void say(struct seen *seen)
{
    qsort(seen->late_us, (size_t)seen->late_n, sizeof *seen->late_us, by_size);
    double seconds = (double)(seen->last_us - seen->first_us) / 1e6;
    printf("{\"seen\": %" PRId64 ", \"early\": %" PRId64
           ", \"p50\": %.2f, \"p99\": %.2f, \"p999\": %.2f, \"max\": %.2f, \"first\": %.2f, "
           "\"last\": %.2f, \"per_second\": %.0f, \"settling\": %.2f, \"calm\": %" PRId64,
           seen->n, seen->early, quantile_ms(seen, .5), quantile_ms(seen, .99),
           quantile_ms(seen, .999), quantile_ms(seen, 1),
           (double)(seen->first_us - seen->due_min_us) / 1000,
           (double)(seen->last_us - seen->due_min_us) / 1000,
           seconds > 0 ? (double)seen->n / seconds : 0, (double)seen->settling_us / 1000,
           calm_ms(seen));
    if (seen->inverted_us != NULL)
        say_order(seen);
    puts("}");
}

static bool begin(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list)
{
    if (option_int("begin", 0) != 0)
        return rd_kafka_assign(rk, list) == 0;
    for (int i = 0; i < list->cnt; i++) {
        int64_t low;
        rd_kafka_topic_partition_t *p = &list->elems[i];
        int tries = TRIES; /* a new topic has no leader at first */
        while (rd_kafka_query_watermark_offsets(rk, p->topic, p->partition, &low, &p->offset,
                                                10000) != 0) {
            if (--tries == 0)
                return false;
            poll(NULL, 0, TRY_MS);
        }
    }
    return rd_kafka_assign(rk, list) == 0;
}

int bench_read(void)
{
    static const char *const settings[] = {"group.id",
                                           "bench.read",
                                           "enable.auto.commit",
                                           "false",
                                           "fetch.wait.max.ms",
                                           "100",
                                           "queued.min.messages",
                                           "100000",
                                           NULL};
    static rd_kafka_message_t *batch[BATCH];
    int64_t count = option_int("count", 1000), idle_us = option_int("idle", 10) * 1000000;
    static struct seen seen;
    bool order = option_int("order", 0) != 0;
    int64_t room = order ? 2 * count : count, *reached = order ? &seen.distinct : &seen.n;
    seen.late_us = calloc((size_t)room, sizeof(int32_t));
    seen.inverted_us = order ? calloc((size_t)room, sizeof(int32_t)) : NULL;
    seen.entries = option_int("entries", 0) != 0;
    seen.calm_us = option_int("calm", 100) * 1000;
    seen.settle_us = option_int("settle", 0) * 1000;
    rd_kafka_t *rk = client(RD_KAFKA_CONSUMER, NULL, settings);
    rd_kafka_poll_set_consumer(rk);
    rd_kafka_topic_partition_list_t *list = partitions_of(rk, option("topic", NULL), 0);
    if (seen.late_us == NULL || (order && seen.inverted_us == NULL) || !begin(rk, list))
        return 70;
    puts("ready");
    fflush(stdout);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(rk);
    int64_t heard_us = mono_us() + option_int("lead", 0) * 1000000;
    while (*reached < count && mono_us() - heard_us < idle_us) {
        ssize_t n = rd_kafka_consume_batch_queue(queue, 0, batch, BATCH);
        if (n <= 0) {
            batch[0] = rd_kafka_consume_queue(queue, WAIT_MS);
            n = batch[0] != NULL;
        }
        int64_t now_us = wall_us();
        for (ssize_t i = 0; i < n; i++) {
            if (batch[i]->err == 0 && *reached < count && seen.n < room)
                see(&seen, batch[i], now_us);
            rd_kafka_message_destroy(batch[i]);
        }
        if (n > 0)
            heard_us = mono_us();
    }
    say(&seen);
    fflush(stdout);
    _Exit(*reached == count && seen.early == 0 ? 0 : 1);
}
