/* SPDX-License-Identifier: Apache-2.0 */
/* parcel: the place of a record in work, and the budget that it counts against. */
#include "bridge/core/bridge.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "bridge/core/target.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

enum { HOUR_MS = 3600 * 1000 };

TestSuite(parcel, .init = fixture_start, .fini = fixture_stop);

static int64_t held_bytes(void)
{
    return fx.b->pools.buffered_bytes;
}

static uint64_t held(void)
{
    return counter_read(&fx.stats.buffered_records);
}

/* Returns a parcel of the schedule topic that is due after ms. */
static struct parcel *due_in(int64_t offset, int64_t ms)
{
    return fixture_parcel(SLOT_SCHEDULE, offset, fx.b->now.wall_ms + ms);
}

static struct parcel *first_ready(enum ready kind)
{
    struct link *first = list_first(&fx.b->ready[kind]);
    return first == NULL ? NULL : list_item(first, struct parcel, link);
}

static void mark_dead(struct parcel *p)
{
    dead_letter_mark(fx.b, p, &(struct refusal){.code = CODE_EXPIRED, .reason = "too late"});
}

Test(parcel, record_counts_its_bytes_headers_and_overhead)
{
    const struct record record = {.cost_bytes = 1000, .overhead_bytes = 400};
    cr_expect_eq(record_memory(&record, 0), 1400 + PARCEL_OVERHEAD);
    cr_expect_eq(record_memory(&record, 3), 1400 + PARCEL_OVERHEAD + 3 * HEADER_OVERHEAD);
}

Test(parcel, record_in_work_counts_against_the_budget_until_it_is_done)
{
    struct parcel *p = due_in(START, 0);
    cr_expect_eq(held_bytes(), parcel_memory(p));
    cr_expect_eq(held(), 1);
    cr_expect_eq(p->queue->parcels, 1);
    parcel_done(fx.b, p);
    cr_expect_eq(held_bytes(), 0);
    cr_expect_eq(held(), 0);
    cr_expect_eq(fixture_queue(SLOT_SCHEDULE)->parcels, 0);
    cr_expect_eq(fx.records, 0);
}

Test(parcel, headers_of_the_head_count_for_its_parcel)
{
    struct queue *q = fixture_queue(SLOT_SCHEDULE);
    q->head_headers_n = 2;
    struct parcel *p = due_in(START, 0);
    cr_expect_eq(held_bytes(),
                 (int64_t)p->record->cost_bytes + PARCEL_OVERHEAD + 2 * HEADER_OVERHEAD);
}

Test(parcel, done_record_is_progress)
{
    struct parcel *p = due_in(START, 0);
    struct queue *q = p->queue;
    parcel_done(fx.b, p);
    cr_expect_eq(q->window.base, START + 1);
    cr_expect_eq(q->changes, 1);
}

Test(parcel, forgotten_record_is_not_done)
{
    struct parcel *p = due_in(START, 0);
    struct queue *q = p->queue;
    parcel_forget(fx.b, p);
    cr_expect_eq(q->window.base, START);
    cr_expect_eq(q->changes, 0);
    cr_expect_eq(fx.records, 0);
}

Test(parcel, dead_letter_of_a_range_finishes_all_its_offsets)
{
    struct parcel *p = due_in(START, 0);
    p->end = START + 5;
    struct queue *q = p->queue;
    parcel_done(fx.b, p);
    cr_expect_eq(q->window.base, START + 5);
}

Test(parcel, announced_record_is_progress_once)
{
    struct parcel *p = due_in(START, 0);
    struct queue *q = p->queue;
    parcel_foresee(p);
    cr_expect_eq(q->window.base, START + 1);
    cr_expect_eq(q->changes, 1);
    fx.b->txn.offsets = OFFSETS_SENT;
    parcel_done(fx.b, p);
    cr_expect_eq(q->changes, 1);
}

Test(parcel, pool_reuses_the_parcel_that_was_freed_last)
{
    struct parcel *a = due_in(START, 0), *b = due_in(START + 1, 0);
    size_t high = fx.b->pools.parcels_high;
    parcel_forget(fx.b, a);
    parcel_forget(fx.b, b);
    cr_expect_eq(due_in(START + 2, 0), b);
    cr_expect_eq(due_in(START + 3, 0), a);
    cr_expect_eq(fx.b->pools.parcels_high, high);
}

