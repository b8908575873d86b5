/* SPDX-License-Identifier: Apache-2.0 */
/* outbox: which records the client gets at once, and which ones wait for the next batch. */
#include "consumer/outbox.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { BYTES = 100 };

static const struct outbox_limits at_once = {
    .linger_ms = 0, .batch_bytes = 1000, .request_bytes = 2000};
static const struct outbox_limits lingering = {
    .linger_ms = 20, .batch_bytes = 1000, .request_bytes = 2000};
static const struct outbox_limits gathering = {
    .gather_ms = 5, .linger_ms = 0, .batch_bytes = 1000, .request_bytes = 2000};
static const struct outbox_limits by_turn = {
    .gathers_turn = true, .linger_ms = 1, .batch_bytes = 1000, .request_bytes = 2000};
static struct outbox_item items[64];

static struct outbox_item *item(int n)
{
    items[n] = (struct outbox_item){.bytes = BYTES};
    return &items[n];
}

static void send(struct outbox *o, const struct outbox_limits *limits, int n)
{
    for (int i = 0; i < n; i++)
        outbox_sent(o, limits, &(struct outbox_item){.bytes = BYTES}, 0);
}

static void report(struct outbox *o, const struct outbox_limits *limits, int n)
{
    for (int i = 0; i < n; i++)
        outbox_reported(o, limits, &(struct outbox_item){.bytes = BYTES}, 0);
}

Test(outbox, client_without_linger_gets_at_most_four_records)
{
    struct outbox o;
    outbox_init(&o);
    for (int n = 0; n < OUTBOX_SINGLES; n++) {
        cr_assert(outbox_is_open(&o, &at_once, 0));
        send(&o, &at_once, 1);
    }
    cr_assert_not(outbox_is_open(&o, &at_once, 0));
    report(&o, &at_once, 1);
    cr_assert(outbox_is_open(&o, &at_once, 0));
    outbox_check(&o);
}

Test(outbox, records_join_the_batch_that_the_client_gathers)
{
    struct outbox o;
    outbox_init(&o);
    send(&o, &lingering, OUTBOX_SINGLES + 1);
    cr_assert(outbox_is_open(&o, &lingering, 9));
    cr_assert_not(outbox_is_open(&o, &lingering, 10));
}

Test(outbox, records_of_a_turn_form_one_batch_if_the_partition_gathers_for_it)
{
    struct outbox o;
    outbox_init(&o);
    cr_assert_not(outbox_is_open(&o, &by_turn, 0), "the client would get the first one alone");
    for (int n = 0; n < OUTBOX_SINGLES + 1; n++)
        outbox_hold(&o, item(n));
    cr_assert(outbox_batch_is_due(&o, &by_turn, 0), "in the next turn, whenever it is");
    for (int n = 0; n < OUTBOX_SINGLES + 1; n++) {
        cr_assert(outbox_batch_takes(&o, &by_turn, 0));
        outbox_take(&o, &items[n]);
        send(&o, &by_turn, 1);
    }
    cr_assert_not(outbox_is_open(&o, &by_turn, 0));
    outbox_check(&o);
}

Test(outbox, held_records_go_in_order_when_nothing_is_in_flight)
{
    struct outbox o;
    outbox_init(&o);
    send(&o, &at_once, 2);
    outbox_hold(&o, item(0));
    outbox_hold(&o, item(1));
    cr_assert_not(outbox_is_open(&o, &at_once, 0), "one that comes later must not pass them");
    report(&o, &at_once, 1);
    cr_assert_not(outbox_batch_is_due(&o, &at_once, 0));
    report(&o, &at_once, 1);
    cr_assert(outbox_batch_is_due(&o, &at_once, 0));
    for (int n = 0; n < 2; n++) {
        cr_assert_eq(outbox_first(&o), &items[n]);
        outbox_take(&o, &items[n]);
        outbox_check(&o);
    }
    cr_assert_null(outbox_first(&o));
    cr_assert_not(outbox_batch_is_due(&o, &at_once, 0));
}

Test(outbox, a_batch_that_is_held_makes_the_client_stream)
{
    struct outbox o;
    outbox_init(&o);
    send(&o, &at_once, OUTBOX_SINGLES);
    for (int n = 0; n < 10; n++) {
        cr_assert_not(outbox_batch_is_due(&o, &at_once, 0));
        outbox_hold(&o, item(n));
    }
    cr_assert(outbox_batch_is_due(&o, &at_once, 0));
    for (int n = 0; n < 10; n++) {
        outbox_take(&o, &items[n]);
        send(&o, &at_once, 1);
    }
    cr_assert(outbox_is_open(&o, &at_once, 0));
    report(&o, &at_once, 12); /* 200 of 1,000 bytes remain */
    cr_assert(outbox_is_open(&o, &at_once, 0), "as few as go one by one");
    cr_assert_not(o.streaming);
    outbox_check(&o);
}

