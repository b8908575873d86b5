/* SPDX-License-Identifier: Apache-2.0 */
/* target_exactly: targets that share a transaction, in exactly-once mode. A target that stalls the
   transaction of all others is tried alone, and ever more rarely. */
#include "bridge/core/bridge.h"
#include "bridge/core/target.h"
#include "bridge/core/target_limits.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

static struct target *t;

static void start(void)
{
    fixture_start_exactly_once();
    t = fixture_target("orders");
}

TestSuite(target_exactly, .init = start, .fini = fixture_stop);

static enum gate gate(void)
{
    return target_gate(fx.b, t);
}

static struct parcel *sent(void)
{
    return fixture_send(SLOT_SCHEDULE, fixture_queue(SLOT_SCHEDULE)->window.next,
                        fx.b->now.wall_ms);
}

/* Lets the target stall a transaction, and reports its record. */
static void stall(void)
{
    t->state = TARGET_UP;
    t->in_transaction = true;
    t->in_flight++;
    fx.b->in_flight++;
    cr_assert(targets_take_down_silent(fx.b, "silent"));
    t->in_flight--;
    fx.b->in_flight--;
}

static int64_t down_ms(void)
{
    return t->recheck_mono_ms - fx.b->now.mono_ms;
}

Test(target_exactly, target_without_all_leaders_is_deferred)
{
    fx.lookup = LOOKUP_UNWRITABLE;
    cr_expect_eq(gate(), GATE_DEFER);
    cr_expect_eq(t->error, DELIVERY_TIMED_OUT);
    cr_expect_eq(down_ms(), DOWN_MS);
}

Test(target_exactly, target_without_spare_replicas_is_tried_alone)
{
    fx.lookup = LOOKUP_FOUND;
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(t->state, TARGET_PROBING);
    fixture_again();
    t = fixture_target("orders");
    fx.lookup = LOOKUP_WHOLE;
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(t->state, TARGET_UP);
}

Test(target_exactly, record_marks_its_target_as_part_of_the_transaction)
{
    struct parcel *p = sent();
    cr_expect(t->in_transaction);
    cr_expect(fx.b->targets.in_transaction);
    cr_expect_eq(p->target, t);
    targets_forget_transaction(fx.b);
    cr_expect_not(t->in_transaction);
    cr_expect_not(fx.b->targets.in_transaction);
}

Test(target_exactly, each_stall_doubles_the_time_without_a_try)
{
    int64_t ms = DOWN_MS;
    for (int i = 1; i <= STALLS_MAX; i++, ms *= 2) {
        stall();
        cr_expect_eq(t->stalls, i);
        cr_expect_eq(down_ms(), ms);
        fixture_pass(ms);
    }
    stall();
    cr_expect_eq(t->stalls, STALLS_MAX);
}

Test(target_exactly, stall_of_long_ago_is_forgotten)
{
    stall();
    fixture_pass(down_ms() + STALLS_FORGOTTEN_MS);
    stall();
    cr_expect_eq(t->stalls, 1);
}

Test(target_exactly, success_long_after_a_stall_forgets_it)
{
    struct parcel *p = sent();
    t->stalls = 2;
    target_reported(fx.b, t, p, &(struct answer){.report = REPORT_OK});
    cr_expect_eq(t->stalls, 0);
}

Test(target_exactly, success_soon_after_a_stall_keeps_its_count)
{
    struct parcel *p = sent();
    t->stalls = 2;
    t->recheck_mono_ms = fx.b->now.mono_ms;
    target_reported(fx.b, t, p, &(struct answer){.report = REPORT_OK});
    cr_expect_eq(t->stalls, 2);
}

Test(target_exactly, target_that_is_down_stalls_no_second_time)
{
    stall();
    int64_t recheck_ms = t->recheck_mono_ms;
    fixture_pass(10);
    t->in_transaction = true;
    t->in_flight = fx.b->in_flight = 1;
    cr_expect(targets_take_down_silent(fx.b, "silent"));
    t->in_flight = fx.b->in_flight = 0;
    cr_expect_eq(t->recheck_mono_ms, recheck_ms);
}

Test(target_exactly, target_is_not_blamed_while_a_topic_of_ours_is_in_flight)
{
    t->in_transaction = true;
    t->in_flight = 1;
    fx.b->in_flight = 2;
    cr_expect_not(targets_take_down_silent(fx.b, "silent"));
    t->in_flight = fx.b->in_flight = 0;
    cr_expect_eq(fx.notices_n, 0);
}

