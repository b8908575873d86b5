/* SPDX-License-Identifier: Apache-2.0 */
/* outcome: the fate of a record after its report, in at-least-once mode. */
#include "bridge/core/bridge.h"
#include "bridge/core/cluster.h"
#include "bridge/core/forward.h"
#include "bridge/core/outcome.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

enum { HOUR_MS = 3600 * 1000 };

TestSuite(outcome, .init = fixture_start, .fini = fixture_stop);

static struct parcel *delivery(void)
{
    return fixture_send(SLOT_SCHEDULE, fixture_queue(SLOT_SCHEDULE)->window.next,
                        fx.b->now.wall_ms);
}

static struct parcel *hop(void)
{
    return fixture_send(SLOT_SCHEDULE, fixture_queue(SLOT_SCHEDULE)->window.next,
                        fx.b->now.wall_ms + HOUR_MS);
}

static struct parcel *dead(void)
{
    return fixture_send_dead(SLOT_SCHEDULE, fixture_queue(SLOT_SCHEDULE)->window.next);
}

/* Sends a record again that is ready. */
static void send_again(const struct parcel *p)
{
    forward_serve(fx.b);
    cr_assert_eq(p->state, PARCEL_IN_FLIGHT);
}

static const struct stamp *stamp_of(const struct parcel *p)
{
    static struct envelope env;
    cr_assert_eq(envelope_open(p->record->value, &env), 0);
    return &env.stamp;
}

static bool is_done(int64_t offset)
{
    return window_is_done(&fixture_queue(SLOT_SCHEDULE)->window, offset);
}

static const struct target_stats *target_stats_of_orders(void)
{
    return &fx.stats.targets[1];
}

static uint64_t n(const struct counter *counter)
{
    return counter_read(counter);
}

Test(outcome, acknowledged_delivery_is_counted_and_done)
{
    struct parcel *p = delivery();
    p->delayed_ms = 500;
    fixture_report(p, REPORT_OK);
    cr_expect(is_done(START));
    cr_expect_eq(n(&fx.stats.deliveries), 1);
    cr_expect_eq(n(&fx.stats.slots[SLOT_SCHEDULE].deliveries), 1);
    cr_expect_eq(n(&target_stats_of_orders()->deliveries), 1);
    cr_expect_eq(n(&fx.stats.target_delay.sum_ms), 500);
    cr_expect_eq(bridge_in_flight(fx.b), 0);
    bridge_check(fx.b);
}

Test(outcome, delivery_that_its_target_did_not_delay_has_no_delay)
{
    fixture_report(delivery(), REPORT_OK);
    cr_expect_eq(n(&fx.stats.target_delay.n[0]), 0);
}

Test(outcome, acknowledged_hop_is_counted_and_done)
{
    struct parcel *p = hop();
    cr_assert_eq(p->to_slot, LONG_LEVEL);
    fixture_report(p, REPORT_OK);
    cr_expect(is_done(START));
    cr_expect_eq(n(&fx.stats.hops), 1);
    cr_expect_eq(n(&fx.stats.slots[SLOT_SCHEDULE].hops), 1);
    cr_expect_eq(fixture_queue(LONG_LEVEL)->redelivering, 0);
}

Test(outcome, hop_of_a_record_that_its_target_delays_is_counted_there)
{
    struct parcel *p = hop();
    p->overdue_wall_ms = BEGIN_WALL_MS;
    fixture_report(p, REPORT_OK);
    cr_expect_eq(fixture_queue(LONG_LEVEL)->redelivering, 1);
}

Test(outcome, acknowledged_dead_letter_is_counted_by_its_code)
{
    fixture_report(dead(), REPORT_OK);
    cr_expect(is_done(START));
    cr_expect_eq(n(&fx.stats.dead[CODE_EXPIRED]), 1);
    cr_expect_eq(n(&target_stats_of_orders()->dead[CODE_EXPIRED]), 1);
    cr_expect_eq(n(&fx.stats.slots[SLOT_SCHEDULE].dead), 1);
}