Test(parcel, pool_is_empty_when_each_parcel_is_in_work)
{
    struct parcel *p = due_in(START, 0);
    size_t n = fx.b->pools.parcels_n;
    fx.b->pools.parcels_n = fx.b->pools.parcels_high;
    cr_expect_not(parcel_available(fx.b));
    parcel_forget(fx.b, p);
    cr_expect(parcel_available(fx.b));
    fx.b->pools.parcels_n = n;
}

Test(parcel, early_record_within_hold_waits_until_its_time)
{
    struct parcel *p = due_in(START, SHORT_MS);
    parcel_ready(fx.b, p);
    cr_expect_eq(p->state, PARCEL_WAITING);
    wheel_advance(&fx.b->wheel, p->until_wall_ms - 1);
    cr_expect_null(wheel_pop(&fx.b->wheel));
    wheel_advance(&fx.b->wheel, p->until_wall_ms);
    cr_expect_eq(wheel_pop(&fx.b->wheel), &p->node);
    p->state = PARCEL_FREE;
    parcel_forget(fx.b, p);
}

Test(parcel, due_record_is_ready_for_delivery)
{
    struct parcel *p = due_in(START, 0);
    parcel_ready(fx.b, p);
    cr_expect_eq(p->state, PARCEL_READY);
    cr_expect_eq(first_ready(READY_DELIVERIES), p);
    cr_expect_null(first_ready(READY_HOPS));
}

Test(parcel, remainder_above_hold_is_a_hop)
{
    struct parcel *p = due_in(START, SHORT_MS + 1);
    parcel_ready(fx.b, p);
    cr_expect_eq(first_ready(READY_HOPS), p);
}

Test(parcel, first_hop_of_the_list_sets_its_age)
{
    parcel_ready(fx.b, due_in(START, HOUR_MS));
    int64_t since_ms = fx.b->now.mono_ms;
    fixture_pass(30);
    parcel_ready(fx.b, due_in(START + 1, HOUR_MS));
    cr_expect_eq(fx.b->hops_since_mono_ms, since_ms);
}

Test(parcel, dead_letter_goes_before_all_hops)
{
    struct parcel *hop = due_in(START, HOUR_MS), *dead = due_in(START + 1, 0);
    parcel_ready(fx.b, hop);
    mark_dead(dead);
    parcel_ready(fx.b, dead);
    cr_expect_eq(first_ready(READY_HOPS), dead);
    cr_expect_null(first_ready(READY_DELIVERIES));
}

/* Fails unless the hops that are ready have these offsets, counted from START. */
static void expect_hops(const char *offsets)
{
    char found[16];
    size_t n = 0;
    const struct list *hops = &fx.b->ready[READY_HOPS];
    for (struct link *l = list_first(hops); l != NULL; l = list_after(hops, l))
        found[n++] = (char)('0' + list_item(l, struct parcel, link)->offset - START);
    found[n] = '\0';
    cr_expect_str_eq(found, offsets);
}

Test(parcel, dead_letters_keep_their_order_before_all_hops)
{
    struct parcel *p[8];
    for (int i = 0; i < 8; i++)
        p[i] = due_in(START + i, HOUR_MS);
    for (int i = 0; i < 8; i++) {
        if (i == 1 || i == 2 || i == 4)
            mark_dead(p[i]);
        if (i < 6)
            parcel_ready(fx.b, p[i]);
    }
    expect_hops("124035");
    parcel_forget(fx.b, p[4]);
    mark_dead(p[7]);
    parcel_ready(fx.b, p[7]);
    expect_hops("127035");
    for (int i = 0; i < 8; i++) {
        if (i != 4 && i != 0)
            parcel_forget(fx.b, p[i]);
    }
    mark_dead(p[0]);
    parcel_ready(fx.b, p[0]);
    expect_hops("0");
}

Test(parcel, parked_record_leaves_its_target_when_it_is_ready)
{
    struct target *t = fixture_target("orders");
    struct parcel *p = due_in(START, 0);
    target_park(fx.b, t, p);
    cr_expect_eq(fx.b->targets.parked, 1);
    parcel_ready(fx.b, p);
    cr_expect_eq(fx.b->targets.parked, 0);
    cr_expect_null(p->target);
    cr_expect(list_is_empty(&t->parked));
}

Test(parcel, waiting_record_can_wait_for_another_time)
{
    struct parcel *p = due_in(START, SHORT_MS);
    parcel_wait(fx.b, p, fx.b->now.wall_ms + 500);
    parcel_wait(fx.b, p, fx.b->now.wall_ms + 900);
    cr_expect_eq(fx.b->wheel.count, 1);
    parcel_forget(fx.b, p);
    cr_expect_eq(fx.b->wheel.count, 0);
}

