/* SPDX-License-Identifier: Apache-2.0 */
/* recent: names that were delivered in the last seconds. */
#include "levels/recent.h"

#include <criterion/criterion.h>

static const struct cancel_print one = {17, 3}, other = {17, 4};

Test(recent, delivered_name_is_found_for_ten_seconds)
{
    struct recent recent;
    cr_assert_eq(recent_init(&recent), 0);
    recent_put(&recent, 2, one, 40, 1000);
    cr_expect_eq(recent_find(&recent, 2, one, 41, 1000 + RECENT_MS), 40);
    cr_expect_eq(recent_find(&recent, 2, one, 41, 1001 + RECENT_MS), -1);
    recent_deinit(&recent);
}

Test(recent, other_names_lanes_and_later_requests_do_not_match)
{
    struct recent recent;
    cr_assert_eq(recent_init(&recent), 0);
    cr_expect_eq(recent_find(&recent, 0, (struct cancel_print){0, 0}, 9, 0), -1);
    recent_put(&recent, 2, one, 40, 1000);
    cr_expect_eq(recent_find(&recent, 2, other, 41, 1000), -1);
    cr_expect_eq(recent_find(&recent, 1, one, 41, 1000), -1);
    cr_expect_eq(recent_find(&recent, 2, one, 40, 1000), -1);
    recent_forget(&recent);
    cr_expect_eq(recent_find(&recent, 2, one, 41, 1000), -1);
    recent_deinit(&recent);
}
