/* SPDX-License-Identifier: Apache-2.0 */
/* rate: its text, the share of a worker, and the tokens and slots of a bucket. */
#include "levels/rate.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define NOW ((int64_t)1000000)

static struct bucket started(double per_ms)
{
    struct bucket b;
    bucket_start(&b, per_ms, NOW);
    return b;
}

/* Returns the slot itself. */
static int64_t give(struct bucket *b, int64_t now_mono_ms)
{
    return now_mono_ms + bucket_give_slot(b, now_mono_ms);
}

/* Sends a record, if the bucket is open. */
static bool passes(struct bucket *b, bool has_slot, int64_t now_mono_ms)
{
    bool is_open = bucket_is_open(b, has_slot, now_mono_ms);
    if (is_open)
        bucket_take(b);
    return is_open;
}

Test(rate, text_is_a_number_and_a_unit)
{
    struct rate rate;
    char text[RATE_TEXT_MAX];
    cr_assert_eq(rate_parse(bytes_text("100/s"), &rate), 0);
    cr_expect(rate.records == 100 && rate.unit_ms == 1000);
    cr_expect_str_eq(rate_format(&rate, text), "100/s");
    cr_assert_eq(rate_parse(bytes_text("6000/m"), &rate), 0);
    cr_expect(rate.records == 6000 && rate.unit_ms == 60000);
    cr_expect_str_eq(rate_format(&rate, text), "6000/m");
    cr_assert_eq(rate_parse(bytes_text("1000000/s"), &rate), 0);
    cr_expect_str_eq(rate_format(&rate, text), "1000000/s");
}

Test(rate, other_texts_are_refused)
{
    static const char *const TEXTS[] = {
        "",       "100",    "/s",     "0/s",
        "-1/s",   "1.5/s",  "100/h",  "100/ms",
        "01/s",   "100/S",  "100 /s", "1000001/s",
        "100/s ", " 100/s", "none",   "99999999999999999999999999/s"};
    struct rate rate = {7, 8};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        cr_expect_eq(rate_parse(bytes_text(TEXTS[i]), &rate), ERR_DATA, "'%s'", TEXTS[i]);
    cr_expect_eq(rate_parse(bytes_null(), &rate), ERR_DATA);
    cr_expect(rate.records == 7 && rate.unit_ms == 8);
}

Test(rate, shares_of_all_workers_are_the_rate)
{
    struct rate rate = {600, 60000};
    cr_expect_float_eq(rate_share(&rate, 1, 4) + rate_share(&rate, 3, 4), 0.01, 1e-12);
    cr_expect_float_eq(rate_share(&rate, 0, 4), 0, 1e-12);
}

Test(rate, bucket_starts_empty)
{
    struct bucket b = started(0.1);
    cr_expect_not(passes(&b, false, NOW));
    cr_expect_not(passes(&b, false, NOW + 9));
    cr_expect(passes(&b, false, NOW + 10));
}

static int passes_after_an_hour(double per_ms)
{
    struct bucket b = started(per_ms);
    int n = 0;
    while (passes(&b, false, NOW + 3600000))
        n++;
    return n;
}

Test(rate, bucket_holds_one_second_and_at_least_one)
{
    cr_expect_eq(passes_after_an_hour(0.1), 100);
    cr_expect_eq(passes_after_an_hour(0.002), 2);
    cr_expect_eq(passes_after_an_hour(0.001), 1);
    cr_expect_eq(passes_after_an_hour(0.0001), 1);
}

Test(rate, slots_are_spaced_by_the_rate)
{
    struct bucket b = started(0.1);
    for (int i = 1; i <= 5; i++)
        cr_expect_eq(give(&b, NOW), NOW + 10 * i);
}

Test(rate, several_slots_may_be_in_one_ms)
{
    struct bucket b = started(4);
    int64_t last = 0;
    for (int i = 0; i < 4000; i++)
        last = give(&b, NOW);
    cr_expect_eq(last, NOW + 1000);
}

Test(rate, record_waits_behind_the_slots_that_are_given)
{
    struct bucket b = started(0.1);
    int64_t first = give(&b, NOW), second = give(&b, NOW);
    cr_expect_not(passes(&b, false, first), "the token belongs to the record with the slot");
    cr_expect(passes(&b, true, first));
    cr_expect(passes(&b, true, second));
    cr_expect_not(passes(&b, false, second));
    cr_expect(passes(&b, false, second + 10));
}

