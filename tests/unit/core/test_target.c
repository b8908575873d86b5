/* SPDX-License-Identifier: Apache-2.0 */
/* target: whether a target takes records now, in at-least-once mode. target_table and target_limits
   have their rules here too. */
#include "bridge/core/bridge.h"
#include "bridge/core/cluster.h"
#include "bridge/core/parcel.h"
#include "bridge/core/target.h"
#include "bridge/core/target_limits.h"
#include "bridge/core/target_table.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct target *t;

static void start(void)
{
    fixture_start();
    t = fixture_target("orders");
}

TestSuite(target, .init = start, .fini = fixture_stop);

static int64_t next_offset(void)
{
    return fixture_queue(SLOT_SCHEDULE)->window.next;
}

static struct parcel *due(void)
{
    return fixture_parcel(SLOT_SCHEDULE, next_offset(), fx.b->now.wall_ms);
}

static struct parcel *sent(void)
{
    return fixture_send(SLOT_SCHEDULE, next_offset(), fx.b->now.wall_ms);
}

static void park(int n)
{
    for (int i = 0; i < n; i++)
        target_park(fx.b, t, due());
}

static int ready(void)
{
    int n = 0;
    const struct list *list = &fx.b->ready[READY_DELIVERIES];
    for (struct link *l = list_first(list); l != NULL; l = list_after(list, l))
        n++;
    return n;
}

static enum gate gate(void)
{
    return target_gate(fx.b, t);
}

/* Acknowledges a record to another target, which proves that Kafka is available. */
static void others_answer(void)
{
    cluster_answered(fx.b);
}

Test(target, unknown_target_is_looked_up_before_its_first_record)
{
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(fx.lookups, 1);
    cr_expect_eq(t->state, TARGET_UP);
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(fx.lookups, 1, "a known target is not looked up again");
}

Test(target, records_are_parked_until_the_lookup_answers)
{
    fx.lookup = LOOKUP_PENDING;
    cr_expect_eq(gate(), GATE_PARK);
    park(1);
    fx.lookup = LOOKUP_WHOLE;
    targets_serve(fx.b);
    cr_expect_eq(fx.b->targets.parked, 0);
    cr_expect_eq(ready(), 1);
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(t->whole_mono_ms, fx.b->now.mono_ms);
}

Test(target, one_target_is_looked_up_at_a_time)
{
    fx.lookup = LOOKUP_PENDING;
    struct target *other = fixture_target("bills");
    cr_expect_eq(gate(), GATE_PARK);
    cr_expect_eq(target_gate(fx.b, other), GATE_PARK);
    cr_expect_eq(fx.lookups, 1);
}

Test(target, lookup_without_an_answer_is_repeated_after_two_seconds)
{
    fx.lookup = LOOKUP_UNKNOWN;
    cr_expect_eq(gate(), GATE_PARK);
    fixture_pass(LOOK_UP_AGAIN_MS - 1);
    cr_expect_eq(gate(), GATE_PARK);
    cr_expect_eq(fx.lookups, 1);
    fixture_pass(1);
    cr_expect_eq(gate(), GATE_PARK);
    cr_expect_eq(fx.lookups, 2);
}

Test(target, missing_target_uses_up_attempts_until_it_is_looked_up_again)
{
    fx.lookup = LOOKUP_MISSING;
    cr_expect_eq(gate(), GATE_FAIL);
    cr_expect_eq(t->error, DELIVERY_MISSING);
    cr_expect_eq(fixture_notice(NOTICE_TARGET_DOWN)->span_ms, MISSING_MS);
    fixture_pass(MISSING_MS - 1);
    cr_expect_eq(gate(), GATE_FAIL);
    cr_expect_eq(fx.lookups, 1);
    fx.lookup = LOOKUP_FOUND;
    fixture_pass(1);
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(t->state, TARGET_PROBING);
}

Test(target, target_without_all_leaders_is_tried)
{
    fx.lookup = LOOKUP_UNWRITABLE;
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(t->state, TARGET_UP);
}

Test(target, expected_target_is_looked_up_once)
{
    fx.lookup = LOOKUP_PENDING;
    target_expect(fx.b, bytes_text("orders"));
    fx.lookup = LOOKUP_UNKNOWN;
    targets_serve(fx.b);
    target_expect(fx.b, bytes_text("orders"));
    cr_expect_eq(fx.lookups, 2, "the question and its answer");
    cr_expect_eq(t->state, TARGET_UNKNOWN);
}

