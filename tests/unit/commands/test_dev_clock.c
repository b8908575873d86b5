/* SPDX-License-Identifier: Apache-2.0 */
/* dev_clock: moves, and the times before and after them. */
#include "bridge/commands/dev_clock.h"

#include <criterion/criterion.h>

enum { MINUTE_MS = 60000 };

Test(dev_clock, a_clock_that_was_not_moved_is_the_system_clock)
{
    struct dev_clock *clock = dev_clock_new();
    int64_t before_us = clock_wall_us(NULL), us = clock_wall_us(dev_clock_functions(clock));
    cr_expect(before_us <= us && us <= clock_wall_us(NULL));
    cr_expect_eq(dev_clock_of_real_ms(clock, 17), 17);
    dev_clock_free(clock);
    dev_clock_free(NULL);
}

/* A request that was sent before a move is due by the clock from before, whenever it is read. */
Test(dev_clock, a_move_changes_only_later_times)
{
    struct dev_clock *clock = dev_clock_new();
    int64_t before_ms = clock_wall_ms();
    cr_assert_eq(dev_clock_forward(clock, 15 * MINUTE_MS), 0);
    int64_t after_ms = clock_wall_ms();
    cr_assert_eq(dev_clock_forward(clock, MINUTE_MS), 0);
    cr_expect_eq(dev_clock_of_real_ms(clock, before_ms), before_ms);
    cr_expect_eq(dev_clock_of_real_ms(clock, after_ms), after_ms + 15 * MINUTE_MS);
    int64_t now_ms = clock_wall_ms();
    cr_expect_eq(dev_clock_of_real_ms(clock, now_ms), now_ms + 16 * MINUTE_MS);
    dev_clock_free(clock);
}

Test(dev_clock, a_move_has_begun_when_the_call_returns)
{
    struct dev_clock *clock = dev_clock_new();
    const struct clock *functions = dev_clock_functions(clock);
    for (int i = 1; i <= 100; i++) {
        cr_assert_eq(dev_clock_forward(clock, MINUTE_MS), 0);
        cr_assert_geq(clock_wall_us(functions) - clock_wall_us(NULL), i * MINUTE_MS * 1000L - 1000);
    }
    dev_clock_free(clock);
}

Test(dev_clock, many_moves_are_added_up_and_the_oldest_beginnings_forgotten)
{
    struct dev_clock *clock = dev_clock_new();
    for (int i = 0; i < DEV_CLOCK_MOVES + 5; i++)
        cr_assert_eq(dev_clock_forward(clock, 1), 0);
    int64_t now_ms = clock_wall_ms();
    cr_expect_eq(dev_clock_of_real_ms(clock, now_ms), now_ms + DEV_CLOCK_MOVES + 5);
    cr_expect_eq(dev_clock_of_real_ms(clock, 0), 5);
    dev_clock_free(clock);
}

Test(dev_clock, a_clock_stays_below_its_limit)
{
    struct dev_clock *clock = dev_clock_new();
    cr_assert_eq(dev_clock_forward(clock, DEV_CLOCK_AHEAD_MAX_MS - 1), 0);
    cr_expect_eq(dev_clock_forward(clock, 2), ERR_DATA);
    cr_expect_eq(dev_clock_forward(clock, INT64_MAX), ERR_DATA);
    cr_expect_eq(dev_clock_forward(clock, 1), 0);
    dev_clock_free(clock);
}

struct waiting {
    struct dev_clock *clock;
    int n;
    int64_t ahead_ms;
};

static void note(void *ctx)
{
    struct waiting *w = ctx;
    w->n++;
    w->ahead_ms = (clock_wall_us(dev_clock_functions(w->clock)) - clock_wall_us(NULL)) / 1000;
}

/* Requests that are read during the wait are from before the move. */
Test(dev_clock, a_move_begins_after_the_wait)
{
    struct waiting w = {.clock = dev_clock_new()};
    const struct clock *functions = dev_clock_functions(w.clock);
    dev_clock_wait_with(w.clock, note, &w);
    cr_assert_eq(dev_clock_forward(w.clock, MINUTE_MS), 0);
    cr_expect(w.n == 1 && w.ahead_ms == 0, "%d waits, ahead by %ld", w.n, (long)w.ahead_ms);
    cr_expect_eq(dev_clock_read_n(w.clock), 0);
    (void)functions->of_real_ms(functions->ctx, clock_wall_ms());
    cr_expect_eq(dev_clock_read_n(w.clock), 1);
    dev_clock_free(w.clock);
}
