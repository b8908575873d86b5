/* SPDX-License-Identifier: Apache-2.0 */
/* apart: the transaction of slow targets, in exactly-once mode. */
#include "bridge/core/apart.h"
#include "bridge/core/bridge.h"
#include "bridge/core/commit.h"
#include "bridge/core/event.h"
#include "bridge/core/forward.h"
#include "bridge/core/outcome.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/target.h"
#include "bridge/core/target_table.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { SLOW_MS = 400, STAYS_MS = 10000, JUDGE_MS = 200, LOOK_MS = 500 };

static struct target *slow, *fast;

static void start(void)
{
    fixture_start_exactly_once();
    fx.lookup = LOOKUP_WHOLE;
    slow = fixture_target("orders");
    fast = fixture_target("bills");
    slow->state = fast->state = TARGET_UP;
    slow->is_slow = true;
}

TestSuite(apart, .init = start, .fini = fixture_stop);

static struct parcel *sent_to(const char *target)
{
    fx.target = target;
    return fixture_send(SLOT_SCHEDULE, fixture_queue(SLOT_SCHEDULE)->window.next,
                        fx.b->now.wall_ms);
}

static struct parcel *sent_apart(void)
{
    struct parcel *p = sent_to("orders");
    cr_assert(fx.sent.apart && p->apart);
    return p;
}

static void look(int64_t slow_ms, int64_t fast_ms)
{
    apart_learn(fx.b, slow, slow_ms);
    apart_learn(fx.b, fast, fast_ms);
    slow->took_mono_ms = fast->took_mono_ms = fx.b->now.mono_ms;
    apart_serve(fx.b);
}

/* Lets both targets acknowledge after these times, and judges them at two looks. */
static void judge(int64_t slow_ms, int64_t fast_ms)
{
    fixture_pass(STAYS_MS);
    slow->took_mono_ms = fast->took_mono_ms = 0; /* no average with older times */
    look(slow_ms, fast_ms);
    fixture_pass(LOOK_MS);
    look(slow_ms, fast_ms);
}

/* Sends a record apart, acknowledges it, and closes its transaction. */
static struct parcel *complete(void)
{
    struct parcel *p = sent_apart();
    fixture_report(p, REPORT_OK);
    cr_assert_eq(p->state, PARCEL_HELD);
    apart_close(fx.b);
    cr_assert(apart_is_complete(fx.b));
    return p;
}

Test(apart, target_is_slow_at_100_ms_and_four_times_the_fastest)
{
    slow->is_slow = false;
    judge(99, 10);
    cr_expect_not(slow->is_slow);
    judge(100, 26);
    cr_expect_not(slow->is_slow);
    judge(100, 25);
    cr_expect(slow->is_slow);
    cr_expect_not(fast->is_slow);
    cr_expect_eq(counter_read(&fx.stats.targets_apart), 1);
    cr_assert_not_null(fixture_notice(NOTICE_TARGET_APART));
    cr_expect_eq(fixture_notice(NOTICE_TARGET_APART)->span_ms, 100);
}

Test(apart, target_is_fast_again_at_50_ms_or_twice_the_fastest)
{
    judge(51, 25);
    cr_expect(slow->is_slow);
    judge(50, 1);
    cr_expect_not(slow->is_slow);
    cr_expect_eq(fixture_notices(NOTICE_TARGET_SHARES), 1);
    cr_expect_eq(counter_read(&fx.stats.targets_apart), 0);
    slow->is_slow = true;
    judge(400, 200);
    cr_expect_not(slow->is_slow);
}

Test(apart, target_without_others_is_fast_again_by_its_own_time_alone)
{
    judge(400, 1);
    fixture_pass(STAYS_MS); /* the acknowledgement of the other one is old */
    slow->took_mono_ms = fx.b->now.mono_ms;
    apart_serve(fx.b);
    cr_expect(slow->is_slow);
    slow->ack_us = 50000;
    fixture_pass(JUDGE_MS);
    apart_serve(fx.b);
    cr_expect_not(slow->is_slow);
}

