/* SPDX-License-Identifier: Apache-2.0 */
/* outcome_exactly: the fate of a record and of its transaction, in exactly-once mode. */
#include "bridge/core/bridge.h"
#include "bridge/core/cluster.h"
#include "bridge/core/commit.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/forward.h"
#include "bridge/core/outcome.h"
#include "bridge/core/outlet.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/ready.h"
#include "bridge/core/transaction.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

enum { HOUR_MS = 3600 * 1000 };

static void start(void)
{
    fixture_start_exactly_once();
    fx.lookup = LOOKUP_WHOLE;
}

TestSuite(outcome_exactly, .init = start, .fini = fixture_stop);

static int64_t next_offset(void)
{
    return fixture_queue(SLOT_SCHEDULE)->window.next;
}

static struct parcel *delivery(void)
{
    return fixture_send(SLOT_SCHEDULE, next_offset(), fx.b->now.wall_ms);
}

/* Sends a delivery alone in its transaction. */
static struct parcel *lone_delivery(void)
{
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, next_offset(), fx.b->now.wall_ms);
    p->alone = true;
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    cr_assert_eq(fx.b->txn.single, p);
    return p;
}

/* Sends a dead letter alone in its transaction. */
static struct parcel *lone_dead_letter(void)
{
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, next_offset(), fx.b->now.wall_ms);
    p->alone = true;
    dead_letter_mark(fx.b, p, &(struct refusal){.code = CODE_EXPIRED, .reason = "too late"});
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    cr_assert_eq(fx.b->txn.single, p);
    return p;
}

static struct parcel *hop(void)
{
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, next_offset(), fx.b->now.wall_ms + HOUR_MS);
    parcel_ready(fx.b, p);
    fx.b->hops_since_mono_ms -= TXN_HOPS_MAX_MS; /* hops have waited long enough */
    forward_serve(fx.b);
    cr_assert_eq(p->state, PARCEL_IN_FLIGHT);
    return p;
}

static unsigned note_of(int64_t offset)
{
    for (int i = 0; i < NOTES_MAX; i++) {
        if (fx.b->notes.all[i].queue != NULL && fx.b->notes.all[i].offset == offset)
            return fx.b->notes.all[i].flags;
    }
    return 0;
}

static const struct stamp *stamp_of(const struct parcel *p)
{
    static struct envelope env;
    cr_assert_eq(envelope_open(p->record->value, &env), 0);
    return &env.stamp;
}

static void end_transaction(void)
{
    fixture_pass(TXN_AGE_MAX_MS);
    commit_serve(fx.b);
}

Test(outcome_exactly, transaction_commits_when_all_records_are_acknowledged)
{
    struct parcel *p = delivery();
    end_transaction();
    cr_expect_eq(fx.announces, 1);
    cr_expect_eq(fx.finishes, 0, "a report is missing");
    fixture_report(p, REPORT_OK);
    commit_serve(fx.b);
    cr_assert_eq(fx.finishes, 1);
    fixture_committed();
    cr_expect_eq(fx.b->txn.state, TXN_OPEN);
    cr_expect_eq(fixture_queue(SLOT_SCHEDULE)->base_kept, START + 1);
    bridge_check(fx.b);
}

Test(outcome_exactly, failure_among_others_is_read_again)
{
    struct parcel *failed = delivery(), *other = delivery();
    fixture_report(failed, REPORT_REFUSED);
    cr_expect_eq(failed->state, PARCEL_FREE);
    cr_expect(fx.b->txn.state == TXN_FAILED);
    cr_expect_eq(fixture_target("orders")->state, TARGET_DOWN);
    fixture_report(other, REPORT_NOT_SENT);
    fixture_fail(BLAME_RECORDS, "a record failed");
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
    cr_expect(fx.b->txn.reread);
    cr_expect_eq(fixture_notice(NOTICE_ABORTED)->count, 2);
    cr_expect_eq(fixture_target("orders")->error, DELIVERY_REFUSED);
    cr_expect_eq(fx.b->txn.state, TXN_BROKEN);
}

Test(outcome_exactly, lone_failure_is_an_attempt_and_keeps_the_lanes)
{
    struct parcel *p = lone_delivery();
    fixture_report(p, REPORT_REFUSED);
    cr_expect_eq(p->state, PARCEL_READY, "it waits for the end of its transaction");
    fixture_fail(BLAME_RECORDS, "a record failed");
    cr_expect_eq(stamp_of(p)->attempt, 1);
    cr_expect_not(fx.b->txn.reread);
    cr_expect(fx.b->txn.single_failed);
    outcome_serve(fx.b);
    cr_expect_eq(fx.b->txn.state, TXN_OPEN);
    bridge_check(fx.b);
}

