/* SPDX-License-Identifier: Apache-2.0 */
/* transaction: the records that the open transaction takes, and when it is over. */
#include "bridge/core/bridge.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "bridge/core/transaction.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

enum { HOUR_MS = 3600 * 1000 };

TestSuite(transaction, .init = fixture_start_exactly_once, .fini = fixture_stop);

static struct parcel *parcel(int64_t after_ms)
{
    return fixture_parcel(SLOT_SCHEDULE, fixture_queue(SLOT_SCHEDULE)->window.next,
                          fx.b->now.wall_ms + after_ms);
}

static struct parcel *delivery(void)
{
    struct parcel *p = parcel(0);
    p->kind = FORWARD_TARGET;
    return p;
}

static struct parcel *hop(void)
{
    struct parcel *p = parcel(HOUR_MS);
    p->kind = FORWARD_LEVEL;
    return p;
}

static bool is_for_hops(void)
{
    cr_assert_neq(txn_is_for(fx.b, READY_HOPS), txn_is_for(fx.b, READY_DELIVERIES));
    return txn_is_for(fx.b, READY_HOPS);
}

static struct txn *txn(void)
{
    return &fx.b->txn;
}

Test(transaction, at_least_once_each_record_is_taken)
{
    fx.config.exactly_once = false;
    fixture_again();
    txn_took(fx.b, delivery(), true);
    cr_expect(txn_takes(fx.b, true));
    cr_expect(txn_is_for(fx.b, READY_HOPS));
    cr_expect(txn_is_for(fx.b, READY_DELIVERIES));
    cr_expect_eq(txn_wait_ms(fx.b), BRIDGE_WAIT_MAX_MS);
    cr_expect_eq(txn()->n, 0);
}

Test(transaction, record_is_counted_with_its_bytes)
{
    struct parcel *a = delivery(), *b = delivery();
    txn_took(fx.b, a, false);
    fixture_pass(3);
    txn_took(fx.b, b, false);
    cr_expect_eq(txn()->n, 2);
    cr_expect_eq(txn()->bytes, a->record->cost_bytes + b->record->cost_bytes);
    cr_expect_eq(txn()->since_mono_ms, fx.b->now.mono_ms - 3, "the age of the first");
    cr_expect_eq(txn()->taken[1], (uint32_t)(b - fx.b->pools.parcels));
}

Test(transaction, record_that_must_be_alone_closes_the_open_transaction)
{
    txn_took(fx.b, delivery(), false);
    cr_expect_not(txn_takes(fx.b, true));
    cr_expect(txn_is_over(fx.b));
    cr_expect_not(txn_takes(fx.b, false), "the record that waits must not wait longer");
}

Test(transaction, record_that_must_be_alone_is_taken_by_an_empty_transaction)
{
    struct parcel *p = delivery();
    cr_expect(txn_takes(fx.b, true));
    txn_took(fx.b, p, true);
    cr_expect_eq(txn()->single, p);
    cr_expect_not(txn_takes(fx.b, false));
    cr_expect(txn_is_over(fx.b));
}

Test(transaction, transaction_is_full_by_records_or_bytes)
{
    txn_took(fx.b, delivery(), false);
    txn()->n = TXN_RECORDS_MAX - 1;
    txn()->bytes = TXN_BYTES_MAX - 1;
    cr_expect(txn_takes(fx.b, false));
    txn()->n = TXN_RECORDS_MAX;
    cr_expect_not(txn_takes(fx.b, false));
    cr_expect(txn_is_over(fx.b));
    txn()->n = 1;
    txn()->bytes = TXN_BYTES_MAX;
    cr_expect_not(txn_takes(fx.b, false));
    cr_expect(txn_is_over(fx.b));
}

/* Returns a list with n events of a record. */
static struct list *events(int n)
{
    static struct list list;
    list_init(&list);
    while (n-- > 0) {
        struct parcel *e = delivery();
        e->entry_kind = ENTRY_EVENT;
        list_append(&list, &e->link);
    }
    return &list;
}

static void take(int events_n)
{
    struct list *owed = events(events_n);
    txn_took(fx.b, delivery(), false);
    for (struct link *l; (l = list_first(owed)) != NULL;) {
        list_remove(l);
        txn_owes(fx.b, list_item(l, struct parcel, link));
    }
}

Test(transaction, record_is_taken_only_with_room_for_its_events)
{
    fx.config.txn_records_max = TXN_RECORDS_MIN;
    fixture_again();
    cr_expect(txn_fits(fx.b, delivery(), events(EVENTS_RECORD_MAX)));
    take(TXN_RECORDS_MIN - 4);
    cr_expect(txn_takes(fx.b, false));
    cr_expect(txn_fits(fx.b, delivery(), events(2)));
    cr_expect_not(txn_is_over(fx.b));
    cr_expect_not(txn_fits(fx.b, delivery(), events(3)), "its last event has no place");
    cr_expect(txn_is_over(fx.b), "the record begins the next transaction");
}