Test(outcome, refused_delivery_waits_for_its_next_attempt)
{
    struct parcel *p = delivery();
    fixture_report(p, REPORT_REFUSED);
    cr_expect_not(is_done(START));
    cr_expect_eq(stamp_of(p)->attempt, 1);
    cr_expect_gt(stamp_of(p)->next_try_ms, fx.b->now.wall_ms);
    cr_expect_eq(stamp_of(p)->extras.error_code, DELIVERY_REFUSED);
    cr_expect_eq(n(&fx.stats.redeliveries), 1);
    const struct notice *notice = fixture_notice(NOTICE_DELIVERY_FAILED);
    cr_assert_not_null(notice);
    cr_expect_eq(notice->error, DELIVERY_REFUSED);
    cr_expect_eq(notice->attempt, 1);
    cr_expect_str_eq(notice->reason, "a phrase");
    bridge_check(fx.b);
}

Test(outcome, last_attempt_that_failed_ends_in_a_dead_letter)
{
    fx.config.max_attempts = 1;
    fixture_again();
    struct parcel *p = delivery();
    fixture_report(p, REPORT_REFUSED);
    cr_assert_not_null(p->dead_letter);
    cr_expect_eq(p->dead_letter->refusal.code, CODE_TARGET_FAILED);
    cr_expect_eq(n(&fx.stats.redeliveries), 0);
    send_again(p);
    cr_expect_eq(p->kind, FORWARD_DEAD);
}

Test(outcome, entry_of_a_target_may_have_its_own_attempts)
{
    static const struct target_rule rules[] = {{.max_attempts = 1}, {.max_attempts = 9}};
    fx.config.target_rules = rules;
    fixture_again();
    struct parcel *p = delivery();
    fixture_report(p, REPORT_REFUSED);
    cr_expect_not_null(p->dead_letter);
}

Test(outcome, record_too_large_in_a_batch_is_tried_alone)
{
    struct parcel *p = delivery();
    fixture_report(p, REPORT_TOO_LARGE);
    cr_expect_null(p->dead_letter);
    send_again(p);
    cr_expect(fx.sent.alone);
    fixture_report(p, REPORT_TOO_LARGE);
    cr_assert_not_null(p->dead_letter);
    cr_expect_eq(p->dead_letter->refusal.code, CODE_TOO_LARGE);
}

Test(outcome, unfit_record_in_a_batch_is_tried_alone)
{
    struct parcel *p = delivery();
    fixture_report(p, REPORT_UNFIT);
    cr_expect_eq(stamp_of(p)->attempt, 0);
    send_again(p);
    cr_expect(fx.sent.alone);
    fixture_report(p, REPORT_UNFIT);
    cr_expect_eq(stamp_of(p)->attempt, 1);
    cr_expect_eq(stamp_of(p)->extras.error_code, DELIVERY_UNFIT);
}

Test(outcome, record_that_was_not_sent_is_sent_again_without_an_attempt)
{
    struct parcel *p = delivery();
    fixture_report(p, REPORT_NOT_SENT);
    cr_expect_eq(p->state, PARCEL_WAITING);
    cr_expect_eq(stamp_of(p)->attempt, 0);
    cr_expect_eq(n(&fx.stats.resends), 1);
}

Test(outcome, timeout_while_others_were_acknowledged_is_an_attempt)
{
    struct parcel *p = delivery();
    fixture_pass(AWAY_MS);
    cluster_answered(fx.b);
    fixture_pass(AWAY_MS);
    fixture_report(p, REPORT_TIMED_OUT);
    cr_expect_eq(stamp_of(p)->attempt, 1);
    cr_expect_eq(stamp_of(p)->extras.error_code, DELIVERY_TIMED_OUT);
}

