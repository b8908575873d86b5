/* SPDX-License-Identifier: Apache-2.0 */
/* lanes: a lane that is assigned with a missing topic, and one that is lost. */
#include "bridge/core/bridge.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

TestSuite(lanes, .init = fixture_start, .fini = fixture_stop);

static void gain_without_level(void)
{
    struct start starts[SLOTS_MAX];
    for (int slot = 0; slot < bridge_queues_per_lane(fx.b); slot++)
        starts[slot] = (struct start){.offset = START, .missing = slot == LEVEL};
    cr_assert_eq(bridge_lane_assigned(fx.b, 0, starts, fx.b->now), 0);
}

Test(lanes, lane_that_was_lost_is_not_lost_again)
{
    bridge_lane_lost(fx.b, 0);
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(counter_read(&fx.stats.lanes), 0);
}

Test(lanes, topic_that_is_missing_at_the_start_blocks_its_queue)
{
    struct queue *q = fixture_queue(LEVEL);
    window_admit(&q->window, START);
    bridge_lane_lost(fx.b, 0);
    fx.end_offset = START + 4;
    gain_without_level();
    cr_expect_eq(q->state, QUEUE_BLOCKED);
    cr_expect_eq(fixture_notice(NOTICE_MISSING)->count, 4);
    cr_expect_eq(fixture_queue(LONG_LEVEL)->state, QUEUE_OPEN);
}

Test(lanes, missing_topic_is_reported_once)
{
    bridge_topic_missing(fx.b, fixture_queue(LEVEL)->id);
    bridge_lane_lost(fx.b, 0);
    gain_without_level();
    cr_expect_eq(fixture_notices(NOTICE_MISSING), 1);
}

Test(lanes, topic_that_is_back_is_read)
{
    bridge_topic_missing(fx.b, fixture_queue(LEVEL)->id);
    bridge_lane_lost(fx.b, 0);
    fixture_gain(0);
    cr_expect_eq(fixture_queue(LEVEL)->state, QUEUE_OPEN);
}