Test(target, expected_target_that_is_missing_is_not_down)
{
    fx.lookup = LOOKUP_MISSING;
    target_expect(fx.b, bytes_text("orders"));
    cr_expect_eq(t->state, TARGET_UNKNOWN, "it may exist when its first record is due");
    cr_expect_eq(fx.notices_n, 0);
    fx.lookup = LOOKUP_FOUND;
    cr_expect_eq(gate(), GATE_OPEN);
}

Test(target, expected_target_is_known_before_its_first_record)
{
    target_expect(fx.b, bytes_text("orders.new"));
    struct target *other = target_find(fx.b, bytes_text("orders.new"));
    cr_assert_not_null(other);
    cr_expect_eq(other->state, TARGET_UP);
}

Test(target, forbidden_target_is_not_looked_up_early)
{
    target_expect(fx.b, bytes_text("secret"));
    cr_expect_null(target_find(fx.b, bytes_text("secret")));
    cr_expect_eq(fx.lookups, 0);
}

Test(target, early_lookup_waits_for_another_one)
{
    fx.lookup = LOOKUP_PENDING;
    target_expect(fx.b, bytes_text("orders"));
    target_expect(fx.b, bytes_text("bills"));
    cr_expect_eq(fx.lookups, 1);
}

Test(target, answer_after_a_refusal_changes_nothing)
{
    fx.lookup = LOOKUP_PENDING;
    cr_expect_eq(gate(), GATE_PARK);
    target_refuses(fx.b, t, "not authorized");
    fx.lookup = LOOKUP_FOUND;
    targets_serve(fx.b);
    cr_expect_eq(t->state, TARGET_DOWN);
    cr_expect_null(fx.b->targets.looking_up);
}

Test(target, target_that_refuses_is_down_and_uses_up_attempts)
{
    struct parcel *p = sent();
    target_reported(fx.b, t, p, &(struct answer){REPORT_REFUSED, false, "not authorized"});
    cr_expect_eq(gate(), GATE_FAIL);
    cr_expect_eq(t->error, DELIVERY_REFUSED);
    cr_expect_str_eq(t->why, "not authorized");
    const struct notice *notice = fixture_notice(NOTICE_TARGET_DOWN);
    cr_assert_not_null(notice);
    cr_expect_str_eq(notice->reason, "not authorized");
    cr_expect_eq(notice->span_ms, DOWN_MS);
}

Test(target, target_that_is_down_is_reported_once)
{
    target_refuses(fx.b, t, "a");
    target_refuses(fx.b, t, "b");
    cr_expect_eq(fixture_notices(NOTICE_TARGET_DOWN), 1);
}

Test(target, timeout_defers_records_without_an_attempt)
{
    struct parcel *p = sent();
    target_reported(fx.b, t, p, &(struct answer){REPORT_TIMED_OUT, false, "no answer"});
    cr_expect_eq(gate(), GATE_DEFER);
}

Test(target, target_that_took_a_later_record_is_not_down_after_a_timeout)
{
    struct parcel *stuck = sent(), *later = sent();
    fixture_pass(10);
    target_reported(fx.b, t, later, &(struct answer){.report = REPORT_OK});
    target_reported(fx.b, t, stuck, &(struct answer){REPORT_TIMED_OUT, false, "no answer"});
    cr_expect_eq(gate(), GATE_OPEN);
}

Test(target, target_that_failed_is_tried_with_one_record_at_a_time)
{
    target_refuses(fx.b, t, "not authorized");
    fixture_pass(DOWN_MS);
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(t->state, TARGET_PROBING);
    struct parcel *p = sent();
    cr_expect_eq(gate(), GATE_PARK);
    target_reported(fx.b, t, p, &(struct answer){.report = REPORT_OK});
    cr_expect_eq(t->state, TARGET_UP);
    cr_expect_eq(fixture_notices(NOTICE_TARGET_UP), 1);
}

Test(target, records_in_flight_to_a_target_take_a_quarter_of_the_budget)
{
    struct parcel *p = sent();
    size_t quarter = (size_t)fx.config.memory_bytes / 4 + PARCEL_OVERHEAD;
    size_t bytes = t->in_flight_bytes;
    t->in_flight_bytes = quarter - 1;
    cr_expect_eq(gate(), GATE_OPEN);
    t->in_flight_bytes = quarter;
    cr_expect_eq(gate(), GATE_PARK);
    t->in_flight_bytes = bytes;
    target_reported(fx.b, t, p, &(struct answer){.report = REPORT_OK});
    cr_expect_eq(t->in_flight, 0);
    cr_expect_eq(t->in_flight_bytes, 0);
}

