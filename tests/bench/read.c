/* SPDX-License-Identifier: Apache-2.0 */
/* read: reads --topic from now on until --count records came, or none for --idle seconds, and says
   how late they were here: after dlb-due, or (without that header) after their own timestamp. Says
   "ready" when it has begun. */
#include "tests/bench/bench.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 10000, WAIT_MS = 50, TRIES = 50, TRY_MS = 100 };

struct seen {
    int64_t n, early, first_us, last_us, due_min_us;
    int32_t *late_us;
};

static int64_t due_us_of(const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers;
    const void *value;
    size_t len;
    char text[32];
    if (rd_kafka_message_headers(message, &headers) != 0 ||
        rd_kafka_header_get_last(headers, "dlb-due", &value, &len) != 0)
        return rd_kafka_message_timestamp(message, NULL) * 1000;
    snprintf(text, sizeof text, "%.*s", (int)len, (const char *)value);
    return strtoll(text, NULL, 10) * 1000;
}

static void see(struct seen *seen, const rd_kafka_message_t *message, int64_t now_us)
{
    int64_t due_us = due_us_of(message);
    int64_t late_us = now_us - due_us;
    if (seen->n == 0)
        seen->first_us = now_us;
    if (seen->n == 0 || due_us < seen->due_min_us)
        seen->due_min_us = due_us;
    seen->last_us = now_us;
    seen->early += late_us < 0;
    seen->late_us[seen->n++] = late_us < INT32_MAX ? (int32_t)late_us : INT32_MAX;
}

static int by_size(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static double quantile_ms(const struct seen *seen, double q)
{
    int64_t i = (int64_t)(q * (double)(seen->n - 1));
    return seen->n == 0 ? 0 : seen->late_us[i] / 1000.0;
}

static void say(struct seen *seen)
{
    qsort(seen->late_us, (size_t)seen->n, sizeof *seen->late_us, by_size);
    double seconds = (double)(seen->last_us - seen->first_us) / 1e6;
    printf("{\"seen\": %" PRId64 ", \"early\": %" PRId64
           ", \"p50\": %.2f, \"p99\": %.2f, \"p999\": %.2f, \"max\": %.2f, \"first\": %.2f, "
           "\"last\": %.2f, \"per_second\": %.0f}\n",
           seen->n, seen->early, quantile_ms(seen, .5), quantile_ms(seen, .99),
           quantile_ms(seen, .999), quantile_ms(seen, 1),
           (double)(seen->first_us - seen->due_min_us) / 1000,
           (double)(seen->last_us - seen->due_min_us) / 1000,
           seconds > 0 ? (double)seen->n / seconds : 0);
}

static bool catch_up(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < list->cnt; i++) {
        int64_t low;
        rd_kafka_topic_partition_t *p = &list->elems[i];
        int tries = TRIES; /* a new topic has no leader for a while */
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
    struct seen seen = {.late_us = calloc((size_t)count, sizeof(int32_t))};
    rd_kafka_t *rk = client(RD_KAFKA_CONSUMER, NULL, settings);
    rd_kafka_poll_set_consumer(rk);
    rd_kafka_topic_partition_list_t *list = partitions_of(rk, option("topic", NULL), 0);
    if (seen.late_us == NULL || !catch_up(rk, list))
        return 70;
    puts("ready");
    fflush(stdout);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(rk);
    int64_t heard_us = mono_us();
    while (seen.n < count && mono_us() - heard_us < idle_us) {
        ssize_t n = rd_kafka_consume_batch_queue(queue, 0, batch, BATCH);
        if (n <= 0) {
            batch[0] = rd_kafka_consume_queue(queue, WAIT_MS);
            n = batch[0] != NULL;
        }
        int64_t now_us = wall_us();
        for (ssize_t i = 0; i < n; i++) {
            if (batch[i]->err == 0 && seen.n < count)
                see(&seen, batch[i], now_us);
            rd_kafka_message_destroy(batch[i]);
        }
        if (n > 0)
            heard_us = mono_us();
    }
    say(&seen);
    fflush(stdout);
    _Exit(seen.n == count && seen.early == 0 ? 0 : 1);
}