Test(target_exactly, targets_without_a_record_in_flight_are_not_blamed)
{
    struct target *other = fixture_target("bills");
    other->in_transaction = t->in_transaction = true;
    t->in_flight = fx.b->in_flight = 1;
    cr_expect(targets_take_down_silent(fx.b, "silent"));
    t->in_flight = fx.b->in_flight = 0;
    cr_expect_eq(t->state, TARGET_DOWN);
    cr_expect_eq(other->state, TARGET_UNKNOWN);
}

Test(target_exactly, timeout_of_a_record_stalls_its_target)
{
    struct parcel *p = sent();
    target_reported(fx.b, t, p, &(struct answer){REPORT_TIMED_OUT, true, "no answer"});
    cr_expect_eq(t->stalls, 1);
    cr_expect_eq(gate(), GATE_DEFER);
}

Test(target_exactly, second_stall_within_ten_seconds_is_prevented)
{
    stall();
    fixture_pass(DOWN_MS);
    cr_expect_eq(gate(), GATE_DEFER, "its wait is over, but the last stall is too near");
    fixture_pass(STALL_GAP_MS - DOWN_MS);
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(t->state, TARGET_PROBING);
}

Test(target_exactly, targets_of_a_broken_transaction_are_tried_alone)
{
    struct target *other = fixture_target("bills"), *down = fixture_target("orders.down");
    t->in_transaction = down->in_transaction = true;
    t->state = TARGET_UP;
    target_refuses(fx.b, down, "not authorized");
    targets_suspect(fx.b, "the transaction broke");
    cr_expect_eq(t->state, TARGET_PROBING);
    cr_expect_str_eq(t->why, "the transaction broke");
    cr_expect_eq(other->state, TARGET_UNKNOWN);
    cr_expect_str_eq(down->why, "not authorized");
}

Test(target_exactly, doubted_target_is_looked_up_again)
{
    fx.lookup = LOOKUP_WHOLE;
    cr_assert_eq(gate(), GATE_OPEN);
    target_doubt(fx.b, t);
    cr_expect_eq(t->state, TARGET_UNKNOWN);
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(fx.lookups, 2);
    cr_expect_eq(t->state, TARGET_PROBING, "and tried alone");
}

Test(target_exactly, doubted_target_that_is_tried_alone_is_looked_up_again)
{
    fx.lookup = LOOKUP_FOUND;
    cr_assert_eq(gate(), GATE_OPEN);
    cr_assert_eq(t->state, TARGET_PROBING);
    target_doubt(fx.b, t);
    cr_expect_eq(t->state, TARGET_UNKNOWN);
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(fx.lookups, 2);
}

Test(target_exactly, doubt_does_not_reopen_a_target_that_is_down)
{
    target_refuses(fx.b, t, "not authorized");
    target_doubt(fx.b, t);
    cr_expect_eq(t->state, TARGET_DOWN);
}

Test(target_exactly, success_in_a_failed_transaction_ends_no_doubt)
{
    fx.lookup = LOOKUP_WHOLE;
    struct parcel *other = sent(), *p = sent();
    fixture_report(p, REPORT_TIMED_OUT);
    fixture_report(other, REPORT_OK);
    cr_expect(t->doubted);
    cr_expect_neq(t->state, TARGET_UP, "it is looked up before its next record");
}

/* The timeout of a record whose lane was lost fails no transaction. */
Test(target_exactly, success_of_a_record_that_was_sent_before_the_doubt_does_not_end_it)
{
    struct parcel *p = sent();
    fixture_pass(10);
    target_doubt(fx.b, t);
    fixture_report(p, REPORT_OK);
    cr_expect(t->doubted);
    cr_expect_neq(t->state, TARGET_UP);
    bridge_check(fx.b);
}

Test(target_exactly, doubted_target_waits_while_there_is_no_spare_producer)
{
    fixture_hold_spares();
    fx.lookup = LOOKUP_FOUND;
    target_doubt(fx.b, t);
    cr_expect_eq(gate(), GATE_WAIT);
    fixture_pass(DOWN_MS);
    cr_expect_eq(gate(), GATE_DEFER);
    cr_expect_eq(t->error, DELIVERY_TIMED_OUT);
    cr_expect_eq(t->state, TARGET_DOWN);
    cr_expect_eq(fx.notices_n, 0, "the target did not fail");
}