Test(outcome_exactly, lone_record_not_sent_because_of_itself_is_refused)
{
    struct parcel *p = lone_delivery();
    fixture_report(p, REPORT_NOT_SENT);
    fixture_fail(BLAME_RECORDS, "not authorized");
    cr_expect_eq(stamp_of(p)->attempt, 1);
    cr_expect_str_eq(fixture_target("orders")->why, "not authorized");
}

Test(outcome_exactly, lone_record_that_was_not_sent_by_a_fault_of_the_cluster_is_no_attempt)
{
    struct parcel *p = lone_delivery();
    fixture_report(p, REPORT_NOT_SENT);
    fixture_fail(BLAME_CLUSTER, "fenced");
    cr_expect_eq(stamp_of(p)->attempt, 0);
    cr_expect_eq(p->state, PARCEL_WAITING);
    cr_expect_eq(fixture_target("orders")->state, TARGET_UP);
}

Test(outcome_exactly, lone_dead_letter_not_sent_because_of_itself_is_reported)
{
    struct parcel *p = lone_dead_letter();
    fixture_report(p, REPORT_NOT_SENT);
    cr_expect_null(fixture_notice(NOTICE_FORWARD_FAILED), "the cluster may be at fault");
    fixture_fail(BLAME_RECORDS, "not authorized");
    const struct notice *notice = fixture_notice(NOTICE_FORWARD_FAILED);
    cr_assert_not_null(notice);
    cr_expect_str_eq(notice->reason, "not authorized");
    cr_expect_eq(notice->offset, START);
    cr_expect_eq(p->state, PARCEL_WAITING, "it is sent again");
    cr_expect_eq(fixture_notices(NOTICE_TARGET_DOWN), 0);
}

Test(outcome_exactly, targets_of_an_unexplained_failure_are_tried_alone)
{
    (void)delivery();
    fixture_fail(BLAME_RECORDS, "invalid state");
    cr_expect_eq(fixture_target("orders")->state, TARGET_PROBING);
}

Test(outcome_exactly, hop_of_an_unexplained_failure_is_named)
{
    struct parcel *p = hop();
    int64_t offset = p->offset;
    fixture_report(p, REPORT_NOT_SENT);
    fixture_fail(BLAME_RECORDS, "not authorized");
    const struct notice *notice = fixture_notice(NOTICE_FORWARD_FAILED);
    cr_assert_not_null(notice);
    cr_expect_eq(notice->offset, offset);
    cr_expect_eq(notice->to_slot, LONG_LEVEL);
}

Test(outcome_exactly, failure_of_a_transaction_without_records_names_no_hop)
{
    queue_changed(fixture_queue(SLOT_SCHEDULE));
    end_transaction();
    cr_assert_eq(fx.announces, 1, "it has progress only");
    fixture_fail(BLAME_RECORDS, "invalid state");
    cr_expect_eq(fixture_notice(NOTICE_ABORTED)->count, 0);
    cr_expect_eq(fixture_notices(NOTICE_FORWARD_FAILED), 0);
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
    cr_expect(fx.b->txn.reread);
}

Test(outcome_exactly, fault_of_the_cluster_blames_no_target)
{
    (void)delivery();
    fixture_fail(BLAME_CLUSTER, "fenced");
    cr_expect_eq(fixture_target("orders")->state, TARGET_UP);
}

Test(outcome_exactly, record_too_large_in_a_batch_is_noted_for_a_transaction_alone)
{
    fixture_report(delivery(), REPORT_TOO_LARGE);
    cr_expect_eq(note_of(START), NOTE_ALONE);
}

Test(outcome_exactly, unfit_record_is_noted_if_no_keyless_record_may_be_the_cause)
{
    fixture_report(delivery(), REPORT_UNFIT);
    cr_expect_eq(note_of(START), NOTE_ALONE);
    fixture_again();
    struct parcel *p = delivery();
    fixture_target("orders")->keyless_in_transaction = true;
    fixture_report(p, REPORT_UNFIT);
    cr_expect_eq(note_of(START), 0);
}

