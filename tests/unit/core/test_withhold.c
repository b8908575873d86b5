/* SPDX-License-Identifier: Apache-2.0 */
/* withhold: due records of paused and limited targets, and lanes that wait for the entries. */
#include "bridge/core/forward.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "bridge/core/target_table.h"
#include "bridge/core/withhold.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(withhold, .init = fixture_start, .fini = fixture_stop);

static void put(const char *pattern, enum control_op op, int64_t until_wall_ms)
{
    struct control c = {
        .op = op, .rate = {2, 1000}, .at_wall_ms = BEGIN_WALL_MS, .until_wall_ms = until_wall_ms};
    snprintf(c.pattern, sizeof c.pattern, "%s", pattern);
    cr_assert_eq(bridge_control_put(fx.b, &c, fx.b->now), 0);
}

/* Returns the time until a due record comes back. 0: it may be sent. A slot counts by the monotonic
   clock, which may be almost a ms behind. */
static int64_t wait_ms(const char *target, enum deferral before)
{
    struct stamp stamp = {.expires_ms = STAMP_NEVER, .extras = {.deferral = (uint8_t)before}};
    enum deferral why = DEFERRAL_NONE;
    int64_t at_ms = withhold_until_ms(fx.b, fixture_target(target), &stamp, &why);
    return at_ms == 0 ? 0 : at_ms - fx.b->now.wall_ms - (why == DEFERRAL_LIMITED);
}

/* Does the same, and puts the record back. */
static int64_t until_ms(const char *target, enum deferral before)
{
    const struct stamp stamp = {.expires_ms = STAMP_NEVER};
    int64_t ms = wait_ms(target, before);
    if (ms != 0)
        withhold_put_back(fx.b, fixture_target(target), &stamp);
    return ms;
}

Test(withhold, paused_record_returns_without_an_attempt)
{
    put("orders", CONTROL_PAUSE, CONTROL_ENDLESS);
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS);
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    cr_assert_eq(p->state, PARCEL_IN_FLIGHT);
    cr_expect_eq(p->kind, FORWARD_LEVEL);
    struct envelope env;
    cr_assert_eq(envelope_open(p->record->value, &env), 0);
    cr_expect_eq(env.stamp.next_try_ms, BEGIN_WALL_MS + PAUSE_WAIT_MIN_MS);
    cr_expect_eq(env.stamp.extras.deferral, DEFERRAL_PAUSED);
    cr_expect_eq(env.stamp.attempt, 0);
    cr_expect(p->withheld && p->overdue_wall_ms == 0);
    cr_expect_eq(fx.lookups, 0, "a paused target is not looked up");
}

Test(withhold, canary_is_never_paused)
{
    put("*", CONTROL_PAUSE, CONTROL_ENDLESS);
    char canary[TOPIC_TEXT_MAX];
    topic_of_canary(fx.config.rules.allowlist.schedule, canary);
    cr_expect_eq(until_ms(canary, DEFERRAL_NONE), 0);
    cr_expect_neq(until_ms("orders", DEFERRAL_NONE), 0);
}

Test(withhold, change_of_an_entry_counts_at_once)
{
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 0);
    put("orders", CONTROL_PAUSE, CONTROL_ENDLESS);
    cr_expect_neq(until_ms("orders", DEFERRAL_NONE), 0);
    cr_expect(bridge_control_remove(fx.b, bytes_text("orders")));
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 0);
}

Test(withhold, entry_ends_without_a_change)
{
    put("orders", CONTROL_PAUSE, BEGIN_WALL_MS + 1000);
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 1000);
    fixture_pass(1000);
    fixture_turn();
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 0);
}

Test(withhold, entry_is_in_force_again_after_a_step_back_of_the_clock)
{
    put("orders", CONTROL_PAUSE, BEGIN_WALL_MS + 1000);
    fx.b->now.wall_ms += 1000;
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 0);
    fx.b->now.wall_ms -= 500;
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 500);
}

/* The fixture owns one lane of two: one record a second of two. */
Test(withhold, worker_sends_its_share)
{
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 1000, "a bucket starts empty");
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 2000);
    fixture_pass(1000);
    fixture_turn();
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 2000, "it waits behind the slots");
    cr_expect_eq(until_ms("orders", DEFERRAL_LIMITED), 0);
    withhold_sent(fx.b, fixture_target("orders"));
    cr_expect_eq(until_ms("orders", DEFERRAL_LIMITED), 3000, "a slot of another bucket");
}

static void reconfigure(const struct target_rule *rules)
{
    struct bridge_live live = {.rules = fx.config.rules, .max_attempts = 3, .target_rules = rules};
    bridge_reconfigure(fx.b, &live);
}

Test(withhold, entry_of_targets_may_have_a_rate_until_it_is_reloaded)
{
    static const struct target_rule rules[] = {{.max_rate = {2, 1000}}, {.max_rate = {2, 1000}}};
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 0);
    reconfigure(rules);
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 1000, "one lane of two");
    char canary[TOPIC_TEXT_MAX];
    topic_of_canary(fx.config.rules.allowlist.schedule, canary);
    cr_expect_eq(until_ms(canary, DEFERRAL_NONE), 0);
    reconfigure(NULL);
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 0);
}

