/* SPDX-License-Identifier: Apache-2.0 */
/* lag: for how long a log is read behind. */
#include "levels/lag.h"

#include <criterion/criterion.h>

enum { CALL_MS = 1000, SETTLED = 3 };

Test(lag, position_at_the_end_is_not_behind)
{
    struct lag lag = {0};
    cr_expect_eq(lag_ms(&lag, 100, 100, 5), 0);
    cr_expect_eq(lag_ms(&lag, 100, 100, 5000), 0, "an idle log stays read");
}

Test(lag, first_call_that_sees_the_end_begins_it)
{
    struct lag lag = {0};
    cr_expect_eq(lag_ms(&lag, 100, 101, 5), 0);
    cr_expect_eq(lag_ms(&lag, 100, 101, 1505), 1500);
    cr_expect_eq(lag_ms(&lag, 100, 200, 2505), 2500, "more records arrive");
    cr_expect_eq(lag_ms(&lag, 101, 200, 2605), 100, "the first one was read");
    cr_expect_eq(lag_ms(&lag, 200, 200, 2705), 0);
}

/* The log grows by 10 a call and is read `behind` calls later. */
static void stay_behind(int behind, int64_t least_ms)
{
    struct lag lag = {0};
    for (int call = 0; call < 40 * behind; call++) {
        int64_t next = call < behind ? 0 : 10 * (call - behind);
        int64_t late_ms = lag_ms(&lag, next, 10 * call, (int64_t)call * CALL_MS);
        cr_expect_leq(late_ms, (int64_t)behind * CALL_MS);
        if (call > SETTLED * behind)
            cr_expect_geq(late_ms, least_ms, "call %d", call);
    }
}

Test(lag, steady_lag_is_measured_to_one_call)
{
    stay_behind(3, 2 * CALL_MS);
}

Test(lag, long_lag_is_measured_to_a_quarter)
{
    stay_behind(60, 45 * CALL_MS);
    stay_behind(1000, 750 * CALL_MS);
}

Test(lag, truncated_log_is_not_behind)
{
    struct lag lag = {0};
    cr_expect_eq(lag_ms(&lag, 100, 500, 0), 0);
    cr_expect_eq(lag_ms(&lag, 100, 100, 9000), 0);
}