Test(outcome_exactly, hop_too_large_is_noted_as_fit_for_no_level)
{
    fixture_report(hop(), REPORT_TOO_LARGE);
    cr_expect_eq(note_of(START), NOTE_WITHOUT_LEVEL);
}

Test(outcome_exactly, lone_record_too_large_becomes_a_dead_letter_and_is_noted)
{
    struct parcel *p = lone_delivery();
    fixture_report(p, REPORT_TOO_LARGE);
    fixture_fail(BLAME_RECORDS, "too large");
    cr_assert_not_null(p->dead_letter);
    cr_expect_eq(p->dead_letter->refusal.code, CODE_TOO_LARGE);
    cr_expect(note_of(START) & NOTE_TOO_LARGE, "until its dead letter is committed");
}

Test(outcome_exactly, failed_hop_is_reported_once_it_was_sent)
{
    fixture_report(hop(), REPORT_REFUSED);
    cr_expect_eq(fixture_notices(NOTICE_FORWARD_FAILED), 1);
    fixture_again();
    fx.notices_n = 0;
    fixture_report(hop(), REPORT_NOT_SENT);
    cr_expect_eq(fixture_notices(NOTICE_FORWARD_FAILED), 0);
}

Test(outcome_exactly, success_of_a_lost_lane_is_void)
{
    struct parcel *p = delivery();
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
    cr_expect_not(fx.b->txn.reread, "the lane is lost already");
    fixture_report(p, REPORT_OK);
    cr_expect_not(window_is_done(&fixture_queue(SLOT_SCHEDULE)->window, START));
    cr_expect_eq(counter_read(&fx.stats.deliveries), 0);
}

Test(outcome_exactly, lane_without_an_open_transaction_is_lost_without_an_abort)
{
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(counter_read(&fx.stats.aborts), 0);
}

Test(outcome_exactly, timeout_without_any_acknowledgement_blames_the_cluster)
{
    struct parcel *p = delivery();
    fixture_report(p, REPORT_TIMED_OUT);
    struct target *t = fixture_target("orders");
    cr_expect_eq(t->stalls, 0);
    cr_expect(t->doubted, "its leaders are looked up before the next try");
    cr_expect_eq(t->state, TARGET_UNKNOWN);
}

Test(outcome_exactly, timeout_next_to_acknowledgements_blames_the_target)
{
    struct parcel *p = delivery(), *other = delivery();
    fixture_report(other, REPORT_OK);
    fixture_report(p, REPORT_TIMED_OUT);
    cr_expect_eq(fixture_target("orders")->stalls, 1);
}

Test(outcome_exactly, record_lost_by_the_timeout_of_another_doubts_its_target)
{
    fx.target = "bills";
    struct parcel *other = delivery();
    fx.target = "orders";
    struct parcel *p = delivery();
    fixture_report(p, REPORT_TIMED_OUT);
    fixture_report(other, REPORT_NOT_SENT);
    cr_expect(fixture_target("bills")->doubted);
}

Test(outcome_exactly, record_that_was_not_sent_alone_doubts_no_target)
{
    fixture_report(delivery(), REPORT_NOT_SENT);
    cr_expect_not(fixture_target("orders")->doubted);
}

Test(outcome_exactly, timeout_of_a_hop_doubts_its_topic)
{
    struct parcel *p = hop();
    fixture_report(p, REPORT_TIMED_OUT);
    cr_expect(fx.b->outlets.all[LONG_LEVEL].stalled);
    cr_expect(fx.b->outlets.all[LEVEL].doubted, "the broker may lead other topics too");
}

Test(outcome_exactly, refused_dead_letter_waits_for_a_partition_that_does_not_exist)
{
    struct parcel *p = lone_dead_letter();
    fixture_report(p, REPORT_REFUSED);
    fx.outlet_lookup = LOOKUP_UNWRITABLE;
    cr_expect_not(outlet_takes(fx.b, p, FORWARD_DEAD, SLOT_SCHEDULE));
    cr_expect_eq(fx.b->outlets.down, 1);
    fixture_pass(LOOK_UP_AGAIN_MS);
    fx.outlet_lookup = LOOKUP_WHOLE;
    cr_expect(outlet_takes(fx.b, p, FORWARD_DEAD, SLOT_SCHEDULE));
}

Test(outcome_exactly, break_needs_records_in_flight)
{
    cr_expect_not(outcome_break(fx.b, "the clock went back"));
    (void)delivery();
    cr_expect(outcome_break(fx.b, "the clock went back"));
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
    cr_expect(fx.b->txn.reread);
}