Test(target, records_in_flight_to_a_target_are_limited_in_number)
{
    const size_t in_flight_max = 100000;
    (void)sent();
    t->in_flight = in_flight_max - 1;
    cr_expect_eq(gate(), GATE_OPEN);
    t->in_flight = in_flight_max;
    cr_expect_eq(gate(), GATE_PARK);
    t->in_flight = 1;
}

Test(target, report_of_a_target_without_room_releases_no_parked_record)
{
    struct parcel *p = sent();
    park(3);
    t->in_flight_bytes += (size_t)fx.config.memory_bytes;
    target_reported(fx.b, t, p, &(struct answer){.report = REPORT_OK});
    cr_expect_eq(ready(), 0);
}

Test(target, answer_releases_a_batch_of_parked_records)
{
    struct parcel *p = sent();
    park(70);
    target_reported(fx.b, t, p, &(struct answer){.report = REPORT_OK});
    cr_expect_eq(ready(), 64);
    cr_expect_eq(fx.b->targets.parked, 6);
}

Test(target, target_that_is_down_releases_all_parked_records)
{
    struct parcel *p = sent();
    park(70);
    target_reported(fx.b, t, p, &(struct answer){REPORT_REFUSED, false, "not authorized"});
    cr_expect_eq(ready(), 70);
}

Test(target, record_that_was_not_sent_proves_nothing_about_its_target)
{
    struct parcel *p = sent();
    target_reported(fx.b, t, p, &(struct answer){REPORT_NOT_SENT, false, "full"});
    cr_expect_eq(gate(), GATE_OPEN);
    cr_expect_eq(fx.notices_n, 0);
}

Test(target, silent_target_is_down_after_a_second)
{
    (void)sent();
    park(2);
    fixture_pass(PARK_MS);
    others_answer();
    targets_serve(fx.b);
    cr_expect_eq(t->state, TARGET_UP);
    fixture_pass(1);
    others_answer();
    targets_serve(fx.b);
    cr_expect_eq(t->state, TARGET_DOWN);
    cr_expect_eq(t->error, DELIVERY_TIMED_OUT);
    cr_expect_eq(ready(), 2);
    cr_expect_eq(gate(), GATE_DEFER);
}

Test(target, silence_of_the_cluster_is_no_silence_of_a_target)
{
    (void)sent();
    park(2);
    fixture_pass(AWAY_MS + 1);
    targets_serve(fx.b);
    cr_expect_eq(t->state, TARGET_UP);
    others_answer(); /* the cluster is back */
    targets_serve(fx.b);
    cr_expect_eq(t->state, TARGET_UP);
}

Test(target, target_with_no_record_in_flight_releases_its_parked_records)
{
    cr_expect_eq(gate(), GATE_OPEN);
    park(2);
    targets_serve(fx.b);
    cr_expect_eq(ready(), 2);
}

Test(target, record_too_large_makes_records_of_its_size_suspect)
{
    struct parcel *p = sent();
    cr_expect_not(target_is_suspect(t, p));
    target_note_too_large(fx.b, t, p, false);
    cr_expect(target_is_suspect(t, p));
    p->record->cost_bytes--;
    cr_expect_not(target_is_suspect(t, p), "a smaller one is not");
    p->record->cost_bytes++;
}

Test(target, record_that_fits_ends_the_suspicion)
{
    struct parcel *p = sent();
    target_note_too_large(fx.b, t, p, false);
    target_reported(fx.b, t, p, &(struct answer){.report = REPORT_OK});
    cr_expect_not(target_is_suspect(t, p));
}

Test(target, smaller_record_that_fits_keeps_the_suspicion)
{
    struct parcel *p = sent();
    t->large_bytes = p->record->cost_bytes + 1;
    target_reported(fx.b, t, p, &(struct answer){.report = REPORT_OK});
    cr_expect_eq(t->large_bytes, p->record->cost_bytes + 1);
}