Test(outcome, timeout_while_the_cluster_was_away_is_no_attempt)
{
    struct parcel *p = delivery();
    fixture_pass(AWAY_MS + 1);
    fixture_report(p, REPORT_TIMED_OUT);
    cr_expect_eq(stamp_of(p)->attempt, 0);
    cr_expect_eq(n(&fx.stats.resends), 1);
    cr_expect_eq(fx.notices_n, 0, "the target did not fail");
}

Test(outcome, timeout_after_an_absence_of_the_cluster_is_no_attempt)
{
    struct parcel *p = delivery();
    fixture_pass(AWAY_MS + 1);
    cluster_answered(fx.b);
    fixture_report(p, REPORT_TIMED_OUT);
    cr_expect_eq(stamp_of(p)->attempt, 0);
}

Test(outcome, hop_too_large_for_its_level_ends_in_a_dead_letter)
{
    struct parcel *p = hop();
    fixture_report(p, REPORT_TOO_LARGE);
    cr_assert_not_null(p->dead_letter);
    cr_expect_eq(p->dead_letter->refusal.code, CODE_TOO_LARGE);
}

Test(outcome, hop_that_failed_is_sent_again_indefinitely)
{
    struct parcel *p = hop();
    const enum report failures[] = {REPORT_REFUSED, REPORT_UNFIT, REPORT_NOT_SENT};
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        fixture_report(p, failures[i]);
        cr_expect_null(p->dead_letter);
        cr_expect_eq(n(&fx.stats.resends), i + 1);
        fixture_pass(RESEND_MS);
        parcel_ready(fx.b, p);
        send_again(p);
    }
    const struct notice *notice = fixture_notice(NOTICE_FORWARD_FAILED);
    cr_assert_not_null(notice);
    cr_expect_eq(notice->to_slot, LONG_LEVEL);
    cr_expect_eq(notice->offset, START);
}

Test(outcome, dead_letter_too_large_goes_alone_then_without_value_then_bare)
{
    struct parcel *p = dead();
    fixture_report(p, REPORT_TOO_LARGE);
    send_again(p);
    cr_expect(fx.sent.alone);
    cr_expect_eq(fx.sent.content, DEAD_LETTER_FULL);
    fixture_report(p, REPORT_TOO_LARGE);
    send_again(p);
    cr_expect_eq(fx.sent.content, DEAD_LETTER_NO_VALUE);
    fixture_report(p, REPORT_TOO_LARGE);
    send_again(p);
    cr_expect_eq(fx.sent.content, DEAD_LETTER_REASON_ONLY);
    fixture_report(p, REPORT_TOO_LARGE);
    cr_expect_eq(p->state, PARCEL_WAITING, "it is sent again as it is");
    cr_expect_eq(fixture_notices(NOTICE_FORWARD_FAILED), 1);
}

Test(outcome, late_success_of_a_lost_lane_is_done)
{
    struct parcel *p = delivery();
    bridge_lane_lost(fx.b, 0);
    fixture_report(p, REPORT_OK);
    cr_expect(is_done(START));
    cr_expect_eq(n(&fx.stats.deliveries), 1);
    cr_expect_eq(bridge_in_flight(fx.b), 0);
}

Test(outcome, late_failure_of_a_lost_lane_only_frees)
{
    struct parcel *p = delivery();
    bridge_lane_lost(fx.b, 0);
    fixture_report(p, REPORT_REFUSED);
    cr_expect_not(is_done(START));
    cr_expect_eq(n(&fx.stats.redeliveries), 0);
    cr_expect_eq(p->state, PARCEL_FREE);
}

Test(outcome, success_of_another_log_is_not_done)
{
    struct parcel *p = delivery();
    bridge_lane_lost(fx.b, 0);
    p->ownership = FOREIGN;
    fixture_report(p, REPORT_OK);
    cr_expect_not(is_done(START));
    cr_expect_eq(n(&fx.stats.deliveries), 0);
}

Test(outcome, at_least_once_nothing_is_broken)
{
    (void)delivery();
    cr_expect_not(outcome_break(fx.b, "a cause"));
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(counter_read(&fx.stats.aborts), 0);
}