/* Acknowledges one record after a time, while 30 more are held. */
static void hold_behind_an_acknowledgement(struct outbox *o, const struct outbox_limits *limits,
                                           int64_t ack_ms)
{
    outbox_init(o);
    send(o, limits, 1);
    outbox_reported(o, limits, &(struct outbox_item){.bytes = BYTES}, ack_ms);
    send(o, limits, OUTBOX_SINGLES);
    for (int n = 0; n < 30; n++)
        outbox_hold(o, item(n));
}

Test(outbox, slow_acknowledgements_keep_the_client_from_streaming)
{
    struct outbox o;
    hold_behind_an_acknowledgement(&o, &at_once, OUTBOX_SLOW_MS);
    cr_assert(outbox_batch_is_due(&o, &at_once, 0), "fast");
    hold_behind_an_acknowledgement(&o, &lingering, lingering.linger_ms + OUTBOX_SLOW_MS);
    cr_assert(outbox_batch_is_due(&o, &lingering, 0), "the client lingers first");
    hold_behind_an_acknowledgement(&o, &at_once, 0);
    cr_assert_not(outbox_batch_is_due(&o, &at_once, OUTBOX_SLOW_MS + 1), "one is out for long");
    hold_behind_an_acknowledgement(&o, &at_once, OUTBOX_SLOW_MS + 1);
    cr_assert_not(outbox_batch_is_due(&o, &at_once, 0));
    cr_assert_not(outbox_is_open(&o, &at_once, 0));
}

Test(outbox, a_batch_behind_slow_acknowledgements_is_one_request)
{
    struct outbox o;
    hold_behind_an_acknowledgement(&o, &at_once, OUTBOX_SLOW_MS + 1);
    report(&o, &at_once, OUTBOX_SINGLES);
    o.acks_slow = true;
    cr_assert(outbox_batch_is_due(&o, &at_once, 0));
    int n = 0;
    for (; outbox_batch_takes(&o, &at_once, 0); n++) {
        outbox_take(&o, &items[n]);
        send(&o, &at_once, 1);
    }
    cr_assert_eq(n, (int)at_once.request_bytes / BYTES);
    outbox_check(&o);
}

Test(outbox, a_client_with_one_request_never_streams)
{
    static const struct outbox_limits one = {
        .linger_ms = 0, .batch_bytes = 1000, .request_bytes = 2000, .one_request = true};
    struct outbox o;
    hold_behind_an_acknowledgement(&o, &one, 0);
    cr_assert_not(outbox_batch_is_due(&o, &one, 0), "a full batch waits for the acknowledgement");
    report(&o, &one, OUTBOX_SINGLES);
    cr_assert(outbox_batch_is_due(&o, &one, 0));
    int n = 0;
    for (; outbox_batch_takes(&o, &one, 0); n++) {
        outbox_take(&o, &items[n]);
        send(&o, &one, 1);
    }
    cr_assert_eq(n, (int)one.request_bytes / BYTES);
    cr_assert_not(outbox_batch_is_due(&o, &one, 0));
    outbox_check(&o);
}

Test(outbox, acknowledgements_that_are_fast_again_let_the_client_stream)
{
    struct outbox o;
    hold_behind_an_acknowledgement(&o, &at_once, OUTBOX_SLOW_MS + 1);
    for (int n = 0; n < OUTBOX_SINGLES; n++) /* one of these measures the round trip */
        outbox_reported(&o, &at_once, &(struct outbox_item){.bytes = BYTES}, 5);
    cr_assert_not(o.acks_slow);
    for (int n = 0; outbox_batch_takes(&o, &at_once, 0); n++) {
        outbox_take(&o, &items[n]);
        send(&o, &at_once, 1);
    }
    cr_assert(list_is_empty(&o.held));
    cr_assert(o.streaming);
}

Test(outbox, a_few_large_records_do_not_start_streaming)
{
    struct outbox o;
    outbox_init(&o);
    for (int n = 0; n < OUTBOX_SINGLES; n++)
        outbox_sent(&o, &at_once, &(struct outbox_item){.bytes = 5000}, 0);
    cr_assert_not(outbox_is_open(&o, &at_once, 0));
}

/* Sends a record at each of these times, acknowledged at once. */
static void send_each(struct outbox *o, int64_t from_mono_ms, int64_t apart_ms, int n)
{
    for (int64_t at_mono_ms = from_mono_ms; n > 0; n--, at_mono_ms += apart_ms) {
        outbox_sent(o, &gathering, &(struct outbox_item){.bytes = BYTES}, at_mono_ms);
        outbox_reported(o, &gathering, &(struct outbox_item){.bytes = BYTES}, at_mono_ms);
    }
}

