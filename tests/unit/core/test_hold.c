/* SPDX-License-Identifier: Apache-2.0 */
/* hold: which records are kept in memory. */
#include "bridge/core/bridge.h"
#include "bridge/core/hold.h"
#include "bridge/core/queue.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

enum { HOLD_MS = 30000, REST_MS = 20000 };

static void start(void)
{
    fixture_start();
    fx.config.hold_ms = HOLD_MS;
    fixture_again();
}

TestSuite(hold, .init = start, .fini = fixture_stop);

/* Reads a record of a level whose stop ends when REST_MS remain. */
static void read_record(bool has_memory)
{
    fx.offered = fixture_record(START, BEGIN_WALL_MS + REST_MS);
    fx.has_no_memory = !has_memory;
    fx.offered_slot = LEVEL;
    bridge_wake(fx.b, fixture_queue(LEVEL)->id);
    fixture_turn();
    for (int i = 0; i < 2; i++) {
        fixture_pass(SHORT_MS);
        fixture_turn();
    }
}

Test(hold, a_record_is_kept)
{
    read_record(true);
    cr_expect_eq(fx.forwarded, 0);
    cr_expect_eq(counter_read(&fx.stats.kept_records), 1);
    bridge_check(fx.b);
}

Test(hold, the_canary_measures_levels)
{
    fx.target = "schedule.canary";
    read_record(true);
    cr_expect_eq(fx.forwarded, 1);
    cr_expect_eq(fx.sent.kind, FORWARD_LEVEL);
    cr_expect_eq(counter_read(&fx.stats.kept), 0);
}

Test(hold, a_record_that_cannot_be_copied_hops)
{
    read_record(false);
    cr_expect_eq(fx.forwarded, 1);
    cr_expect_eq(counter_read(&fx.stats.kept), 0);
}

Test(hold, a_record_that_was_too_large_for_its_level_is_not_kept)
{
    struct parcel *p = fixture_parcel(LEVEL, START, BEGIN_WALL_MS + REST_MS);
    p->without_level = true;
    cr_expect(!hold_keep(fx.b, p, REST_MS));
    p->without_level = false;
    cr_expect(hold_keep(fx.b, p, REST_MS));
}

Test(hold, a_lower_rate_counts_by_a_fifth_in_each_slice)
{
    struct queue *q = fixture_queue(LEVEL);
    fixture_turn();
    fixture_pass(1000);
    fixture_turn();
    q->rate_s = 1000;
    fixture_pass(250);
    fixture_turn();
    cr_expect_eq(q->rate_s, 800);
    fixture_pass(100);
    fixture_turn();
    cr_expect_eq(q->rate_s, 800);
    fixture_pass(150);
    fixture_turn();
    cr_expect_eq(q->rate_s, 640);
}

Test(hold, the_longest_rest_shrinks_as_records_are_kept)
{
    int64_t rest_ms = HOLD_MS - 1000;
    int kept = 0;
    struct parcel *p = fixture_parcel(LEVEL, START, rest_ms);
    while (hold_keep(fx.b, p, rest_ms) && kept < 200)
        p = fixture_parcel(LEVEL, START + ++kept, rest_ms);
    cr_expect(kept > 3 && kept < 50, "%d", kept);
    cr_expect(hold_keep(fx.b, p, rest_ms / 2));
}

/* The window of a lane that comes back may be far from the one that was measured. */
Test(hold, the_first_slice_of_a_lane_has_no_rate)
{
    struct queue *q = fixture_queue(LEVEL);
    fixture_turn();
    queue_open(fx.b, q);
    fixture_pass(250);
    fixture_turn();
    cr_expect_eq(q->rate_s, 0);
    window_admit(&q->window, START + 10);
    fixture_pass(250);
    fixture_turn();
    cr_expect_eq(q->rate_s, 44);
}

Test(hold, records_of_a_lane_that_is_read_again_take_no_room)
{
    struct queue *q = fixture_queue(LEVEL);
    fixture_turn();
    fixture_pass(250);
    fixture_turn();
    fx.b->hold.undone_span = 1000000;
    fixture_turn();
    cr_expect_eq(fx.b->hold.undone_span, 1000000);
    queue_reread(fx.b, q);
    fixture_turn();
    cr_expect_eq(fx.b->hold.undone_span, 0);
}

Test(hold, a_record_that_is_tried_alone_is_not_kept)
{
    struct parcel *p = fixture_parcel(LEVEL, START, BEGIN_WALL_MS + REST_MS);
    p->alone = true;
    cr_expect(!hold_keep(fx.b, p, REST_MS));
}