Test(rate, slot_of_another_bucket_takes_a_token)
{
    struct bucket b = started(0.1);
    int64_t slot = give(&b, NOW);
    cr_expect(passes(&b, true, slot), "the one from elsewhere");
    cr_expect_not(passes(&b, true, slot), "ours needs another slot");
    cr_expect_eq(give(&b, slot), slot + 10);
}

/* Of a small share, such as 6/m of a worker. */
Test(rate, slot_that_is_a_little_late_costs_no_other_one)
{
    struct bucket b = started(0.0001);
    int64_t slot = give(&b, NOW), next = give(&b, NOW);
    cr_expect_eq(slot, NOW + 10000);
    cr_expect(passes(&b, true, slot + RATE_LATE_MS));
    cr_expect(passes(&b, true, next));
}

Test(rate, slot_that_is_late_by_less_than_a_second_is_not_lost)
{
    struct bucket b = started(0.01);
    int64_t slot = give(&b, NOW), next = give(&b, NOW);
    cr_expect(passes(&b, true, slot + 899));
    cr_expect(passes(&b, true, next + 899));
}

Test(rate, slot_that_is_returned_is_given_again)
{
    struct bucket b = started(0.1);
    for (int i = 0; i < 5; i++)
        give(&b, NOW);
    bucket_return_slot(&b);
    bucket_return_slot(&b);
    cr_expect_eq(give(&b, NOW), NOW + 40);
    for (int i = 0; i < 10; i++)
        bucket_return_slot(&b);
    cr_expect_eq(give(&b, NOW), NOW + 10, "a slot needs a token");
}

Test(rate, bucket_is_idle_with_all_its_tokens_and_no_slot)
{
    struct bucket b = started(0.002); /* it holds 2 tokens */
    cr_expect_not(bucket_is_idle(&b, NOW + 999));
    cr_expect(bucket_is_idle(&b, NOW + 1000));
    cr_assert(passes(&b, false, NOW + 1000));
    cr_expect_not(bucket_is_idle(&b, NOW + 1499));
    cr_expect(bucket_is_idle(&b, NOW + 1500));
    for (int64_t slot = 0; slot < NOW + 5000;)
        slot = give(&b, NOW + 1500);
    cr_expect_not(bucket_is_idle(&b, NOW + 5000));
    cr_expect(bucket_is_idle(&b, NOW + 5500));
}

/* Random arrivals, with records that return in their slots, late and in any order. */
Test(rate, no_span_has_more_than_the_rate_and_one_second)
{
    enum { TICKS = 20000, WAITING = 4096 };
    static int64_t sent[TICKS * 4], slots[WAITING];
    for (unsigned seed = 1; seed <= 20; seed++) {
        srand(seed);
        double per_ms = 0.002 * (1 << rand() % 8);
        struct bucket b = started(per_ms);
        int n = 0, waiting = 0;
        for (int64_t now = NOW; now < NOW + TICKS; now += 1 + rand() % 40) {
            for (int i = rand() % 4; i > 0; i--) {
                if (passes(&b, false, now))
                    sent[n++] = now;
                else if (waiting < WAITING)
                    slots[waiting++] = give(&b, now);
            }
            for (int i = 0; i < waiting; i++) {
                if (slots[i] > now || rand() % 3 == 0)
                    continue;
                if (passes(&b, rand() % 8 != 0, now))
                    sent[n++] = now, slots[i--] = slots[--waiting];
                else
                    slots[i] = give(&b, now);
            }
        }
        cr_expect_gt(n, 0);
        for (int from = 0, to = 0; to < n; to++) {
            while (sent[to] - sent[from] > 3000)
                from++;
            double most = per_ms * (double)(sent[to] - sent[from]) + bucket_most(per_ms);
            cr_assert_leq(to - from + 1, most + 1e-3, "seed %u", seed);
        }
    }
}

/* All records that wait are sent at the rate, and each takes one slot. */
Test(rate, backlog_drains_at_the_rate)
{
    struct bucket b = started(1.5);
    int64_t last = NOW;
    for (int i = 0; i < 30000; i++) {
        int64_t slot = give(&b, NOW);
        cr_assert_geq(slot, last);
        last = slot;
    }
    cr_expect_eq(last, NOW + 20000);
    b = started(1.5);
    int n = 0;
    for (int64_t now = NOW; n < 30000; now++) {
        cr_assert_leq(now, NOW + 20001);
        for (int64_t due = (int64_t)((double)(now - NOW) * 1.5 + 1e-6); n < due; n++)
            cr_assert(passes(&b, true, now), "record %d", n);
    }
}
