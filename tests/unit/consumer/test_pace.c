/* SPDX-License-Identifier: Apache-2.0 */
/* pace, against a broker that counts as Kafka does: the bytes of the last eleven seconds, and for
   how long it reads nothing after that. */
#include "consumer/pace.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    HOPS,
    DELIVERIES,
    PARTITIONS = 8,
    BYTES = 1000,
    ITEMS = 4096,
    RECORDS = 32768,
    WINDOW_S = 10,
    START_MS = 1000000
};

enum { LEAST = 32000, TIMEOUT_MS = 12000 };
static const struct pace_share shares[PACE_CLIENTS] = {
    {2, 2 * LEAST}, {8, LEAST}, {8, LEAST}, {8, LEAST}, {8, LEAST}};
/* Records in flight: one batch for each partition. Records that arrive meanwhile form the next
   batch. */
struct records {
    struct pace_item items[RECORDS];
    int n;
    int64_t first_ms; /* when the first record was sent */
};

struct partition {
    struct records held, batch;
};

static struct partition partitions[PARTITIONS];
static struct pace pace;
static struct pace_item items[ITEMS];
static int64_t now_ms;

static void begin(void)
{
    pace_init(&pace, shares);
    now_ms = START_MS;
    memset(partitions, 0, sizeof partitions);
}
TestSuite(pace, .init = begin);

static bool send(int client, int n)
{
    if (!pace_takes(&pace, client, BYTES, now_ms))
        return false;
    items[n] = (struct pace_item){.bytes = BYTES, .client = client};
    pace_sent(&pace, &items[n], now_ms);
    pace_check(&pace);
    return true;
}

/* Sends items, from number `from` on, until the pace stops it. */
static int send_all(int client, int from)
{
    int n = from;
    while (n < ITEMS && send(client, n))
        n++;
    return n - from;
}

static void answer(int from, int n)
{
    for (int i = from; i < from + n; i++)
        pace_answered(&pace, &items[i], true, now_ms);
    pace_check(&pace);
}

Test(pace, a_new_client_begins_with_little)
{
    cr_assert_eq(send_all(DELIVERIES, 0), LEAST / BYTES);
}

Test(pace, recent_acknowledgements_allow_more)
{
    int sent = 0, all = 0;
    for (int round = 0; round < 12; round++, now_ms += 5) {
        sent = send_all(DELIVERIES, all);
        answer(all, sent);
        all += sent;
    }
    cr_assert_gt(sent, LEAST / BYTES);
}

Test(pace, records_that_wait_for_a_leader_block_no_others)
{
    int stuck = send_all(DELIVERIES, 0);
    cr_assert_not(send(DELIVERIES, stuck));
    now_ms += 500;
    cr_assert(send(DELIVERIES, stuck));
}

Test(pace, one_client_does_not_block_others)
{
    int sent = send_all(HOPS, 0);
    cr_assert(send(DELIVERIES, sent));
}

Test(pace, a_record_of_any_size_is_sent_alone)
{
    cr_assert(pace_takes(&pace, DELIVERIES, 64 << 20, now_ms));
    send(DELIVERIES, 0);
    cr_assert_not(pace_takes(&pace, DELIVERIES, 64 << 20, now_ms));
}

Test(pace, nothing_is_sent_while_a_broker_reads_nothing)
{
    int sent = send_all(DELIVERIES, 0);
    answer(0, sent);
    pace_throttled(&pace, 3000, now_ms);
    now_ms += 2999;
    cr_assert_not(send(DELIVERIES, sent));
    cr_assert_not(send(HOPS, sent), "a quota of the user is of all clients");
    now_ms += 1;
    cr_assert(send(DELIVERIES, sent));
}

/* The quota of a broker. */
struct quota {
    int64_t bytes_per_s;
    int64_t took[WINDOW_S + 1]; /* bytes by second; Kafka's window has eleven samples */
    int64_t second;
    int64_t muted_until_ms;
};

static int64_t quota_take(struct quota *q, int64_t bytes)
{
    for (int64_t second = now_ms / 1000; q->second < second;
         q->took[q->second % (WINDOW_S + 1)] = 0)
        q->second++;
    q->took[q->second % (WINDOW_S + 1)] += bytes;
    int64_t sum = 0;
    for (int i = 0; i <= WINDOW_S; i++)
        sum += q->took[i];
    int64_t span_ms = WINDOW_S * 1000 + now_ms % 1000;
    int64_t over_ms = sum * 1000 / q->bytes_per_s - span_ms;
    return over_ms > 0 ? over_ms : 0;
}

struct run {
    int64_t answered;
    int64_t longest_ms; /* from sending to the answer */
};

/* Sends without end, to each partition in turn. */
static void fill(int *sent)
{
    while (pace_takes(&pace, DELIVERIES, BYTES, now_ms)) {
        struct records *held = &partitions[(*sent)++ % PARTITIONS].held;
        cr_assert_lt(held->n, RECORDS);
        if (held->n == 0)
            held->first_ms = now_ms;
        struct pace_item *item = &held->items[held->n++];
        *item = (struct pace_item){.bytes = BYTES, .client = DELIVERIES};
        pace_sent(&pace, item, now_ms);
    }
    for (int i = 0; i < PARTITIONS; i++) {
        struct partition *p = &partitions[i];
        if (p->batch.n > 0 || p->held.n == 0)
            continue;
        memcpy(p->batch.items, p->held.items, (size_t)p->held.n * sizeof *p->held.items);
        p->batch.n = p->held.n;
        p->batch.first_ms = p->held.first_ms;
        p->held.n = 0;
    }
}

