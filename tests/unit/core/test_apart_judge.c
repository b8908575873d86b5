/* SPDX-License-Identifier: Apache-2.0 */
/* apart: which targets are slow. */
#include "bridge/core/apart.h"
#include "tests/unit/core/apart_fixture.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

TestSuite(apart_judge, .init = apart_start, .fini = fixture_stop);

Test(apart_judge, target_is_slow_at_100_ms_and_four_times_the_fastest)
{
    slow->is_slow = false;
    apart_judge(99, 10);
    cr_expect_not(slow->is_slow);
    apart_judge(100, 26);
    cr_expect_not(slow->is_slow);
    apart_judge(100, 25);
    cr_expect(slow->is_slow);
    cr_expect_not(fast->is_slow);
    cr_expect_eq(counter_read(&fx.stats.targets_apart), 1);
    cr_assert_not_null(fixture_notice(NOTICE_TARGET_APART));
    cr_expect_eq(fixture_notice(NOTICE_TARGET_APART)->span_ms, 100);
}

Test(apart_judge, target_is_fast_again_at_50_ms_or_twice_the_fastest)
{
    apart_judge(51, 25);
    cr_expect(slow->is_slow);
    apart_judge(50, 1);
    cr_expect_not(slow->is_slow);
    cr_expect_eq(fixture_notices(NOTICE_TARGET_SHARES), 1);
    cr_expect_eq(counter_read(&fx.stats.targets_apart), 0);
    slow->is_slow = true;
    apart_judge(400, 200);
    cr_expect_not(slow->is_slow);
}

Test(apart_judge, target_without_others_is_fast_again_by_its_own_time_alone)
{
    apart_judge(400, 1);
    fixture_pass(STAYS_MS); /* the acknowledgement of the other one is old */
    slow->took_mono_ms = fx.b->now.mono_ms;
    apart_serve(fx.b);
    cr_expect(slow->is_slow);
    slow->ack_us = 50000;
    fixture_pass(JUDGE_MS);
    apart_serve(fx.b);
    cr_expect_not(slow->is_slow);
}

Test(apart_judge, target_changes_once_in_ten_seconds)
{
    apart_judge(1, 1);
    cr_assert_not(slow->is_slow);
    fixture_pass(STAYS_MS - 2 * LOOK_MS);
    apart_look(2 * LOOK_MS, 1);
    fixture_pass(LOOK_MS);
    apart_look(2 * LOOK_MS, 1);
    cr_expect_not(slow->is_slow);
    apart_judge(LOOK_MS, 1);
    cr_expect(slow->is_slow);
}

Test(apart_judge, short_stall_makes_no_target_slow)
{
    slow->is_slow = false;
    fixture_pass(STAYS_MS);
    apart_look(2000, 1);
    fixture_pass(LOOK_MS);
    apart_look(2000, 1); /* this record was sent before the first look */
    cr_expect_not(slow->is_slow);
    fixture_pass(LOOK_MS);
    apart_look(1, 1);
    fixture_pass(LOOK_MS);
    apart_look(2000, 1);
    cr_expect_not(slow->is_slow, "an acknowledgement between them was fast");
}

Test(apart_judge, target_is_slow_at_two_looks_within_ten_seconds)
{
    slow->is_slow = false;
    fixture_pass(STAYS_MS);
    apart_look(SLOW_MS, 1);
    cr_expect_not(slow->is_slow);
    fixture_pass(STAYS_MS);
    apart_look(SLOW_MS, 1);
    cr_expect_not(slow->is_slow, "the first look is too old");
    fixture_pass(JUDGE_MS);
    apart_look(JUDGE_MS, 1);
    cr_expect_not(slow->is_slow, "the second look is too early");
    fixture_pass(LOOK_MS);
    apart_look(SLOW_MS, 1);
    cr_expect(slow->is_slow);
}

Test(apart_judge, target_without_a_time_makes_no_other_one_slow)
{
    slow->is_slow = false;
    fixture_pass(STAYS_MS);
    apart_look(SLOW_MS, 100);
    fixture_pass(JUDGE_MS);
    apart_look(SLOW_MS, 100); /* only the other one has a new time */
    fixture_pass(LOOK_MS);
    apart_look(2 * SLOW_MS, 100);
    cr_expect_not(slow->is_slow || fast->is_slow);
}

Test(apart_judge, each_acknowledgement_counts_a_quarter)
{
    slow->took_mono_ms = fx.b->now.mono_ms;
    slow->ack_us = 100000;
    apart_learn(fx.b, slow, 200);
    cr_expect_eq(slow->ack_us, 125000);
}

/* Brokers hold the last transaction of its producer. */
Test(apart_judge, no_target_is_slow_before_the_port_is_ready_for_it)
{
    slow->is_slow = false;
    fx.is_apart_held = true;
    apart_judge(400, 1);
    cr_expect_not(slow->is_slow);
    cr_expect_eq(fixture_notices(NOTICE_TARGET_APART), 0);
    fx.is_apart_held = false;
    apart_judge(400, 1);
    cr_expect(slow->is_slow);
}
