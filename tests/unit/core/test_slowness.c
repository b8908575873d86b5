/* SPDX-License-Identifier: Apache-2.0 */
/* slowness: which targets are slow, in exactly-once mode. */
#include "bridge/core/slowness.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

enum { SLOW_MS = 400, STAYS_MS = 10000, JUDGE_MS = 200, LOOK_MS = 500 };

static struct target *slow, *fast;

static void start(void)
{
    fixture_start_exactly_once();
    slow = fixture_target("orders");
    fast = fixture_target("bills");
    slow->state = fast->state = TARGET_UP;
}

TestSuite(slowness, .init = start, .fini = fixture_stop);

/* Lets both targets acknowledge after these times, and judges them. */
static void look(int64_t slow_ms, int64_t fast_ms)
{
    slowness_learn(fx.b, slow, slow_ms);
    slowness_learn(fx.b, fast, fast_ms);
    slow->took_mono_ms = fast->took_mono_ms = fx.b->now.mono_ms;
    slowness_serve(fx.b);
}

/* Does the same at two looks. */
static void judge(int64_t slow_ms, int64_t fast_ms)
{
    fixture_pass(STAYS_MS);
    slow->took_mono_ms = fast->took_mono_ms = 0; /* no average with older times */
    look(slow_ms, fast_ms);
    fixture_pass(LOOK_MS);
    look(slow_ms, fast_ms);
}

Test(slowness, target_is_slow_at_100_ms_and_four_times_the_fastest)
{
    judge(99, 10);
    cr_expect_not(slow->is_slow);
    judge(100, 26);
    cr_expect_not(slow->is_slow);
    judge(100, 25);
    cr_expect(slow->is_slow);
    cr_expect_not(fast->is_slow);
    cr_expect_eq(counter_read(&fx.stats.targets_slow), 1);
    cr_assert_not_null(fixture_notice(NOTICE_TARGET_SLOW));
    cr_expect_eq(fixture_notice(NOTICE_TARGET_SLOW)->span_ms, 100);
}

Test(slowness, target_is_fast_again_at_50_ms_or_twice_the_fastest)
{
    slow->is_slow = true;
    judge(51, 25);
    cr_expect(slow->is_slow);
    judge(50, 1);
    cr_expect_not(slow->is_slow);
    cr_expect_eq(fixture_notices(NOTICE_TARGET_FAST), 1);
    cr_expect_eq(counter_read(&fx.stats.targets_slow), 0);
    slow->is_slow = true;
    judge(400, 200);
    cr_expect_not(slow->is_slow);
}

Test(slowness, target_without_others_is_fast_again_by_its_own_time_alone)
{
    judge(400, 1);
    fixture_pass(STAYS_MS); /* the acknowledgement of the other one is old */
    slow->took_mono_ms = fx.b->now.mono_ms;
    slowness_serve(fx.b);
    cr_expect(slow->is_slow);
    slow->ack_us = 50000;
    fixture_pass(JUDGE_MS);
    slowness_serve(fx.b);
    cr_expect_not(slow->is_slow);
}

Test(slowness, target_changes_once_in_ten_seconds)
{
    slow->is_slow = true;
    judge(1, 1);
    cr_assert_not(slow->is_slow);
    fixture_pass(STAYS_MS - 2 * LOOK_MS);
    look(2 * LOOK_MS, 1);
    fixture_pass(LOOK_MS);
    look(2 * LOOK_MS, 1);
    cr_expect_not(slow->is_slow);
    judge(LOOK_MS, 1);
    cr_expect(slow->is_slow);
}

Test(slowness, short_stall_makes_no_target_slow)
{
    fixture_pass(STAYS_MS);
    look(2000, 1);
    fixture_pass(LOOK_MS);
    look(2000, 1); /* this record was sent before the first look */
    cr_expect_not(slow->is_slow);
    fixture_pass(LOOK_MS);
    look(1, 1);
    fixture_pass(LOOK_MS);
    look(2000, 1);
    cr_expect_not(slow->is_slow, "an acknowledgement between them was fast");
}

Test(slowness, target_is_slow_at_two_looks_within_ten_seconds)
{
    fixture_pass(STAYS_MS);
    look(SLOW_MS, 1);
    cr_expect_not(slow->is_slow);
    fixture_pass(STAYS_MS);
    look(SLOW_MS, 1);
    cr_expect_not(slow->is_slow, "the first look is too old");
    fixture_pass(JUDGE_MS);
    look(JUDGE_MS, 1);
    cr_expect_not(slow->is_slow, "the second look is too early");
    fixture_pass(LOOK_MS);
    look(SLOW_MS, 1);
    cr_expect(slow->is_slow);
}

Test(slowness, target_without_a_time_makes_no_other_one_slow)
{
    fixture_pass(STAYS_MS);
    look(SLOW_MS, 100);
    fixture_pass(JUDGE_MS);
    look(SLOW_MS, 100); /* only the other one has a new time */
    fixture_pass(LOOK_MS);
    look(2 * SLOW_MS, 100);
    cr_expect_not(slow->is_slow || fast->is_slow);
}

/* Its records do not share a transaction. */
Test(slowness, no_target_is_slow_with_at_least_once)
{
    fx.b->config.exactly_once = false;
    judge(SLOW_MS, 1);
    cr_expect_not(slow->is_slow);
}

Test(slowness, each_acknowledgement_counts_a_quarter)
{
    slow->took_mono_ms = fx.b->now.mono_ms;
    slow->ack_us = 100000;
    slowness_learn(fx.b, slow, 200);
    cr_expect_eq(slow->ack_us, 125000);
}
