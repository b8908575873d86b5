/* SPDX-License-Identifier: Apache-2.0 */
/* outlet: whether the topics of hops and dead letters accept records, in exactly-once mode. */
#include "bridge/core/outlet.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

TestSuite(outlet, .init = fixture_start_exactly_once, .fini = fixture_stop);

/* It would be held after its next assignment, and no line of the log would say so. */
Test(outlet, answer_that_comes_after_the_lane_is_lost_holds_nothing)
{
    const struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS + LONG_MS);
    fx.outlet_lookup = LOOKUP_PENDING;
    cr_expect_not(outlet_takes(fx.b, p, FORWARD_LEVEL, LONG_LEVEL));
    bridge_lane_lost(fx.b, 0);
    fx.outlet_lookup = LOOKUP_UNWRITABLE;
    outlets_serve(fx.b);
    cr_expect_eq(fx.outlet_lookups, 2);
    cr_expect_eq(fx.b->outlets.down, 0);
}

Test(outlet, doubt_after_a_stall_ends_when_enough_replicas_are_in_sync)
{
    const struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS + LONG_MS);
    fixture_hold_spares();
    fx.b->cluster.stall_mono_ms = fx.b->now.mono_ms;
    fixture_pass(OUTLET_LEADERS_MS);
    fx.outlet_lookup = LOOKUP_FOUND; /* it has a leader, and no spare replica */
    cr_expect_not(outlet_takes(fx.b, p, FORWARD_LEVEL, LONG_LEVEL));
    fixture_pass(LOOK_UP_AGAIN_MS);
    fx.outlet_lookup = LOOKUP_WHOLE;
    cr_expect(outlet_takes(fx.b, p, FORWARD_LEVEL, LONG_LEVEL));
    cr_expect_eq(fx.outlet_lookups, 2);
}
