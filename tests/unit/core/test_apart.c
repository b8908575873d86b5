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
#include "tests/unit/core/apart_fixture.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(apart, .init = apart_start, .fini = fixture_stop);

Test(apart, records_of_one_target_are_never_in_two_transactions)
{
    struct parcel *p = apart_sent();
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
    (void)apart_complete();
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
    struct parcel *p = apart_sent_to("bills");
    (void)apart_complete();
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
    (void)apart_complete();
    fx.b->txn.single_failed = true;
    commit_serve(fx.b);
    bridge_committed(fx.b, fx.seq, true);
    cr_expect(fx.b->txn.single_failed);
}

/* Its queue has another log now, so no progress is announced. */
Test(apart, transaction_without_progress_is_committed)
{
    (void)apart_complete();
    queue_replaced(fx.b, fixture_queue(SLOT_SCHEDULE), START, "by a test");
    commit_serve(fx.b);
    cr_expect_eq(fx.finishes, 1);
    cr_expect_eq(fx.progress_n, 0);
}

Test(apart, turn_that_is_refused_comes_after_a_commit_of_progress)
{
    fx.has_no_turn = true;
    (void)apart_complete();
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
    (void)apart_complete();
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
    struct parcel *failed = apart_sent(), *held = apart_sent();
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
    (void)apart_complete();
    commit_serve(fx.b);
    bridge_aborted(fx.b, ABORT_CAUSE_CLUSTER, "a phrase");
    cr_expect_not(slow->is_slow);
    cr_expect_eq(slow->state, TARGET_UP);
    cr_expect(fast->is_slow, "it has no record in it");
    cr_expect(fx.reread);
}

Test(apart, failure_in_its_turn_that_names_no_record_suspects_its_targets)
{
    (void)apart_complete();
    commit_serve(fx.b);
    bridge_aborted(fx.b, ABORT_CAUSE_RECORDS, "a phrase");
    cr_expect_eq(slow->state, TARGET_PROBING);
    cr_expect_eq(fast->state, TARGET_UP);
}

Test(apart, lane_that_is_lost_changes_no_target)
{
    struct parcel *p = apart_sent();
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(fx.aborts_apart, 1);
    fixture_report(p, REPORT_OK);
    bridge_apart_restarted(fx.b);
    cr_expect(slow->is_slow);
}

Test(apart, timeout_doubts_the_target)
{
    struct parcel *other = apart_sent(), *p = apart_sent();
    fixture_report(p, REPORT_TIMED_OUT);
    cr_expect(slow->doubted);
    slow->doubted = false;
    fixture_report(other, REPORT_NOT_SENT);
    cr_expect(slow->doubted, "it may be the cause, too");
}

Test(apart, record_that_was_not_sent_doubts_no_target)
{
    fixture_report(apart_sent(), REPORT_NOT_SENT);
    cr_expect_not(slow->doubted);
    cr_expect_eq(slow->state, TARGET_UP);
}

Test(apart, silence_is_the_fault_of_a_target_only_if_others_acknowledge)
{
    (void)apart_sent();
    fixture_pass(3500);
    cr_expect_not(apart_is_silent(fx.b));
    (void)apart_sent_to("bills");
    cr_expect_not(apart_is_silent(fx.b), "a record that was sent is no acknowledgement");
    fx.b->cluster.acked_mono_ms = fx.b->now.mono_ms;
    cr_expect(apart_is_silent(fx.b));
    outcome_watch_silence(fx.b);
    cr_expect_eq(slow->state, TARGET_DOWN);
    cr_expect_eq(fast->state, TARGET_UP);
}

Test(apart, its_acknowledgements_do_not_hide_the_silence_of_another_target)
{
    struct parcel *answered = apart_sent_to("bills");
    (void)apart_sent_to("bills");
    struct parcel *p = apart_sent();
    fixture_report(answered, REPORT_OK);
    fixture_pass(TXN_AGE_MAX_MS);
    commit_serve(fx.b);
    cr_assert_eq(fx.b->txn.state, TXN_ENDING);
    for (int64_t ms = TXN_LISTEN_MS; ms < TXN_SILENT_MS; ms += TXN_LISTEN_MS) {
        fixture_pass(TXN_LISTEN_MS);
        outcome_watch_silence(fx.b);
    }
    fixture_pass(TXN_LISTEN_MS - 1);
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
    struct parcel *other = apart_sent(), *p = apart_sent();
    fixture_report(p, REPORT_TIMED_OUT);
    fixture_report(other, REPORT_OK);
    cr_expect(slow->doubted);
    cr_expect_neq(slow->state, TARGET_UP, "it is looked up before its next record");
}

/* The timeout of a record whose lane was lost fails no transaction. */
Test(apart, success_of_a_record_that_was_sent_before_the_doubt_does_not_end_it)
{
    struct parcel *p = apart_sent();
    fixture_pass(10);
    target_doubt(fx.b, slow);
    fixture_report(p, REPORT_OK);
    cr_expect(slow->doubted);
    cr_expect_neq(slow->state, TARGET_UP);
    bridge_check(fx.b);
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
    (void)apart_sent();
    break_alone();
    cr_expect_not(outcome_break(fx.b, "the clock went back"), "the caller reads the lanes again");
    cr_expect_eq(fx.aborts_apart, 1);
}

Test(apart, revocation_does_not_wait_for_it_while_a_producer_is_replaced)
{
    struct parcel *p = apart_sent();
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

Test(apart, records_that_are_held_have_an_eighth_of_the_memory)
{
    (void)apart_complete();
    fx.b->apart.state = APART_OPEN;
    cr_expect(apart_takes(fx.b));
    fx.b->apart.bytes = (size_t)fx.b->config.memory_bytes / 8;
    cr_expect_not(apart_takes(fx.b));
}

Test(apart, slot_of_a_target_with_held_records_is_not_used_again)
{
    (void)apart_complete();
    char name[16];
    slow->took_mono_ms = fast->took_mono_ms = 0;
    for (int i = 0; i < 3 * TARGETS_MAX; i++) {
        snprintf(name, sizeof name, "t%d", i);
        (void)target_get(fx.b, bytes_text(name));
    }
    cr_expect_eq(target_find(fx.b, bytes_text("orders")), slow);
}
