/* SPDX-License-Identifier: Apache-2.0 */
/* spread: chosen times are even, in the span, and stay the same. */
#include "levels/spread.h"

#include <criterion/criterion.h>

enum { DUE = 1000000, SPREAD = 20000, LANES = 8, REQUESTS = 100000 };
static const int64_t NEVER = INT64_MAX;

Test(spread, requests_due_at_one_instant_are_spread_evenly)
{
    int in_second[SPREAD / 1000] = {0};
    for (int i = 0; i < REQUESTS; i++) {
        int64_t at = spread_choose(DUE, SPREAD, NEVER, (uint32_t)(i % LANES), i / LANES);
        cr_assert(at >= DUE && at < DUE + SPREAD);
        in_second[(at - DUE) / 1000]++;
    }
    for (int i = 0; i < SPREAD / 1000; i++)
        cr_assert(in_second[i] > 4500 && in_second[i] < 5500, "second %d has %d", i, in_second[i]);
}

Test(spread, time_depends_on_the_request_alone)
{
    cr_assert_eq(spread_choose(DUE, SPREAD, NEVER, 3, 17),
                 spread_choose(DUE, SPREAD, NEVER, 3, 17));
    cr_assert_neq(spread_choose(DUE, SPREAD, NEVER, 3, 17),
                  spread_choose(DUE, SPREAD, NEVER, 4, 17));
}

Test(spread, expiry_ends_the_span)
{
    for (int offset = 0; offset < 1000; offset++) {
        int64_t at = spread_choose(DUE, SPREAD, DUE + 5, 0, offset);
        cr_assert(at >= DUE && at < DUE + 5);
    }
    cr_assert_eq(spread_choose(DUE, SPREAD, DUE, 0, 1), DUE);
}

Test(spread, no_spread_is_the_due_time)
{
    cr_assert_eq(spread_choose(DUE, 0, NEVER, 0, 1), DUE);
    cr_assert_eq(spread_choose(-5, 0, NEVER, 0, 1), -5);
}

Test(spread, span_beyond_all_times_ends_with_them)
{
    int64_t at = spread_choose(INT64_MAX - 10, INT64_MAX, NEVER, 0, 1);
    cr_assert(at >= INT64_MAX - 10 && at < INT64_MAX);
}