Test(target_exactly, doubted_target_is_tried_when_the_brokers_know_its_leaders)
{
    fixture_hold_spares();
    fx.lookup = LOOKUP_WHOLE;
    target_doubt(fx.b, t);
    fixture_pass(LEADERS_MS);
    cr_expect_eq(gate(), GATE_OPEN);
}

Test(target_exactly, target_that_stalled_keeps_its_reason_while_it_is_deferred)
{
    stall();
    fixture_hold_spares();
    fx.lookup = LOOKUP_FOUND;
    fixture_pass(STALL_GAP_MS);
    cr_expect_eq(gate(), GATE_DEFER);
    cr_expect_str_eq(t->why, "silent");
}

Test(target_exactly, lone_record_too_large_proves_the_limit_for_a_minute)
{
    struct parcel *p = sent();
    cr_expect_not(target_is_too_small(fx.b, t, p));
    target_note_too_large(fx.b, t, p, false);
    cr_expect_not(target_is_too_small(fx.b, t, p), "another record of the batch may be the cause");
    target_note_too_large(fx.b, t, p, true);
    cr_expect(target_is_too_small(fx.b, t, p));
    p->record->cost_bytes--;
    cr_expect_not(target_is_too_small(fx.b, t, p));
    p->record->cost_bytes++;
    fixture_pass(PROVEN_MS);
    cr_expect_not(target_is_too_small(fx.b, t, p));
}

Test(target_exactly, limit_of_a_minute_ago_is_replaced_by_a_larger_one)
{
    struct parcel *p = sent();
    target_note_too_large(fx.b, t, p, true);
    fixture_pass(PROVEN_MS);
    p->record->cost_bytes++;
    target_note_too_large(fx.b, t, p, true);
    cr_expect_eq(t->proven_bytes, p->record->cost_bytes);
    p->record->cost_bytes--;
}

Test(target_exactly, record_a_little_below_the_proven_limit_stays_suspect)
{
    struct parcel *p = sent();
    size_t cost = p->record->cost_bytes;
    target_note_too_large(fx.b, t, p, true);
    p->record->cost_bytes = cost / 2;
    target_note_fits(t, p);
    cr_expect_eq(t->large_bytes, cost - cost / 8);
    p->record->cost_bytes = cost - 1;
    target_note_fits(t, p);
    cr_expect_eq(t->large_bytes, cost);
    p->record->cost_bytes = cost;
}

Test(target_exactly, record_of_the_proven_size_that_fits_ends_the_proof)
{
    struct parcel *p = sent();
    target_note_too_large(fx.b, t, p, true);
    target_note_fits(t, p);
    cr_expect_not(target_is_too_small(fx.b, t, p));
    cr_expect_eq(t->large_bytes, 0);
}

Test(target_exactly, records_without_a_key_are_suspected_first)
{
    struct parcel *p = sent();
    t->keyless_in_transaction = true;
    target_reported(fx.b, t, p, &(struct answer){REPORT_UNFIT, false, "invalid record"});
    cr_expect_not(target_may_be_unfit(fx.b, t, p, 0));
    p->keyless = true;
    cr_expect(target_may_be_unfit(fx.b, t, p, 0));
    cr_expect_not(target_refuses_keyless(fx.b, t), "it was not alone");
}

Test(target_exactly, lone_record_without_a_key_shows_that_the_target_wants_keys)
{
    struct parcel *p = sent();
    p->keyless = true;
    target_note_unfit(fx.b, t, p, true);
    cr_expect(target_refuses_keyless(fx.b, t));
    fixture_pass(PROVEN_MS);
    cr_expect_not(target_refuses_keyless(fx.b, t));
}

Test(target_exactly, record_without_a_key_that_fits_ends_the_suspicion)
{
    struct parcel *p = sent();
    p->keyless = t->keyless_suspect = true;
    target_reported(fx.b, t, p, &(struct answer){.report = REPORT_OK});
    cr_expect_not(t->keyless_suspect);
}

Test(target_exactly, record_that_was_refused_is_tried_alone_for_a_minute)
{
    struct parcel *p = sent();
    target_note_unfit(fx.b, t, p, true);
    cr_expect(target_may_be_unfit(fx.b, t, p, 1));
    cr_expect_not(target_may_be_unfit(fx.b, t, p, 0), "it did not fail yet");
    fixture_pass(PROVEN_MS);
    cr_expect_not(target_may_be_unfit(fx.b, t, p, 1));
}
