/* SPDX-License-Identifier: Apache-2.0 */
/* control: entries, the decision for a target, and the wait of a record of a paused target. */
#include "levels/control.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define NOW ((int64_t)1790000000000)
enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

static struct controls all;

static void start(void)
{
    cr_assert_eq(controls_init(&all), 0);
}

static void stop(void)
{
    controls_deinit(&all);
}

TestSuite(control, .init = start, .fini = stop);

static struct control entry(const char *pattern, enum control_op op, int64_t until_wall_ms)
{
    struct control c = {
        .op = op, .rate = {100, 1000}, .at_wall_ms = NOW - MINUTE, .until_wall_ms = until_wall_ms};
    snprintf(c.pattern, sizeof c.pattern, "%s", pattern);
    return c;
}

static void put(const struct control *c)
{
    cr_assert_eq(controls_put(&all, c, NOW), 0);
}

static void pause(const char *pattern)
{
    struct control c = entry(pattern, CONTROL_PAUSE, CONTROL_ENDLESS);
    put(&c);
}

static void limit(const char *pattern, int64_t records)
{
    struct control c = entry(pattern, CONTROL_LIMIT, CONTROL_ENDLESS);
    c.rate.records = records;
    put(&c);
}

static struct verdict of(const char *target, int64_t now_wall_ms)
{
    return controls_decide(&all, bytes_text(target), now_wall_ms);
}

Test(control, target_without_an_entry_is_open)
{
    pause("orders.*");
    cr_expect_eq(of("payments", NOW).state, CONTROL_OPEN);
    cr_expect_eq(of("payments", NOW).valid_wall_ms, CONTROL_ENDLESS);
    cr_expect_eq(of("orders.eu", NOW).state, CONTROL_PAUSED);
}

Test(control, room_is_what_entries_in_force_leave)
{
    char pattern[32];
    for (int i = 0; i < CONTROLS_MAX; i++) {
        snprintf(pattern, sizeof pattern, "t%d", i);
        struct control c = entry(pattern, CONTROL_PAUSE, i == 7 ? NOW + HOUR : CONTROL_ENDLESS);
        put(&c);
    }
    cr_expect_not(controls_have_room(&all, NOW));
    cr_expect(controls_have_room(&all, NOW + HOUR));
    cr_expect_eq(all.n, CONTROLS_MAX - 1);
}

Test(control, equal_entry_is_known)
{
    struct control c = entry("orders", CONTROL_LIMIT, CONTROL_ENDLESS), other = c;
    cr_expect_not(controls_have(&all, &c));
    put(&c);
    controls_begin(&all);
    cr_expect(controls_have(&all, &c));
    other.rate.records++;
    cr_expect_not(controls_have(&all, &other));
    other = c;
    other.at_wall_ms++;
    cr_expect_not(controls_have(&all, &other));
    other = c;
    other.op = CONTROL_PAUSE;
    cr_expect_not(controls_have(&all, &other));
}

Test(control, limit_is_known_by_the_time_of_its_entry)
{
    limit("orders.*", 100);
    cr_expect_eq(of("orders.eu", NOW).since_wall_ms, NOW - MINUTE);
}

Test(control, limit_of_a_pattern_is_the_lowest_of_its_targets)
{
    cr_expect_eq(controls_limit_per_minute(&all, "orders.*", NOW), 0);
    limit("orders.*", 100);
    limit("orders.eu", 300);
    limit("payments", 1);
    cr_expect_eq(controls_limit_per_minute(&all, "orders.*", NOW), 6000);
    cr_expect_eq(controls_limit_per_minute(&all, "*", NOW), 60);
    cr_expect_eq(controls_limit_per_minute(&all, "orders.eu", NOW), 18000, "the nearest one");
    cr_expect_eq(controls_limit_per_minute(&all, "bills.*", NOW), 0);
    limit("*.timeout", 2);
    cr_expect_eq(controls_limit_per_minute(&all, "bills.*", NOW), 120, "of bills.timeout");
    pause("orders.eu");
    cr_expect_eq(controls_limit_per_minute(&all, "orders.eu", NOW), 0);
}