Test(withhold, limit_of_an_operator_has_precedence_over_the_rate_of_an_entry)
{
    static const struct target_rule rules[] = {{.max_rate = {60, 60000}},
                                               {.max_rate = {60, 60000}}};
    reconfigure(rules);
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 2000);
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 1000);
    put("orders", CONTROL_PAUSE, CONTROL_ENDLESS);
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), PAUSE_WAIT_MIN_MS);
    cr_expect(bridge_control_remove(fx.b, bytes_text("orders")));
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 2000);
}

/* The two clocks are in whole ms, and their ms begin apart. */
Test(withhold, record_is_not_early_in_its_slot)
{
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS);
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    cr_assert(p->withheld);
    fx.b->now.mono_ms += p->until_wall_ms - fx.b->now.wall_ms - 1;
    fx.b->now.wall_ms = p->until_wall_ms;
    cr_expect_eq(wait_ms("orders", DEFERRAL_LIMITED), 0);
}

/* Assigns lane 0 again. kept: no other worker can have owned it. */
static void gain_again(bool kept)
{
    struct start starts[SLOTS_MAX];
    for (int slot = 0; slot < bridge_queues_per_lane(fx.b); slot++)
        starts[slot] = (struct start){.offset = START, .kept = kept};
    bridge_lane_lost(fx.b, 0);
    cr_assert_eq(bridge_lane_assigned(fx.b, 0, starts, fx.b->now), 0);
    bridge_lanes_settled(fx.b);
}

static void fill_bucket(void)
{
    bridge_lanes_settled(fx.b);
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    cr_assert_eq(until_ms("orders", DEFERRAL_NONE), 1000);
    fixture_pass(1000);
    fixture_turn();
    cr_assert_eq(wait_ms("orders", DEFERRAL_LIMITED), 0);
}

Test(withhold, limit_starts_again_with_other_lanes)
{
    fill_bucket();
    gain_again(false);
    cr_expect_eq(until_ms("orders", DEFERRAL_LIMITED), 1000);
    fixture_pass(1000);
    fixture_turn();
    bridge_lane_lost(fx.b, 0);
    fixture_gain(1);
    bridge_lanes_settled(fx.b);
    cr_expect_eq(until_ms("orders", DEFERRAL_LIMITED), 1000);
}

/* After an abort. Aborts may be more frequent than the slots of a small share. */
Test(withhold, limit_continues_when_the_same_lanes_are_read_again)
{
    fill_bucket();
    gain_again(true);
    cr_expect_eq(wait_ms("orders", DEFERRAL_LIMITED), 0);
    bridge_lanes_settled(fx.b);
    cr_expect_eq(wait_ms("orders", DEFERRAL_LIMITED), 0);
}

/* The records that have slots are read again, and get others. */
Test(withhold, slots_are_void_when_lanes_are_read_again)
{
    fill_bucket();
    for (int i = 0; i < 10; i++)
        cr_assert_neq(until_ms("orders", DEFERRAL_NONE), 0);
    gain_again(true);
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 0);
}

static void step_clock(int64_t by_ms)
{
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    fixture_turn();
    for (int i = 0; i < 10; i++)
        cr_assert_neq(until_ms("orders", DEFERRAL_NONE), 0);
    fx.b->now.wall_ms += by_ms;
    fixture_turn();
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 1000);
}

Test(withhold, slots_are_void_after_a_step_of_the_clock)
{
    step_clock(CLOCK_BACK_MS + 1);
}

Test(withhold, slots_are_void_after_a_step_back_of_the_clock)
{
    step_clock(-CLOCK_BACK_MS - 1);
}

/* The table of targets has fewer entries. */
Test(withhold, slots_of_many_limited_targets_are_kept)
{
    enum { TARGETS = 3 * TARGETS_MAX };
    char name[16];
    put("*", CONTROL_LIMIT, CONTROL_ENDLESS);
    for (int i = 0; i < TARGETS; i++) {
        snprintf(name, sizeof name, "t%d", i);
        cr_assert_eq(until_ms(name, DEFERRAL_NONE), 1000);
    }
    fixture_pass(1000);
    fixture_turn();
    for (int i = 0; i < TARGETS; i++) {
        snprintf(name, sizeof name, "t%d", i);
        cr_assert_eq(wait_ms(name, DEFERRAL_LIMITED), 0, "%s", name);
        withhold_sent(fx.b, fixture_target(name));
        cr_assert_eq(wait_ms(name, DEFERRAL_LIMITED), 1000, "%s", name);
    }
}

Test(withhold, record_without_memory_takes_no_slot)
{
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS);
    fx.has_no_memory = true;
    for (int i = 0; i < 3; i++) {
        parcel_ready(fx.b, p);
        forward_serve(fx.b);
        cr_assert_eq(p->state, PARCEL_WAITING);
    }
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 1000);
    uint8_t label = target_label(fx.b, bytes_text("orders"));
    cr_expect_eq(counter_read(&target_stats(fx.b, label)->limited), 0);
    fx.has_no_memory = false;
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    cr_expect(p->withheld);
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 2000);
}

