/* SPDX-License-Identifier: Apache-2.0 */
/* apart: the order of the records of slow targets. */
#include "bridge/core/apart.h"
#include "bridge/core/bridge.h"
#include "bridge/core/commit.h"
#include "bridge/core/forward.h"
#include "bridge/core/parcel.h"
#include "bridge/core/target.h"
#include "tests/unit/core/apart_fixture.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

TestSuite(apart_order, .init = apart_start, .fini = fixture_stop);

static struct parcel *due_for(const char *target, int64_t offset)
{
    fx.target = target;
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, offset, fx.b->now.wall_ms);
    parcel_ready(fx.b, p);
    return p;
}

static struct parcel *due_for_orders(int64_t offset)
{
    return due_for("orders", offset);
}

static void expect_parked_in_order(int n)
{
    int64_t last_offset = -1;
    int counted = 0;
    for (struct link *l = list_first(&slow->parked); l != NULL;
         l = list_after(&slow->parked, l), counted++) {
        const struct parcel *p = list_item(l, struct parcel, link);
        cr_expect_gt(p->offset, last_offset);
        last_offset = p->offset;
    }
    cr_expect_eq(counted, n);
}

Test(apart_order, records_that_wait_for_the_next_transaction_keep_their_order)
{
    enum { N = 200 };
    struct parcel *first = apart_sent(), *second = apart_sent();
    apart_close(fx.b);
    int64_t next_offset = fixture_queue(SLOT_SCHEDULE)->window.next;
    for (int i = 0; i < N; i++)
        (void)due_for_orders(next_offset + i);
    forward_serve(fx.b);
    fixture_report(first, REPORT_OK);
    forward_serve(fx.b);
    expect_parked_in_order(N);
    fixture_report(second, REPORT_OK);
    forward_serve(fx.b);
    expect_parked_in_order(N);
    bridge_check(fx.b);
}

Test(apart_order, record_that_is_due_later_waits_behind_parked_ones)
{
    fx.is_full = true;
    struct parcel *parked = due_for_orders(START);
    forward_serve(fx.b);
    cr_assert_eq(parked->state, PARCEL_PARKED);
    fx.is_full = false;
    fixture_pass(100);
    struct parcel *later = due_for_orders(START + 1);
    forward_serve(fx.b);
    expect_parked_in_order(2);
    targets_serve(fx.b);
    forward_serve(fx.b);
    cr_expect(parked->state == PARCEL_IN_FLIGHT && later->state == PARCEL_IN_FLIGHT);
}

static const struct parcel *taken_apart(size_t i)
{
    cr_assert_lt(i, fx.b->apart.n);
    return &fx.b->pools.parcels[fx.b->apart.taken[i]];
}

/* Expects that the records that are ready begin with these offsets. */
static void expect_ready_in_order(int64_t from_offset, int n)
{
    const struct list *ready = &fx.b->ready[READY_DELIVERIES];
    const struct link *l = list_first(ready);
    for (int i = 0; i < n; i++, l = list_after(ready, l)) {
        cr_assert_not_null(l);
        cr_expect_eq(list_item(l, const struct parcel, link)->offset, from_offset + i);
    }
}

/* In the turn of the transaction apart, a record of another target is the first that is ready, and
   no transaction accepts it. */
static void block_ready_records(int64_t offset)
{
    commit_serve(fx.b);
    cr_assert(fx.b->txn.is_apart);
    (void)due_for("bills", offset);
}

Test(apart_order, parked_record_is_sent_before_a_ready_one_that_is_due_later)
{
    (void)apart_complete();
    struct parcel *parked = due_for_orders(START + 1);
    forward_serve(fx.b);
    cr_assert_eq(parked->state, PARCEL_PARKED);
    block_ready_records(START + 2);
    struct parcel *later = due_for_orders(START + 3);
    forward_serve(fx.b);
    cr_assert_eq(later->state, PARCEL_READY);
    bridge_committed(fx.b, fx.seq, true);
    targets_serve(fx.b);
    forward_serve(fx.b);
    cr_expect_eq(taken_apart(0), parked);
    cr_expect_eq(taken_apart(1), later);
    bridge_check(fx.b);
}

/* Records that failed are due before those that waited for their transaction. */
static void expect_order_after_a_restart(bool failed)
{
    struct parcel *first = apart_sent(), *second = apart_sent();
    apart_close(fx.b);
    (void)due_for_orders(START + 2);
    forward_serve(fx.b);
    fx.is_full = true;
    (void)due_for("bills", START + 3);
    (void)due_for_orders(START + 4);
    forward_serve(fx.b);
    fixture_report(first, REPORT_OK);
    fixture_report(second, failed ? REPORT_NOT_SENT : REPORT_OK);
    if (!failed)
        apart_break(fx.b);
    bridge_apart_restarted(fx.b);
    cr_expect_eq(slow->is_slow, !failed);
    expect_ready_in_order(START, 5);
    bridge_check(fx.b);
}

Test(apart_order, records_of_a_failed_transaction_keep_their_order)
{
    expect_order_after_a_restart(true);
}

Test(apart_order, records_of_a_transaction_that_is_given_up_keep_their_order)
{
    expect_order_after_a_restart(false);
}

Test(apart_order, parked_records_come_first_when_their_target_is_fast_again)
{
    fx.is_full = true;
    (void)due_for_orders(START);
    forward_serve(fx.b);
    expect_parked_in_order(1);
    (void)due_for("bills", START + 1);
    (void)due_for_orders(START + 2);
    forward_serve(fx.b);
    apart_judge(1, 1);
    cr_assert_not(slow->is_slow);
    expect_ready_in_order(START, 3);
}

Test(apart_order, target_that_is_fast_again_sends_no_record_before_parked_ones)
{
    (void)apart_complete();
    slow->is_slow = false;
    (void)due_for_orders(START + 1);
    forward_serve(fx.b);
    expect_parked_in_order(1);
    block_ready_records(START + 2);
    expect_ready_in_order(START + 1, 2);
    bridge_check(fx.b);
}

Test(apart_order, record_that_is_shared_waits_behind_parked_ones)
{
    fx.is_full = true;
    (void)due_for_orders(START);
    forward_serve(fx.b);
    fx.is_full = false;
    struct parcel *alone = fixture_parcel(SLOT_SCHEDULE, START + 1, fx.b->now.wall_ms);
    alone->alone = true;
    parcel_ready(fx.b, alone);
    forward_serve(fx.b);
    expect_parked_in_order(2);
}

/* Its records are acknowledged and not committed yet. */
Test(apart_order, parked_records_stay_parked_while_a_shared_transaction_has_their_target)
{
    slow->is_slow = false;
    fixture_report(apart_sent_to("orders"), REPORT_OK);
    slow->is_slow = true;
    (void)due_for_orders(START + 1);
    forward_serve(fx.b);
    expect_parked_in_order(1);
    targets_serve(fx.b);
    expect_parked_in_order(1);
    targets_forget_transaction(fx.b);
    targets_serve(fx.b);
    expect_parked_in_order(0);
}