Test(outbox, a_busy_partition_begins_one_batch_in_each_period)
{
    struct outbox o;
    outbox_init(&o);
    send_each(&o, 1000, 2, 100); /* until 1198 */
    cr_assert_not(outbox_is_open(&o, &gathering, 1199), "the period has its batch");
    outbox_hold(&o, item(0));
    cr_assert_eq(outbox_wait_ms(&o, &gathering, 1199), 1);
    cr_assert_not(outbox_batch_is_due(&o, &gathering, 1199));
    cr_assert(outbox_batch_is_due(&o, &gathering, 1200), "the next period has begun");
    outbox_take(&o, &items[0]);
    outbox_sent(&o, &gathering, &items[0], 1200);
    cr_assert_not(outbox_is_open(&o, &gathering, 1200));
    cr_assert(outbox_is_open(&o, &at_once, 1200), "no other client gathers");
    outbox_check(&o);
}

Test(outbox, held_records_wait_for_the_report_of_a_batch_and_for_the_next_period)
{
    struct outbox o;
    outbox_init(&o);
    send_each(&o, 1000, 2, 100);
    outbox_sent(&o, &gathering, item(0), 1200);
    outbox_hold(&o, item(1));
    cr_assert_eq(outbox_wait_ms(&o, &gathering, 1206), INT64_MAX, "a report wakes the worker");
    cr_assert_not(outbox_batch_is_due(&o, &gathering, 1206));
    outbox_reported(&o, &gathering, &items[0], 1206);
    cr_assert(outbox_batch_is_due(&o, &gathering, 1206));
}

Test(outbox, a_full_batch_does_not_wait_for_the_next_period)
{
    struct outbox o;
    outbox_init(&o);
    send_each(&o, 1000, 2, 100);
    for (int n = 0; n < 10; n++) {
        cr_assert_not(outbox_batch_is_due(&o, &gathering, 1199));
        outbox_hold(&o, item(n));
    }
    cr_assert(outbox_batch_is_due(&o, &gathering, 1199));
}

/* At most one record in three milliseconds: 17 in a window. */
Test(outbox, a_partition_with_few_records_holds_none)
{
    struct outbox o;
    outbox_init(&o);
    for (int64_t at_mono_ms = 1000; at_mono_ms < 2000; at_mono_ms += 3) {
        cr_assert(outbox_is_open(&o, &gathering, at_mono_ms));
        send_each(&o, at_mono_ms, 0, 1);
    }
}

Test(outbox, a_busy_partition_with_few_records_again_holds_none)
{
    struct outbox o;
    outbox_init(&o);
    send_each(&o, 1000, 2, 100);
    cr_assert(o.busy);
    send_each(&o, 5000, 0, 1);
    cr_assert_not(o.busy, "the window is too old to count");
    cr_assert(outbox_is_open(&o, &gathering, 5001));
}

/* Adds, sends and reports records of all sizes in random order. No record passes another. The
   client has at most four records, unless it streams or gathers a batch. */
Test(outbox, any_order_of_events_keeps_the_order_of_records)
{
    unsigned seed = 20261125;
    struct outbox o;
    size_t sent[64], first = 0, last = 0;
    int next = 0, handed = 0;
    outbox_init(&o);
    for (int step = 0; step < 200000; step++) {
        int what = rand_r(&seed) % 3;
        if (what == 0 && next - handed < 32) {
            struct outbox_item *i = &items[next++ % 64];
            *i = (struct outbox_item){.bytes = (size_t)(rand_r(&seed) % 400)};
            if (outbox_is_open(&o, &at_once, 0) && last - first < 64) {
                cr_assert_eq(handed++, next - 1);
                sent[last++ % 64] = i->bytes;
                outbox_sent(&o, &at_once, i, 0);
            } else {
                outbox_hold(&o, i);
            }
        } else if (what == 1 && last > first) {
            outbox_reported(&o, &at_once, &(struct outbox_item){.bytes = sent[first++ % 64]}, step);
        } else if (outbox_batch_is_due(&o, &at_once, 0)) {
            for (struct outbox_item *i; (i = outbox_first(&o)) != NULL && last - first < 64;) {
                cr_assert_eq(i, &items[handed++ % 64]);
                outbox_take(&o, i);
                sent[last++ % 64] = i->bytes;
                outbox_sent(&o, &at_once, i, 0);
            }
        }
        outbox_check(&o);
    }
    cr_assert_gt(handed, 10000);
}