Test(apart, target_changes_once_in_ten_seconds)
{
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

Test(apart, short_stall_makes_no_target_slow)
{
    slow->is_slow = false;
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

Test(apart, target_is_slow_at_two_looks_within_ten_seconds)
{
    slow->is_slow = false;
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

Test(apart, target_without_a_time_makes_no_other_one_slow)
{
    slow->is_slow = false;
    fixture_pass(STAYS_MS);
    look(SLOW_MS, 100);
    fixture_pass(JUDGE_MS);
    look(SLOW_MS, 100); /* only the other one has a new time */
    fixture_pass(LOOK_MS);
    look(2 * SLOW_MS, 100);
    cr_expect_not(slow->is_slow || fast->is_slow);
}

Test(apart, each_acknowledgement_counts_a_quarter)
{
    slow->took_mono_ms = fx.b->now.mono_ms;
    slow->ack_us = 100000;
    apart_learn(fx.b, slow, 200);
    cr_expect_eq(slow->ack_us, 125000);
}

Test(apart, records_of_one_target_are_never_in_two_transactions)
{
    struct parcel *p = sent_apart();
    slow->is_slow = false; /* it shares transactions again */
    struct parcel *other = fixture_parcel(SLOT_SCHEDULE, START + 1, fx.b->now.wall_ms);
    parcel_ready(fx.b, other);
    forward_serve(fx.b);
    cr_expect_eq(other->state, PARCEL_PARKED);
    cr_expect_eq(p->state, PARCEL_IN_FLIGHT);
    bridge_check(fx.b);
}

Test(apart, record_is_progress_in_its_turn_alone)
{
    (void)complete();
    cr_expect_not(window_is_done(&fixture_queue(SLOT_SCHEDULE)->window, START));
    commit_serve(fx.b);
    cr_expect_eq(fx.enters, 1);
    cr_expect_eq(fx.finishes, 1);
    cr_expect_eq(fx.progress_n, 1);
    bridge_committed(fx.b, fx.seq, true);
    cr_expect_eq(fixture_queue(SLOT_SCHEDULE)->base_kept, START + 1);
    bridge_check(fx.b);
}

Test(apart, shared_transaction_that_is_open_ends_before_its_turn)
{
    struct parcel *p = sent_to("bills");
    (void)complete();
    commit_serve(fx.b);
    cr_expect_eq(fx.enters, 0);
    fixture_report(p, REPORT_OK);
    fixture_pass(TXN_AGE_MAX_MS);
    commit_serve(fx.b);
    bridge_committed(fx.b, fx.seq, true);
    cr_expect_eq(fx.enters, 0);
    commit_serve(fx.b);
    cr_expect_eq(fx.enters, 1);
}

/* Hops stay first, so that no other failure voids that outcome. */
Test(apart, turn_leaves_the_outcome_of_a_record_that_failed_alone_first)
{
    (void)complete();
    fx.b->txn.single_failed = true;
    commit_serve(fx.b);
    bridge_committed(fx.b, fx.seq, true);
    cr_expect(fx.b->txn.single_failed);
}

/* Its queue has another log now, so no progress is announced. */
Test(apart, transaction_without_progress_is_committed)
{
    (void)complete();
    queue_replaced(fx.b, fixture_queue(SLOT_SCHEDULE), START, "by a test");
    commit_serve(fx.b);
    cr_expect_eq(fx.finishes, 1);
    cr_expect_eq(fx.progress_n, 0);
}

Test(apart, turn_that_is_refused_comes_after_a_commit_of_progress)
{
    fx.has_no_turn = true;
    (void)complete();
    commit_serve(fx.b);
    fx.has_no_turn = false;
    cr_expect_eq(fx.enters, 0);
    cr_expect(fx.b->apart.waits);
    fixture_pass(COMMIT_EVERY_MS);
    commit_serve(fx.b);
    cr_expect_eq(fx.enters, 0);
    cr_assert_eq(fx.finishes, 1, "a shared one has progress only");
    bridge_committed(fx.b, fx.seq, true);
    commit_serve(fx.b);
    cr_expect_eq(fx.enters, 1);
}

Test(apart, turn_that_is_refused_is_requested_again_if_no_queue_has_progress)
{
    fx.has_no_turn = true;
    (void)complete();
    for (int slot = 0; slot < bridge_queues_per_lane(fx.b); slot++)
        queue_replaced(fx.b, fixture_queue(slot), START, "by a test");
    commit_serve(fx.b);
    fixture_pass(COMMIT_EVERY_MS);
    commit_serve(fx.b);
    fx.has_no_turn = false;
    commit_serve(fx.b);
    cr_expect_eq(fx.enters, 1);
}

Test(apart, failure_reads_no_lane_again_and_lets_its_targets_share)
{
    struct parcel *failed = sent_apart(), *held = sent_apart();
    fixture_report(held, REPORT_OK);
    fixture_report(failed, REPORT_UNFIT);
    cr_expect_eq(fx.aborts_apart, 1);
    cr_expect_eq(fx.aborts, 0);
    bridge_apart_restarted(fx.b);
    cr_expect_not(slow->is_slow);
    cr_expect_eq(fixture_notices(NOTICE_TARGET_SHARES), 1);
    forward_serve(fx.b);
    cr_expect_not(fx.sent.apart, "a shared transaction finds the cause");
    cr_expect_eq(failed->state, PARCEL_IN_FLIGHT);
    bridge_check(fx.b);
}

Test(apart, failure_in_its_turn_lets_its_targets_share)
{
    fast->is_slow = true;
    (void)complete();
    commit_serve(fx.b);
    bridge_aborted(fx.b, ABORT_CAUSE_CLUSTER, "a phrase");
    cr_expect_not(slow->is_slow);
    cr_expect_eq(slow->state, TARGET_UP);
    cr_expect(fast->is_slow, "it has no record in it");
    cr_expect(fx.reread);
}

Test(apart, failure_in_its_turn_that_names_no_record_suspects_its_targets)
{
    (void)complete();
    commit_serve(fx.b);
    bridge_aborted(fx.b, ABORT_CAUSE_RECORDS, "a phrase");
    cr_expect_eq(slow->state, TARGET_PROBING);
    cr_expect_eq(fast->state, TARGET_UP);
}

Test(apart, lane_that_is_lost_changes_no_target)
{
    struct parcel *p = sent_apart();
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(fx.aborts_apart, 1);
    fixture_report(p, REPORT_OK);
    bridge_apart_restarted(fx.b);
    cr_expect(slow->is_slow);
}

Test(apart, timeout_doubts_the_target)
{
    struct parcel *other = sent_apart(), *p = sent_apart();
    fixture_report(p, REPORT_TIMED_OUT);
    cr_expect(slow->doubted);
    slow->doubted = false;
    fixture_report(other, REPORT_NOT_SENT);
    cr_expect(slow->doubted, "it may be the cause, too");
}

Test(apart, record_that_was_not_sent_doubts_no_target)
{
    fixture_report(sent_apart(), REPORT_NOT_SENT);
    cr_expect_not(slow->doubted);
    cr_expect_eq(slow->state, TARGET_UP);
}

Test(apart, silence_is_the_fault_of_a_target_only_if_others_acknowledge)
{
    (void)sent_apart();
    fixture_pass(3500);
    cr_expect_not(apart_is_silent(fx.b));
    (void)sent_to("bills");
    cr_expect_not(apart_is_silent(fx.b), "a record that was sent is no acknowledgement");
    fx.b->cluster.acked_mono_ms = fx.b->now.mono_ms;
    cr_expect(apart_is_silent(fx.b));
    outcome_watch_silence(fx.b);
    cr_expect_eq(slow->state, TARGET_DOWN);
    cr_expect_eq(fast->state, TARGET_UP);
}

Test(apart, its_acknowledgements_do_not_hide_the_silence_of_another_target)
{
    struct parcel *answered = sent_to("bills");
    (void)sent_to("bills");
    struct parcel *p = sent_apart();
    fixture_report(answered, REPORT_OK);
    fixture_pass(TXN_AGE_MAX_MS);
    commit_serve(fx.b);
    cr_assert_eq(fx.b->txn.state, TXN_ENDING);
    fixture_pass(TXN_SILENT_MS - 1);
    fixture_report(p, REPORT_OK);
    outcome_watch_silence(fx.b);
    cr_expect_eq(fx.aborts, 0);
    fixture_pass(1);
    outcome_watch_silence(fx.b);
    cr_expect_eq(fx.aborts, 1);
    cr_expect_eq(fast->state, TARGET_DOWN);
    cr_expect_eq(slow->state, TARGET_UP);
}

Test(apart, success_in_a_failed_transaction_ends_no_doubt)
{
    struct parcel *other = sent_apart(), *p = sent_apart();
    fixture_report(p, REPORT_TIMED_OUT);
    fixture_report(other, REPORT_OK);
    cr_expect(slow->doubted);
    cr_expect_neq(slow->state, TARGET_UP, "it is looked up before its next record");
}

/* The timeout of a record whose lane was lost fails no transaction. */
Test(apart, success_of_a_record_that_was_sent_before_the_doubt_does_not_end_it)
{
    struct parcel *p = sent_apart();
    fixture_pass(10);
    target_doubt(fx.b, slow);
    fixture_report(p, REPORT_OK);
    cr_expect(slow->doubted);
    cr_expect_neq(slow->state, TARGET_UP);
    bridge_check(fx.b);
}

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

Test(apart, records_that_wait_for_the_next_transaction_keep_their_order)
{
    enum { N = 200 };
    struct parcel *first = sent_apart(), *second = sent_apart();
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

Test(apart, record_that_is_due_later_waits_behind_parked_ones)
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

Test(apart, parked_record_is_sent_before_a_ready_one_that_is_due_later)
{
    (void)complete();
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
    struct parcel *first = sent_apart(), *second = sent_apart();
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

Test(apart, records_of_a_failed_transaction_keep_their_order)
{
    expect_order_after_a_restart(true);
}

Test(apart, records_of_a_transaction_that_is_given_up_keep_their_order)
{
    expect_order_after_a_restart(false);
}

Test(apart, parked_records_come_first_when_their_target_is_fast_again)
{
    fx.is_full = true;
    (void)due_for_orders(START);
    forward_serve(fx.b);
    expect_parked_in_order(1);
    (void)due_for("bills", START + 1);
    (void)due_for_orders(START + 2);
    forward_serve(fx.b);
    judge(1, 1);
    cr_assert_not(slow->is_slow);
    expect_ready_in_order(START, 3);
}

Test(apart, target_that_is_fast_again_sends_no_record_before_parked_ones)
{
    (void)complete();
    slow->is_slow = false;
    (void)due_for_orders(START + 1);
    forward_serve(fx.b);
    expect_parked_in_order(1);
    block_ready_records(START + 2);
    expect_ready_in_order(START + 1, 2);
    bridge_check(fx.b);
}

Test(apart, record_that_is_shared_waits_behind_parked_ones)
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

/* A reload of the configuration ends all events while the record waits. */
Test(apart, record_that_owes_an_event_is_shared)
{
    fx.target = "orders";
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, fx.b->now.wall_ms);
    fx.b->config.event_source = "bridge";
    fx.b->events.wanted = EVENT_BIT(EVENT_ACCEPTED);
    event_note(fx.b, p, EVENT_ACCEPTED);
    fx.b->events.wanted = 0;
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    cr_assert_eq(p->state, PARCEL_IN_FLIGHT);
    cr_expect_not(p->apart);
    cr_expect_eq(fx.sent.kind, FORWARD_EVENT);
    bridge_check(fx.b);
}

/* Its records are acknowledged and not committed yet. */
Test(apart, parked_records_stay_parked_while_a_shared_transaction_has_their_target)
{
    slow->is_slow = false;
    fixture_report(sent_to("orders"), REPORT_OK);
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

/* A lone record failed, and its producer is being replaced. */
static void break_alone(void)
{
    fx.target = "bills";
    struct parcel *p =
        fixture_parcel(SLOT_SCHEDULE, fixture_queue(SLOT_SCHEDULE)->window.next, fx.b->now.wall_ms);
    p->alone = true;
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    fixture_report(p, REPORT_REFUSED);
    bridge_aborted(fx.b, ABORT_CAUSE_RECORDS, "refused");
    cr_assert_eq(fx.b->txn.state, TXN_BROKEN);
}

Test(apart, clock_that_steps_back_breaks_it_even_while_a_producer_is_replaced)
{
    (void)sent_apart();
    break_alone();
    cr_expect_not(outcome_break(fx.b, "the clock went back"), "the caller reads the lanes again");
    cr_expect_eq(fx.aborts_apart, 1);
}

Test(apart, revocation_does_not_wait_for_it_while_a_producer_is_replaced)
{
    struct parcel *p = sent_apart();
    cr_expect(apart_is_owed(fx.b));
    break_alone();
    fixture_report(p, REPORT_OK);
    cr_expect_not(apart_is_owed(fx.b));
}

static void be_refused_for_3_s(void)
{
    fx.is_full = true;
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, fx.b->now.wall_ms);
    for (int i = 0; i < 30; i++) {
        cr_expect(slow->is_slow);
        parcel_ready(fx.b, p);
        forward_serve(fx.b);
        fixture_pass(100);
    }
}

Test(apart, port_that_accepts_no_record_lets_targets_share)
{
    fx.is_apart_held = true;
    be_refused_for_3_s();
    cr_expect_not(slow->is_slow);
}

Test(apart, port_that_limits_its_rate_changes_no_target)
{
    be_refused_for_3_s();
    cr_expect(slow->is_slow);
}

/* Brokers hold the last transaction of its producer. */
Test(apart, no_target_is_slow_before_the_port_is_ready_for_it)
{
    slow->is_slow = false;
    fx.is_apart_held = true;
    judge(400, 1);
    cr_expect_not(slow->is_slow);
    cr_expect_eq(fixture_notices(NOTICE_TARGET_APART), 0);
    fx.is_apart_held = false;
    judge(400, 1);
    cr_expect(slow->is_slow);
}

Test(apart, records_that_are_held_have_an_eighth_of_the_memory)
{
    (void)complete();
    fx.b->apart.state = APART_OPEN;
    cr_expect(apart_takes(fx.b));
    fx.b->apart.bytes = (size_t)fx.b->config.memory_bytes / 8;
    cr_expect_not(apart_takes(fx.b));
}

Test(apart, slot_of_a_target_with_held_records_is_not_used_again)
{
    (void)complete();
    char name[16];
    slow->took_mono_ms = fast->took_mono_ms = 0;
    for (int i = 0; i < 3 * TARGETS_MAX; i++) {
        snprintf(name, sizeof name, "t%d", i);
        (void)target_get(fx.b, bytes_text(name));
    }
    cr_expect_eq(target_find(fx.b, bytes_text("orders")), slow);
}