Test(transaction, event_takes_the_place_that_its_record_reserved)
{
    fx.config.txn_records_max = TXN_RECORDS_MIN;
    fixture_again();
    take(TXN_RECORDS_MIN - 1);
    cr_expect_not(txn_fits(fx.b, delivery(), events(0)), "it is full, though one record is sent");
    for (int i = 1; i < TXN_RECORDS_MIN; i++) {
        struct parcel *e = delivery();
        e->entry_kind = ENTRY_EVENT;
        txn_took(fx.b, e, false);
    }
    cr_expect_eq(txn()->n, TXN_RECORDS_MIN);
    cr_expect_eq(txn()->owed_n + txn()->owed_bytes, 0);
}

Test(transaction, bytes_close_a_transaction_and_refuse_no_record)
{
    fx.config.txn_bytes_max = 1;
    fixture_again();
    cr_expect(txn_takes(fx.b, false) && txn_fits(fx.b, delivery(), events(2)));
    fx.config.txn_bytes_max = 4 * delivery()->record->cost_bytes;
    fixture_again();
    take(1);
    cr_expect(txn_fits(fx.b, delivery(), events(1)));
    cr_expect_not(txn_fits(fx.b, delivery(), events(2)));
    cr_expect(txn_is_over(fx.b));
}

Test(transaction, transaction_that_is_out_takes_no_record)
{
    const enum txn_state out[] = {TXN_CLOSED, TXN_FAILED};
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
        txn()->state = out[i];
        cr_expect(txn_is_out(fx.b));
        cr_expect_not(txn_takes(fx.b, false));
        cr_expect_eq(txn_wait_ms(fx.b), BRIDGE_WAIT_MAX_MS);
    }
}

Test(transaction, broken_transaction_takes_no_record_and_is_not_out)
{
    txn()->state = TXN_BROKEN;
    cr_expect_not(txn_is_out(fx.b));
    cr_expect_not(txn_takes(fx.b, false));
}

Test(transaction, first_record_decides_the_kind_of_all)
{
    parcel_ready(fx.b, delivery());
    struct parcel *first = hop();
    txn_took(fx.b, first, false);
    cr_expect(is_for_hops());
    txn_begin(fx.b);
    txn_took(fx.b, delivery(), false);
    cr_expect_not(is_for_hops());
}

static void expect_hops_wait(int64_t wait_ms)
{
    fixture_pass(wait_ms - 1);
    cr_expect_not(is_for_hops());
    fixture_pass(1);
    cr_expect(is_for_hops());
}

static void set_shortest_stay(int64_t stay_ms)
{
    fx.b->config.ladder.level_ms[0] = fx.b->config.ladder.slack_ms + stay_ms;
}

Test(transaction, deliveries_come_first_while_hops_have_time)
{
    set_shortest_stay(HOUR_MS);
    parcel_ready(fx.b, hop());
    expect_hops_wait(TXN_HOPS_MAX_MS);
}

Test(transaction, hops_wait_for_half_of_the_shortest_stay_at_most)
{
    set_shortest_stay(2 * (TXN_HOPS_MS + 20));
    parcel_ready(fx.b, hop());
    expect_hops_wait(TXN_HOPS_MS + 20);
}

Test(transaction, hops_of_short_levels_wait_for_each_other_nevertheless)
{
    set_shortest_stay(TXN_HOPS_MS / 2);
    parcel_ready(fx.b, hop());
    expect_hops_wait(TXN_HOPS_MS);
}

Test(transaction, many_hops_wait_no_longer_than_they_need)
{
    set_shortest_stay(HOUR_MS);
    fx.b->config.memory_bytes = INT64_MAX;
    for (int n = 0; n < TXN_HOPS_FEW; n++)
        parcel_ready(fx.b, hop());
    expect_hops_wait(TXN_HOPS_MS);
}

Test(transaction, hops_that_left_are_not_counted)
{
    set_shortest_stay(HOUR_MS);
    fx.b->config.memory_bytes = INT64_MAX;
    for (int n = 0; n < TXN_HOPS_FEW; n++) {
        struct parcel *p = hop();
        parcel_ready(fx.b, p);
        parcel_wait(fx.b, p, p->until_wall_ms);
    }
    parcel_ready(fx.b, hop());
    expect_hops_wait(TXN_HOPS_MAX_MS);
}

Test(transaction, hops_do_not_wait_when_the_budget_is_used)
{
    parcel_ready(fx.b, hop());
    fx.b->config.memory_bytes = 8 * fx.b->pools.buffered_bytes;
    cr_expect(is_for_hops());
}

Test(transaction, dead_letter_does_not_wait_for_other_records)
{
    struct parcel *p = delivery();
    dead_letter_mark(fx.b, p, &(struct refusal){.code = CODE_EXPIRED, .reason = "too late"});
    parcel_ready(fx.b, p);
    cr_expect(is_for_hops());
}