Test(withhold, cancelled_record_gives_its_slot_back)
{
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS);
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    cr_assert(p->withheld);
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 2000);
    withhold_cancelled(fx.b, p);
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 2000);
    fixture_pass(1001);
    withhold_cancelled(fx.b, p);
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 999, "its slot has passed");
}

Test(withhold, limit_that_is_set_again_forgets_its_slots)
{
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 1000);
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 2000);
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 3000, "the same entry, read again");
    struct control c = {.op = CONTROL_LIMIT,
                        .pattern = "orders",
                        .rate = {2, 1000},
                        .at_wall_ms = BEGIN_WALL_MS + 1,
                        .until_wall_ms = CONTROL_ENDLESS};
    cr_assert_eq(bridge_control_put(fx.b, &c, fx.b->now), 0);
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 1000);
}

Test(withhold, step_of_the_wall_clock_adds_no_tokens)
{
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    cr_expect_eq(until_ms("orders", DEFERRAL_NONE), 1000);
    fx.b->now.wall_ms += 3600000;
    cr_expect_eq(until_ms("orders", DEFERRAL_LIMITED), 2000);
}

Test(withhold, record_that_expires_before_its_slot_takes_none)
{
    put("orders", CONTROL_LIMIT, CONTROL_ENDLESS);
    struct stamp stamp = {.expires_ms = BEGIN_WALL_MS + 10};
    enum deferral why;
    struct target *t = fixture_target("orders");
    cr_expect_eq(withhold_until_ms(fx.b, t, &stamp, &why), BEGIN_WALL_MS + 11);
    withhold_put_back(fx.b, t, &stamp);
    cr_expect_eq(wait_ms("orders", DEFERRAL_NONE), 1000);
}

Test(withhold, lanes_wait_for_the_entries_for_half_a_minute)
{
    fx.config.control = true;
    fixture_again();
    fixture_turn();
    cr_expect(withhold_awaits_control(fx.b));
    for (int ms = 0; ms < CONTROL_WAIT_MS - 1000; ms += 1000) {
        fixture_pass(1000);
        fixture_turn();
    }
    fixture_pass(999);
    fixture_turn();
    cr_expect(withhold_awaits_control(fx.b));
    cr_expect_eq(fixture_notices(NOTICE_CONTROL_UNKNOWN), 0);
    fixture_pass(1);
    fixture_turn();
    cr_expect_not(withhold_awaits_control(fx.b));
    cr_expect_eq(fixture_notices(NOTICE_CONTROL_UNKNOWN), 1);
    cr_expect_eq(fixture_notice(NOTICE_CONTROL_UNKNOWN)->span_ms, CONTROL_WAIT_MS);
}

Test(withhold, lanes_open_when_the_entries_are_known)
{
    fx.config.control = true;
    fixture_again();
    bridge_control_begin(fx.b);
    put("orders", CONTROL_PAUSE, CONTROL_ENDLESS);
    fixture_turn();
    cr_expect(withhold_awaits_control(fx.b));
    bridge_control_known(fx.b);
    cr_expect_not(withhold_awaits_control(fx.b));
    cr_expect_neq(until_ms("orders", DEFERRAL_NONE), 0);
}

/* After a step back of the clock. It would be released again at once, indefinitely. */
Test(withhold, record_that_is_not_due_is_not_released)
{
    enum { BACK_MS = 60000 };
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS + BACK_MS);
    p->withheld = true;
    cr_expect_not(withhold_is_over(fx.b, p));
    parcel_ready(fx.b, p);
    if (!withhold_is_over(fx.b, p))
        forward_serve(fx.b);
    cr_expect_eq(p->state, PARCEL_IN_FLIGHT);
    cr_expect_eq(p->kind, FORWARD_LEVEL);
    fx.b->now.wall_ms += BACK_MS;
    cr_expect(withhold_is_over(fx.b, p));
}

Test(withhold, survey_shows_the_entries_in_force)
{
    put("orders", CONTROL_PAUSE, CONTROL_ENDLESS);
    put("bills", CONTROL_PAUSE, BEGIN_WALL_MS + 1);
    put("*", CONTROL_LIMIT, CONTROL_ENDLESS);
    bridge_survey(fx.b, (struct now){BEGIN_WALL_MS, fx.b->now.mono_ms});
    cr_expect_eq(counter_read(&fx.stats.pauses), 2);
    cr_expect_eq(counter_read(&fx.stats.limits), 1);
    cr_expect_eq(counter_read(&fx.stats.oldest_pause_wall_ms), BEGIN_WALL_MS);
    bridge_survey(fx.b, (struct now){BEGIN_WALL_MS + 1, fx.b->now.mono_ms});
    cr_expect_eq(counter_read(&fx.stats.pauses), 1);
    bridge_control_remove(fx.b, bytes_text("orders"));
    bridge_survey(fx.b, (struct now){BEGIN_WALL_MS + 1, fx.b->now.mono_ms});
    cr_expect_eq(counter_read(&fx.stats.oldest_pause_wall_ms), 0);
}