Test(control, pattern_is_paused_in_part_or_as_a_whole)
{
    cr_expect_eq(controls_paused(&all, "orders.*", NOW), CONTROL_NONE);
    limit("orders.*", 100);
    pause("orders.eu");
    cr_expect_eq(controls_paused(&all, "orders.*", NOW), CONTROL_SOME);
    cr_expect_eq(controls_paused(&all, "orders.eu", NOW), CONTROL_ALL);
    cr_expect_eq(controls_paused(&all, "orders.us", NOW), CONTROL_NONE);
    pause("*.timeout");
    cr_expect_eq(controls_paused(&all, "bills.*", NOW), CONTROL_SOME, "bills.timeout");
    pause("orders.*");
    cr_expect_eq(controls_paused(&all, "orders.*", NOW), CONTROL_ALL);
    cr_expect_eq(controls_paused(&all, "orders.us", NOW), CONTROL_ALL);
    cr_expect_eq(controls_paused(&all, "*", NOW), CONTROL_SOME);
    cr_expect_eq(controls_paused(&all, "orders.*", CONTROL_ENDLESS), CONTROL_NONE, "it has ended");
}

/* A topic that is created again may have as many other entries. */
Test(control, old_entries_make_room_during_a_reading)
{
    char pattern[32];
    for (int reading = 0; reading < 2; reading++) {
        controls_begin(&all);
        for (int i = 0; i < CONTROLS_MAX; i++) {
            snprintf(pattern, sizeof pattern, "orders.%d.%d", reading, i);
            pause(pattern);
        }
        controls_end(&all);
    }
    cr_expect_eq(all.n, CONTROLS_MAX);
    cr_expect_eq(of("orders.0.7", NOW).state, CONTROL_OPEN);
    cr_expect_eq(of("orders.1.7", NOW).state, CONTROL_PAUSED);
}

Test(control, entry_replaces_the_one_with_its_pattern)
{
    uint64_t version = all.version;
    pause("orders");
    cr_expect_neq(all.version, version);
    limit("orders", 7);
    cr_expect_eq(all.n, 1);
    cr_expect_eq(of("orders", NOW).state, CONTROL_LIMITED);
    cr_expect_eq(of("orders", NOW).rate.records, 7);
}

Test(control, only_the_entry_with_exactly_that_pattern_is_removed)
{
    pause("orders");
    pause("orders*");
    cr_expect(controls_remove(&all, bytes_text("orders")));
    uint64_t version = all.version;
    cr_expect_not(controls_remove(&all, bytes_text("orders")));
    cr_expect_eq(all.version, version);
    cr_expect_eq(of("orders", NOW).state, CONTROL_PAUSED);
    cr_expect(controls_remove(&all, bytes_text("orders*")));
    cr_expect_eq(of("orders", NOW).state, CONTROL_OPEN);
}

Test(control, pause_comes_before_a_limit)
{
    limit("orders", 7);
    pause("*");
    cr_expect_eq(of("orders", NOW).state, CONTROL_PAUSED);
}

Test(control, limit_with_the_longest_literal_beginning_counts)
{
    limit("orders.*", 7);
    limit("*", 8);
    limit("orders.eu*", 9);
    cr_expect_eq(of("orders.eu", NOW).rate.records, 9);
    cr_expect_eq(of("orders.us", NOW).rate.records, 7);
    cr_expect_eq(of("payments", NOW).rate.records, 8);
}

Test(control, latest_of_equally_near_limits_counts)
{
    struct control earlier = entry("orders*s", CONTROL_LIMIT, CONTROL_ENDLESS);
    struct control later = entry("orders*", CONTROL_LIMIT, CONTROL_ENDLESS);
    earlier.rate.records = 1;
    later.rate.records = 2;
    later.at_wall_ms++;
    put(&later);
    put(&earlier);
    cr_expect_eq(of("orders.s", NOW).rate.records, 2);
}

Test(control, entry_ends)
{
    struct control c = entry("orders", CONTROL_PAUSE, NOW + HOUR);
    put(&c);
    limit("*", 7);
    cr_expect_eq(of("orders", NOW).valid_wall_ms, NOW + HOUR);
    cr_expect_eq(of("orders", NOW + HOUR - 1).state, CONTROL_PAUSED);
    cr_expect_eq(of("orders", NOW + HOUR).state, CONTROL_LIMITED);
}