Test(target, smallest_record_too_large_is_the_limit)
{
    struct parcel *p = due();
    size_t cost = p->record->cost_bytes;
    for (size_t more = 2; more-- > 0;) {
        p->record->cost_bytes = cost + more;
        target_note_too_large(fx.b, t, p, true);
    }
    p->record->cost_bytes = cost + 5;
    target_note_too_large(fx.b, t, p, true);
    p->record->cost_bytes = cost;
    cr_expect_eq(t->large_bytes, cost);
    cr_expect_eq(t->proven_bytes, cost);
}

Test(target, table_finds_a_target_by_its_name)
{
    cr_expect_eq(target_get(fx.b, bytes_text("orders")), t);
    cr_expect_eq(target_find(fx.b, bytes_text("orders")), t);
    cr_expect_null(target_find(fx.b, bytes_text("order")));
}

Test(target, target_is_counted_by_its_entry_of_targets)
{
    cr_expect_eq(t->label, 1);
    cr_expect_eq(target_label(fx.b, bytes_text("bills")), 2);
    cr_expect_eq(target_label(fx.b, bytes_text("other")), LABEL_NONE);
}

Test(target, targets_of_further_entries_share_a_counter)
{
    static const char *entries[TARGET_LABELS + 1];
    for (int i = 0; i < TARGET_LABELS; i++)
        entries[i] = "bills";
    entries[TARGET_LABELS] = "orders";
    struct bridge_live live = {.rules = fx.config.rules, .max_attempts = 3};
    live.rules.allowlist.patterns = entries;
    live.rules.allowlist.patterns_n = TARGET_LABELS + 1;
    live.target_labels[TARGET_LABELS - 1] = 9;
    bridge_reconfigure(fx.b, &live);
    cr_expect_eq(t->label, LABEL_OTHER);
    cr_expect_eq(target_label(fx.b, bytes_text("bills")), 9);
}

Test(target, reconfigured_entries_change_the_counters_of_known_targets)
{
    struct bridge_live live = {.rules = fx.config.rules, .max_attempts = 3};
    live.target_labels[0] = 9;
    bridge_reconfigure(fx.b, &live);
    cr_expect_eq(t->label, 9);
}

static struct target *numbered(int i)
{
    char name[32];
    snprintf(name, sizeof name, "orders.%d", i);
    return target_get(fx.b, bytes_text(name));
}

static void fill_table(void)
{
    for (int i = 1; i < TARGETS_MAX; i++) {
        struct target *other = numbered(i);
        cr_assert_not_null(other);
        other->took_mono_ms = 1;
    }
}

Test(target, full_table_replaces_a_target_that_took_no_record)
{
    fill_table();
    numbered(3)->took_mono_ms = 0;
    t->took_mono_ms = 1;
    cr_expect_not_null(numbered(TARGETS_MAX));
    cr_expect_null(target_find(fx.b, bytes_text("orders.3")));
    cr_expect_eq(fx.forgets, 1);
}

Test(target, full_table_keeps_targets_that_records_wait_for)
{
    struct parcel *p = sent();
    for (int i = 1; i < TARGETS_MAX; i++)
        numbered(i)->in_flight = 1;
    cr_expect_null(numbered(TARGETS_MAX));
    cr_expect_eq(target_gate(fx.b, t), GATE_OPEN);
    numbered(5)->in_flight = 0;
    fx.b->targets.looking_up = numbered(5);
    cr_expect_null(numbered(TARGETS_MAX), "its look-up is not answered yet");
    fx.b->targets.looking_up = NULL;
    numbered(5)->took_mono_ms = 1;
    cr_expect_not_null(numbered(TARGETS_MAX), "no record waits for it");
    fixture_report(p, REPORT_OK);
}

Test(target, full_table_keeps_a_target_with_parked_records)
{
    for (int i = 1; i < TARGETS_MAX; i++)
        numbered(i)->in_flight = 1;
    park(1);
    cr_expect_null(numbered(TARGETS_MAX));
    cr_expect_eq(target_find(fx.b, bytes_text("orders")), t);
    targets_serve(fx.b);
    cr_assert_eq(fx.b->targets.parked, 0);
    cr_expect_not_null(numbered(TARGETS_MAX));
    cr_expect_null(target_find(fx.b, bytes_text("orders")));
}

Test(target, early_lookup_replaces_no_known_target)
{
    fill_table();
    target_expect(fx.b, bytes_text("orders.new"));
    cr_expect_null(target_find(fx.b, bytes_text("orders.new")));
}