Test(parcel, other_record_of_a_parcel_changes_the_budget_by_the_difference)
{
    struct parcel *p = due_in(START, 0);
    struct record *larger = fixture_raw(START, 2000);
    parcel_replace(fx.b, p, larger);
    cr_expect_eq(p->record, larger);
    cr_expect_eq(held_bytes(), record_memory(larger, 0));
    cr_expect_eq(fx.records, 1);
}

Test(parcel, dead_letter_returns_its_share_of_the_lane)
{
    struct parcel *p = due_in(START, 0);
    mark_dead(p);
    struct lane *lane = &fx.b->lanes[0];
    cr_expect_eq(lane->dead_letters, 1);
    cr_expect_eq(lane->dead_letter_bytes, parcel_memory(p));
    parcel_forget(fx.b, p);
    cr_expect_eq(lane->dead_letters, 0);
    cr_expect_eq(lane->dead_letter_bytes, 0);
}

Test(parcel, record_of_a_lost_lane_is_counted_until_its_report)
{
    struct parcel *p = fixture_send(SLOT_SCHEDULE, START, BEGIN_WALL_MS);
    struct queue *q = p->queue;
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(fx.b->revoked, 1);
    cr_expect_eq(q->parcels, 0);
    fixture_report(p, REPORT_OK);
    cr_expect_eq(fx.b->revoked, 0);
    cr_expect_eq(q->parcels, 0);
    cr_expect(list_is_empty(&q->revoked));
}

Test(parcel, quarter_of_the_budget_is_shared_by_the_owned_lanes)
{
    int64_t quarter = fx.config.memory_bytes / 4;
    const struct start starts[SLOTS_MAX] = {{0}};
    cr_expect_eq(lane_share_bytes(fx.b), quarter);
    cr_assert_eq(bridge_lane_assigned(fx.b, 1, starts, fx.b->now), 0);
    cr_expect_eq(lanes_owned(fx.b), 2);
    cr_expect_eq(lane_share_bytes(fx.b), quarter / 2);
    bridge_lane_lost(fx.b, 0);
    bridge_lane_lost(fx.b, 1);
    cr_expect_eq(lanes_owned(fx.b), 1, "a divisor is never 0");
}

Test(parcel, event_of_an_envelope_names_the_request)
{
    struct parcel *p = fixture_parcel(LEVEL, START, BEGIN_WALL_MS);
    struct notice notice = parcel_notice(fx.b, p, NOTICE_DELIVERY_FAILED);
    cr_expect(bytes_equal(notice.target, bytes_text("orders")));
    cr_expect(bytes_equal(notice.key, bytes_text("key")));
    cr_expect_eq(notice.queue.slot, SLOT_SCHEDULE);
    cr_expect_eq(notice.queue.lane, 1);
    cr_expect_eq(notice.offset, 7);
}

Test(parcel, event_of_a_refused_request_names_its_target)
{
    fx.config.rules.default_target = "bills";
    fixture_again();
    struct queue *q = fixture_queue(SLOT_SCHEDULE);
    window_admit(&q->window, START);
    struct parcel *p = parcel_new(fx.b, q, fixture_raw(START, 3));
    p->raw = true;
    struct notice notice = parcel_notice(fx.b, p, NOTICE_DEAD_LETTERED);
    cr_expect(bytes_equal(notice.target, bytes_text("bills")));
    cr_expect_eq(notice.offset, START);
}

Test(parcel, event_of_a_foreign_record_in_a_level_names_its_place)
{
    struct queue *q = fixture_queue(LEVEL);
    window_admit(&q->window, START);
    struct parcel *p = parcel_new(fx.b, q, fixture_raw(START, 3));
    p->raw = true;
    struct notice notice = parcel_notice(fx.b, p, NOTICE_DEAD_LETTERED);
    cr_expect(bytes_is_null(notice.target));
    cr_expect_eq(notice.queue.slot, LEVEL);
    cr_expect_eq(notice.offset, START);
}

Test(parcel, record_of_exactly_the_limit_fits)
{
    cr_expect(parcel_fits(fx.b, SIZE_MAX / 2, 1), "0 is no limit");
    fx.b->config.record_max_bytes = 1000;
    cr_expect(parcel_fits(fx.b, 900, 100));
    cr_expect_not(parcel_fits(fx.b, 900, 101));
}
