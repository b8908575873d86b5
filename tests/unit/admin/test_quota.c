/* SPDX-License-Identifier: Apache-2.0 */
/* quota: a rate with a burst. */
#include "bridge/admin/quota.h"

#include <criterion/criterion.h>

enum { SECOND_US = 1000000 };

static int take_all(struct quota *quota, int64_t mono_us)
{
    int n = 0;
    while (quota_take(quota, mono_us))
        n++;
    return n;
}

Test(quota, burst_passes_at_once_and_then_the_rate)
{
    struct quota quota = {.per_s = 5, .burst = 20};
    int64_t now_us = 77 * SECOND_US;
    cr_expect_eq(take_all(&quota, now_us), 20);
    cr_expect_eq(take_all(&quota, now_us + SECOND_US), 5);
    cr_expect_eq(take_all(&quota, now_us + SECOND_US), 0);
    cr_expect_eq(take_all(&quota, now_us + 100 * SECOND_US), 20);
}