Test(control, several_pauses_are_one_from_the_first_to_the_last)
{
    struct control first = entry("orders", CONTROL_PAUSE, NOW + MINUTE);
    struct control last = entry("*", CONTROL_PAUSE, NOW + HOUR);
    last.at_wall_ms = NOW;
    put(&last);
    put(&first);
    struct verdict v = of("orders", NOW);
    cr_expect_eq(v.since_wall_ms, NOW - MINUTE);
    cr_expect_eq(v.ends_wall_ms, NOW + HOUR);
    cr_expect_eq(v.valid_wall_ms, NOW + MINUTE);
}

Test(control, entries_that_do_not_come_again_are_removed)
{
    pause("orders");
    pause("payments");
    controls_begin(&all);
    cr_expect_eq(of("orders", NOW).state, CONTROL_PAUSED, "until the end of the reading");
    pause("payments");
    controls_end(&all);
    cr_expect_eq(of("orders", NOW).state, CONTROL_OPEN);
    cr_expect_eq(of("payments", NOW).state, CONTROL_PAUSED);
    controls_end(&all);
    cr_expect_eq(all.n, 1);
}

Test(control, entries_that_ended_make_room)
{
    for (int i = 0; i < CONTROLS_MAX; i++) {
        char pattern[16];
        snprintf(pattern, sizeof pattern, "t%d", i);
        struct control c = entry(pattern, CONTROL_PAUSE, i == 500 ? NOW : CONTROL_ENDLESS);
        put(&c);
    }
    pause("t0");
    pause("another");
    cr_expect_eq(of("another", NOW).state, CONTROL_PAUSED);
    cr_expect_eq(of("t999", NOW).state, CONTROL_PAUSED);
    struct control c = entry("one.more", CONTROL_PAUSE, CONTROL_ENDLESS);
    cr_expect_eq(controls_put(&all, &c, NOW), ERR_FULL);
    cr_expect_eq(of("one.more", NOW).state, CONTROL_OPEN);
}

static int64_t wait_of(int64_t paused_ms, int64_t ends_ms, int64_t expires_ms)
{
    struct verdict v = {
        .state = CONTROL_PAUSED, .since_wall_ms = NOW - paused_ms, .ends_wall_ms = ends_ms};
    return pause_next_try_ms(&v, expires_ms, NOW) - NOW;
}

Test(control, record_waits_a_quarter_of_the_pause)
{
    cr_expect_eq(wait_of(0, CONTROL_ENDLESS, INT64_MAX), 5 * SECOND);
    cr_expect_eq(wait_of(-HOUR, CONTROL_ENDLESS, INT64_MAX), 5 * SECOND, "clocks differ");
    cr_expect_eq(wait_of(20 * SECOND, CONTROL_ENDLESS, INT64_MAX), 5 * SECOND);
    cr_expect_eq(wait_of(8 * MINUTE, CONTROL_ENDLESS, INT64_MAX), 2 * MINUTE);
    cr_expect_eq(wait_of(HOUR, CONTROL_ENDLESS, INT64_MAX), 10 * MINUTE);
    cr_expect_eq(pause_wait_ms(8 * MINUTE), 2 * MINUTE);
}

Test(control, record_waits_no_longer_than_its_pause_or_its_expiry)
{
    cr_expect_eq(wait_of(HOUR, NOW + 1, INT64_MAX), 1);
    cr_expect_eq(wait_of(HOUR, NOW + MINUTE, INT64_MAX), MINUTE);
    cr_expect_eq(wait_of(HOUR, CONTROL_ENDLESS, NOW), 1);
    cr_expect_eq(wait_of(HOUR, CONTROL_ENDLESS, NOW + MINUTE), MINUTE + 1);
    cr_expect_eq(wait_of(HOUR, NOW + SECOND, NOW + MINUTE), SECOND);
}

Test(control, hour_of_a_pause_has_28_writes_of_a_record)
{
    struct verdict v = {.state = CONTROL_PAUSED, .since_wall_ms = NOW, .ends_wall_ms = INT64_MAX};
    int writes = 0, later = 0;
    int64_t at = NOW;
    for (; at < NOW + HOUR; writes++)
        at = pause_next_try_ms(&v, INT64_MAX, at);
    for (int64_t hour = at; at < hour + HOUR; later++)
        at = pause_next_try_ms(&v, INT64_MAX, at);
    cr_expect(writes >= 27 && writes <= 29, "%d", writes);
    cr_expect_eq(later, 6);
}