Test(transaction, hops_and_deliveries_take_turns)
{
    parcel_ready(fx.b, hop());
    parcel_ready(fx.b, delivery());
    fixture_pass(TXN_HOPS_MAX_MS);
    txn()->took = READY_DELIVERIES;
    cr_expect(is_for_hops());
    txn()->took = READY_HOPS;
    cr_expect_not(is_for_hops());
}

Test(transaction, outcome_of_a_lone_failure_comes_before_other_deliveries)
{
    parcel_ready(fx.b, hop());
    parcel_ready(fx.b, delivery());
    txn()->took = READY_HOPS;
    txn()->single_failed = true;
    cr_expect(is_for_hops());
}

Test(transaction, transaction_without_hops_is_for_deliveries)
{
    txn()->single_failed = true;
    cr_expect_not(is_for_hops());
}

Test(transaction, deliveries_wait_briefly_for_other_records)
{
    txn_took(fx.b, delivery(), false);
    cr_expect_not(txn_is_over(fx.b));
    cr_expect_eq(txn_wait_ms(fx.b), TXN_AGE_MS);
    fixture_pass(TXN_AGE_MS);
    cr_expect(txn_is_over(fx.b));
}

Test(transaction, hops_do_not_wait_for_other_records)
{
    txn_took(fx.b, hop(), false);
    cr_expect(txn_is_over(fx.b));
}

Test(transaction, transaction_stays_open_while_more_is_due)
{
    parcel_ready(fx.b, delivery());
    txn_took(fx.b, delivery(), false);
    fixture_pass(TXN_AGE_MAX_MS - 1);
    cr_expect_not(txn_is_over(fx.b));
    cr_expect_eq(txn_wait_ms(fx.b), 1);
    fixture_pass(1);
    cr_expect(txn_is_over(fx.b));
}

Test(transaction, transaction_ends_to_prove_the_ownership_of_lanes)
{
    txn_took(fx.b, delivery(), false);
    fx.b->commit.proving = true;
    cr_expect(txn_is_over(fx.b));
}

Test(transaction, empty_transaction_waits_for_the_hops)
{
    set_shortest_stay(HOUR_MS);
    cr_expect_eq(txn_wait_ms(fx.b), BRIDGE_WAIT_MAX_MS);
    parcel_ready(fx.b, hop());
    fixture_pass(40);
    cr_expect_eq(txn_wait_ms(fx.b), TXN_HOPS_MAX_MS - 40);
    fixture_pass(TXN_HOPS_MAX_MS);
    cr_expect_eq(txn_wait_ms(fx.b), BRIDGE_WAIT_MAX_MS, "the port refused a record");
}

Test(transaction, failed_record_among_others_is_named)
{
    struct parcel *p = delivery();
    txn_took(fx.b, p, false);
    p->to_slot = LEVEL;
    txn_failed(fx.b, p, NULL, REPORT_NOT_SENT);
    cr_expect_eq(txn()->state, TXN_FAILED);
    cr_expect_not(txn()->reason_known);
    cr_expect_null(txn()->failed_parcel);
    cr_expect_eq(txn()->unsent_offset, p->offset);
    cr_expect_eq(txn()->unsent_to, LEVEL);
    cr_expect_not(txn_takes(fx.b, false));
}

Test(transaction, failed_record_that_was_alone_is_kept)
{
    struct target *t = fixture_target("orders");
    struct parcel *p = delivery();
    txn_took(fx.b, p, true);
    txn_failed(fx.b, p, t, REPORT_REFUSED);
    cr_expect_eq(txn()->failed_parcel, p);
    cr_expect_eq(txn()->failed_target, t);
    cr_expect_eq(txn()->failed_report, REPORT_REFUSED);
    cr_expect(txn()->reason_known);
}

Test(transaction, known_reason_is_not_forgotten)
{
    struct parcel *a = delivery(), *b = delivery();
    txn_took(fx.b, a, false);
    txn_took(fx.b, b, false);
    txn_failed(fx.b, a, NULL, REPORT_REFUSED);
    txn_failed(fx.b, b, NULL, REPORT_NOT_SENT);
    cr_expect(txn()->reason_known);
}

Test(transaction, next_transaction_is_empty_and_knows_the_last_one)
{
    txn_took(fx.b, hop(), true);
    txn()->single_failed = true;
    txn()->state = TXN_CLOSED;
    const uint32_t *taken = txn()->taken;
    txn_begin(fx.b);
    cr_expect_eq(txn()->state, TXN_OPEN);
    cr_expect_eq(txn()->n, 0);
    cr_expect_null(txn()->single);
    cr_expect_eq(txn()->took, READY_HOPS);
    cr_expect(txn()->single_failed);
    cr_expect_eq(txn()->taken, taken);
}
