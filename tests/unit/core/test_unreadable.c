/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable: ranges of offsets that the client cannot read. */
#include "bridge/core/bridge.h"
#include "bridge/core/forward.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/unreadable.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

enum { END = START + 5 };

static struct queue *q;

static void start(void)
{
    fixture_start();
    q = fixture_queue(LEVEL);
}

TestSuite(unreadable, .init = start, .fini = fixture_stop);

static void fail(int64_t from, int64_t end, int n)
{
    for (int i = 0; i < n; i++)
        bridge_unreadable(fx.b, q->id, from, end);
}

static void block(void)
{
    fail(START, END, BAD_READINGS);
    cr_assert_eq(q->state, QUEUE_BLOCKED);
}

static void skip_ranges(void)
{
    fx.config.skip_unreadable = true;
    fixture_again();
    q = fixture_queue(LEVEL);
}

Test(unreadable, three_equal_failures_block_the_queue)
{
    fail(START, END, BAD_READINGS - 1);
    cr_expect_eq(q->state, QUEUE_OPEN);
    cr_expect_eq(fx.seeks, BAD_READINGS - 1);
    fail(START, END, 1);
    cr_expect_eq(q->state, QUEUE_BLOCKED);
    const struct notice *notice = fixture_notice(NOTICE_UNREADABLE);
    cr_assert_not_null(notice);
    cr_expect_eq(notice->offset, START);
    cr_expect_eq(notice->end_offset, END);
}

Test(unreadable, different_failures_do_not_add_up)
{
    for (int i = 0; i < BAD_READINGS; i++)
        fail(START, END + i, 1);
    for (int i = 0; i < BAD_READINGS; i++)
        fail(START + 1 + i, END, 1);
    cr_expect_eq(q->state, QUEUE_OPEN);
}

Test(unreadable, blocked_and_closed_queues_ignore_failures)
{
    block();
    fail(START, END, 1);
    cr_expect_eq(fixture_notices(NOTICE_UNREADABLE), 1);
    bridge_lane_lost(fx.b, 0);
    fail(START, END, BAD_READINGS);
    cr_expect_eq(fixture_notices(NOTICE_UNREADABLE), 1);
}

Test(unreadable, unset_window_begins_at_the_range)
{
    window_init(&q->window, WINDOW_UNSET);
    fail(START, END, 1);
    cr_expect_eq(q->window.base, START);
    cr_expect_eq(q->changes, 1);
}

Test(unreadable, range_begins_at_the_position)
{
    window_admit(&q->window, START);
    block();
    int64_t from, end;
    cr_expect(bridge_blocked_range(fx.b, q->id, &from, &end));
    cr_expect_eq(from, START + 1);
    cr_expect_eq(end, END);
}

Test(unreadable, range_below_the_position_does_not_block)
{
    window_admit(&q->window, END);
    fail(START, END, BAD_READINGS);
    cr_expect_eq(q->state, QUEUE_OPEN);
}

Test(unreadable, failure_behind_a_head_is_no_reading_of_the_range)
{
    for (int i = 0; i < BAD_READINGS; i++) {
        q->head = fixture_record(START, BEGIN_WALL_MS);
        fail(START + 1, END, 1);
    }
    cr_expect_eq(q->state, QUEUE_OPEN);
}

Test(unreadable, range_that_an_operator_dead_lettered_is_passed)
{
    block();
    bridge_skip_range(fx.b, q->id, START, END);
    unreadable_serve(fx.b, q);
    cr_expect_eq(q->window.base, END);
    cr_expect_eq(q->state, QUEUE_OPEN);
    cr_expect_eq(fx.seek_offset, END);
    cr_expect_eq(fixture_notices(NOTICE_RANGE_SKIPPED), 1);
    cr_expect_eq(fx.records, 0, "no second dead letter");
}

Test(unreadable, only_the_blocked_range_is_skipped)
{
    bridge_skip_range(fx.b, q->id, START, END); /* no range is blocked yet */
    block();
    bridge_skip_range(fx.b, q->id, START + 1, END);
    bridge_skip_range(fx.b, q->id, START, END + 1);
    unreadable_serve(fx.b, q);
    cr_expect_not(q->skip_requested);
    cr_expect_eq(q->window.base, START);
}