Test(outcome_exactly, break_forgets_a_lone_failure)
{
    struct parcel *p = lone_delivery();
    fixture_report(p, REPORT_REFUSED);
    cr_expect(outcome_break(fx.b, "the clock went back"));
    cr_expect(fx.b->txn.reread);
    cr_expect_eq(stamp_of(p)->attempt, 0);
}

/* Sends records to two targets in one transaction, and one of them acknowledges. Returns the other
   record. */
static struct parcel *silent_next_to_another(void)
{
    fx.target = "bills";
    struct parcel *other = delivery();
    fx.target = "orders";
    struct parcel *p = delivery();
    end_transaction();
    fixture_report(other, REPORT_OK);
    return p;
}

/* Lets time pass, with turns in between. */
static void be_silent(int64_t ms)
{
    for (int64_t left_ms = ms; left_ms > 0; left_ms -= TXN_LISTEN_MS) {
        fixture_pass(left_ms < TXN_LISTEN_MS ? left_ms : TXN_LISTEN_MS);
        outcome_watch_silence(fx.b);
    }
}

Test(outcome_exactly, target_that_acknowledges_nothing_is_left_out_after_three_seconds)
{
    (void)silent_next_to_another();
    be_silent(TXN_SILENT_MS - 1);
    cr_expect_eq(counter_read(&fx.stats.aborts), 0);
    be_silent(1);
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
    cr_expect_eq(fixture_target("orders")->state, TARGET_DOWN);
    cr_expect_eq(fixture_target("bills")->state, TARGET_UP);
}

Test(outcome_exactly, throttled_broker_is_no_silent_target)
{
    (void)silent_next_to_another();
    bridge_throttled(fx.b, 1000);
    be_silent(TXN_SILENT_MS + 999);
    cr_expect_eq(counter_read(&fx.stats.aborts), 0);
    be_silent(1);
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
}

Test(outcome_exactly, silence_while_brokers_answer_nothing_is_no_fault_of_a_target)
{
    struct parcel *p = silent_next_to_another();
    fx.lookup = LOOKUP_UNKNOWN;
    be_silent(TXN_SILENT_MS);
    cr_expect_eq(counter_read(&fx.stats.aborts), 0);
    fixture_report(p, REPORT_TIMED_OUT);
    cr_expect_neq(fixture_target("orders")->state, TARGET_DOWN);
}

Test(outcome_exactly, records_have_time_for_their_acknowledgement_after_an_outage)
{
    (void)silent_next_to_another();
    fx.lookup = LOOKUP_UNKNOWN;
    be_silent(TXN_SILENT_MS);
    fx.lookup = LOOKUP_WHOLE;
    be_silent(HEARD_FOR_MS);
    cr_expect_eq(counter_read(&fx.stats.aborts), 0);
    be_silent(TXN_LISTEN_MS);
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
    cr_expect_eq(fixture_target("orders")->state, TARGET_DOWN);
}

/* A broker that hangs leaves some look-ups without an answer. */
Test(outcome_exactly, two_look_ups_without_an_answer_hide_no_silence)
{
    (void)silent_next_to_another();
    be_silent(TXN_LISTEN_MS);
    fx.lookup = LOOKUP_UNKNOWN;
    be_silent(2 * TXN_LISTEN_MS);
    fx.lookup = LOOKUP_WHOLE;
    be_silent(TXN_SILENT_MS - 3 * TXN_LISTEN_MS);
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
}

Test(outcome_exactly, cluster_that_acknowledges_nothing_blames_no_target)
{
    (void)delivery();
    end_transaction();
    be_silent(TXN_SILENT_MS);
    cr_expect_eq(counter_read(&fx.stats.aborts), 0);
}

Test(outcome_exactly, silence_of_a_target_that_is_tried_alone_is_its_own)
{
    fixture_target("orders")->state = TARGET_PROBING;
    (void)lone_delivery();
    end_transaction();
    be_silent(TXN_SILENT_MS);
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
    cr_expect_eq(fixture_target("orders")->stalls, 1);
}

Test(outcome_exactly, silence_before_the_end_of_a_transaction_is_no_fault)
{
    fx.target = "bills";
    struct parcel *other = delivery();
    fixture_report(other, REPORT_OK);
    fx.target = "orders";
    (void)delivery();
    be_silent(TXN_SILENT_MS);
    cr_expect_eq(counter_read(&fx.stats.aborts), 0);
}