/* Returns for how long the broker throttles. */
static int64_t take_batch(struct quota *q, struct records *batch, struct run *r)
{
    int64_t over_ms = quota_take(q, (int64_t)batch->n * BYTES);
    int64_t waited_ms = now_ms - batch->first_ms;
    r->longest_ms = waited_ms > r->longest_ms ? waited_ms : r->longest_ms;
    r->answered += batch->n;
    for (int i = 0; i < batch->n; i++)
        pace_answered(&pace, &batch->items[i], true, now_ms);
    batch->n = 0;
    if (over_ms > 0)
        pace_throttled(&pace, over_ms, now_ms);
    pace_check(&pace);
    return over_ms;
}

/* Runs a broker that takes one batch each millisecond, in order, and none while it throttles. */
static struct run run(struct quota *q, int64_t for_ms)
{
    struct run r = {0};
    int sent = 0, next = 0;
    for (int64_t end_ms = now_ms + for_ms; now_ms < end_ms; now_ms++) {
        fill(&sent);
        if (now_ms < q->muted_until_ms)
            continue;
        struct records *batch = &partitions[next++ % PARTITIONS].batch;
        if (batch->n > 0)
            q->muted_until_ms = now_ms + take_batch(q, batch, &r);
    }
    return r;
}

Test(pace, under_a_quota_records_are_late_and_none_times_out)
{
    for (int64_t rate = 25000; rate <= 3200000; rate *= 2) {
        begin();
        struct quota q = {.bytes_per_s = rate, .second = now_ms / 1000};
        struct run r = run(&q, 120 * 1000);
        int64_t share = r.answered * BYTES * 100 / (rate * 120);
        cr_expect_lt(r.longest_ms, TIMEOUT_MS, "%d ms at %d bytes a second", (int)r.longest_ms,
                     (int)rate);
        cr_expect_gt(share, 80, "%d %% of %d bytes a second", (int)share, (int)rate);
    }
}

Test(pace, removed_quota_is_forgotten)
{
    struct quota q = {.bytes_per_s = 30000, .second = now_ms / 1000};
    run(&q, 30 * 1000);
    q.bytes_per_s = 1 << 24;
    struct run r = run(&q, 100 * 1000);
    cr_expect_gt(r.answered * BYTES, 20 * 1000 * 1000);
}

/* A hop waits for a leader without end, and so may deliveries for many seconds. */
Test(pace, record_without_a_leader_does_not_stop_a_throttled_client)
{
    int stuck = send_all(HOPS, 0), good = send_all(DELIVERIES, stuck);
    answer(stuck, good);
    pace_throttled(&pace, 5000, now_ms);
    now_ms += 5000 + 2500;
    cr_assert(send(DELIVERIES, stuck), "a probe");
    answer(stuck, 1);
    struct quota q = {.bytes_per_s = 1 << 24, .second = now_ms / 1000};
    cr_expect_gt(run(&q, 10 * 1000).answered * BYTES, 100 * 1000);
    answer(0, stuck);
}

Test(pace, unread_records_count_after_throttling_of_any_length)
{
    int sent = send_all(DELIVERIES, 0);
    answer(0, 1);
    pace_throttled(&pace, 9000, now_ms);
    now_ms += 9000 + 500;
    cr_expect_not(send(DELIVERIES, sent));
}

Test(pace, many_records_without_a_leader_delay_others_by_seconds_only)
{
    int stuck = 0;
    for (int i = 0; i < 30; i++, now_ms += 100) {
        while (stuck < ITEMS - 1 && send(DELIVERIES, stuck))
            stuck++;
    }
    cr_expect_eq(stuck, ITEMS - 1);
}

/* Other clients of the same user use up the quota, and this one writes nearly nothing. */
Test(pace, quota_that_others_use_up_leaves_a_rate)
{
    send(DELIVERIES, 0);
    answer(0, 1);
    pace_throttled(&pace, 5000, now_ms);
    now_ms += 5000;
    struct quota q = {.bytes_per_s = 1 << 24, .second = now_ms / 1000};
    cr_expect_gt(run(&q, 10 * 1000).answered * BYTES, 150 * 1000);
}

/* Sends evenly, after a burst that the broker throttled. */
static void throttle_after(int records, int64_t for_ms)
{
    for (int sent = 0; sent < records; now_ms++) {
        int n = send_all(DELIVERIES, 0);
        answer(0, n);
        sent += n;
    }
    pace_throttled(&pace, for_ms, now_ms);
}

Test(pace, throttled_probe_leaves_the_rate)
{
    throttle_after(2000, 13000); /* 2,000 records of 1,000 bytes, at 81 kB/s */
    now_ms += 13000;
    cr_assert(send(DELIVERIES, 0));
    answer(0, 1);
    pace_throttled(&pace, 1000, now_ms);
    now_ms += 1000;
    struct quota q = {.bytes_per_s = 1 << 24, .second = now_ms / 1000};
    cr_expect_gt(run(&q, 10 * 1000).answered * BYTES, 700 * 1000);
}

/* One broker reads nothing for a long time, while others answer. */
Test(pace, second_throttling_leaves_half_of_the_rate)
{
    throttle_after(2000, 13000);
    now_ms += 13000;
    cr_assert(send(DELIVERIES, 0));
    answer(0, 1);
    cr_assert(send(DELIVERIES, 0), "it sends evenly");
    answer(0, 1);
    pace_throttled(&pace, 1000, now_ms);
    now_ms += 1000;
    struct quota q = {.bytes_per_s = 1 << 24, .second = now_ms / 1000};
    cr_expect_gt(run(&q, 10 * 1000).answered * BYTES, 350 * 1000);
}