Test(unreadable, range_waits_for_the_records_before_it)
{
    struct parcel *p = fixture_parcel(LEVEL, START, BEGIN_WALL_MS);
    block();
    bridge_skip_range(fx.b, q->id, START + 1, END);
    unreadable_serve(fx.b, q);
    cr_expect_eq(q->state, QUEUE_BLOCKED);
    parcel_done(fx.b, p);
    unreadable_serve(fx.b, q);
    cr_expect_eq(q->window.base, END);
}

Test(unreadable, range_waits_for_a_record_before_it_that_an_aborted_transaction_returned)
{
    window_admit(&q->window, START);
    fail(START + 1, END, BAD_READINGS);
    bridge_skip_range(fx.b, q->id, START + 1, END);
    unreadable_serve(fx.b, q);
    cr_expect_eq(q->window.base, START);
    cr_expect_eq(q->state, QUEUE_BLOCKED);
}

static struct parcel *letter(void)
{
    struct link *first = list_first(&fx.b->ready[READY_HOPS]);
    return first == NULL ? NULL : list_item(first, struct parcel, link);
}

Test(unreadable, skipped_range_is_dead_lettered_then_passed)
{
    skip_ranges();
    block();
    unreadable_serve(fx.b, q);
    struct parcel *p = letter();
    cr_assert_not_null(p);
    cr_expect_eq(p->end, END);
    cr_expect_eq(p->dead_letter->refusal.code, CODE_UNREADABLE);
    cr_expect_eq(q->window.base, START, "not before it is acknowledged");
    forward_serve(fx.b);
    fixture_report(p, REPORT_OK);
    unreadable_serve(fx.b, q);
    cr_expect_eq(q->window.base, END);
    cr_expect_eq(q->state, QUEUE_OPEN);
}

Test(unreadable, dead_letter_of_a_range_waits_for_memory)
{
    skip_ranges();
    block();
    fx.has_no_memory = true;
    unreadable_serve(fx.b, q);
    cr_expect_null(letter());
    fx.has_no_memory = false;
    size_t n = fx.b->pools.parcels_n;
    fx.b->pools.parcels_n = fx.b->pools.parcels_high;
    unreadable_serve(fx.b, q);
    cr_expect_null(letter());
    fx.b->pools.parcels_n = n;
    unreadable_serve(fx.b, q);
    cr_expect_not_null(letter());
}

Test(unreadable, dead_letter_in_flight_from_an_earlier_life_is_adopted)
{
    skip_ranges();
    block();
    fixture_turn();
    cr_assert_eq(fx.forwarded, 1);
    bridge_lane_lost(fx.b, 0);
    fixture_gain(0);
    block();
    fixture_turn();
    cr_expect_eq(fx.forwarded, 1, "no second dead letter");
    cr_expect_eq(fx.b->revoked, 0);
    cr_expect_eq(q->parcels, 1);
}

Test(unreadable, range_that_a_late_report_passed_is_not_passed_again)
{
    skip_ranges();
    block();
    unreadable_serve(fx.b, q);
    struct parcel *p = letter();
    cr_assert_not_null(p);
    forward_serve(fx.b);
    bridge_lane_lost(fx.b, 0);
    fixture_gain(0);
    block();
    bridge_skip_range(fx.b, q->id, START, END);
    fixture_report(p, REPORT_OK);
    cr_assert_eq(q->window.base, END);
    uint64_t changes = q->changes;
    unreadable_serve(fx.b, q);
    cr_expect_eq(q->changes, changes, "its progress is counted already");
    cr_expect_eq(q->state, QUEUE_OPEN);
    cr_expect_eq(fixture_notices(NOTICE_RANGE_SKIPPED), 1);
    cr_expect_eq(fx.records, 0, "no second dead letter");
}

Test(unreadable, range_that_was_done_in_part_is_dead_lettered_from_there)
{
    skip_ranges();
    block();
    queue_start_at(q, START + 2);
    unreadable_serve(fx.b, q);
    struct parcel *p = letter();
    cr_assert_not_null(p);
    cr_expect_eq(p->offset, START + 2);
}
