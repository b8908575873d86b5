/* SPDX-License-Identifier: Apache-2.0 */
/* forward: records that are due and cannot be delivered. */
#include "bridge/core/bridge.h"
#include "bridge/core/forward.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "bridge/core/target_table.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(forward, .init = fixture_start, .fini = fixture_stop);

static char long_target[TOPIC_NAME_MAX + 1];

static struct parcel *served(void)
{
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS);
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    return p;
}

static void deny_orders(void)
{
    static const char *const bills[] = {"bills"};
    struct bridge_live live = {.rules = fx.config.rules, .max_attempts = 3};
    live.rules.allowlist.patterns = bills;
    live.rules.allowlist.patterns_n = 1;
    bridge_reconfigure(fx.b, &live);
}

static void expect_dead(const struct parcel *p, enum code code, const char *target)
{
    cr_assert_eq(p->state, PARCEL_IN_FLIGHT);
    cr_assert_eq(p->kind, FORWARD_DEAD);
    cr_expect_eq(p->dead_letter->refusal.code, code);
    cr_expect_not_null(strstr(p->dead_letter->refusal.reason, target), "%s",
                       p->dead_letter->refusal.reason);
}

Test(forward, record_for_a_target_that_is_no_longer_allowed_is_dead_lettered)
{
    deny_orders();
    expect_dead(served(), CODE_TARGET_DENIED, "target orders is not allowed");
}

Test(forward, reasons_show_the_beginning_of_a_long_target)
{
    memset(long_target, 'x', TOPIC_NAME_MAX);
    fx.target = long_target;
    expect_dead(served(), CODE_TARGET_DENIED, "xxx is not allowed");
    fixture_again();
    memcpy(long_target, "orders", 6);
    fx.expires_ms = BEGIN_WALL_MS - 1;
    expect_dead(served(), CODE_EXPIRED, "xxx (");
}

Test(forward, record_waits_while_all_targets_of_the_table_are_in_use)
{
    char name[32];
    for (int i = 0; i < TARGETS_MAX; i++) {
        snprintf(name, sizeof name, "orders.%d", i);
        fixture_target(name)->in_flight = 1;
    }
    struct parcel *p = served();
    cr_expect_eq(p->state, PARCEL_WAITING);
    cr_expect_eq(fx.forwarded, 0);
    fixture_target("orders.0")->in_flight = 0;
    fixture_pass(BRIDGE_WAIT_MAX_MS);
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    cr_expect_eq(p->state, PARCEL_IN_FLIGHT);
}

Test(forward, record_that_the_port_refuses_stays_ready)
{
    fx.is_full = true;
    struct parcel *p = served();
    cr_expect_eq(p->state, PARCEL_READY);
    fx.is_full = false;
    forward_serve(fx.b);
    cr_expect_eq(p->state, PARCEL_IN_FLIGHT);
}

Test(forward, delivery_has_the_time_of_the_later_clock)
{
    (void)served();
    cr_expect_eq(fx.sent.kind, FORWARD_TARGET);
    cr_expect_eq(fx.sent.timestamp_wall_ms, BEGIN_WALL_MS);
    cr_expect_str_eq(fx.sent.target->name, "orders");
}

Test(forward, hop_to_a_missing_topic_waits)
{
    bridge_topic_missing(fx.b, fixture_queue(LEVEL)->id);
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS + 5 * SHORT_MS);
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    cr_expect_eq(p->state, PARCEL_WAITING);
    cr_expect_eq(fx.forwarded, 0);
}
