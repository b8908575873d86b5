/* SPDX-License-Identifier: Apache-2.0 */
/* commit_limits: the limits of commits, computed from the brokers' settings. */
#include "consumer/admin/commit_limits.h"
#include "levels/window.h"

#include <criterion/criterion.h>

static struct commit_limits of(int64_t bytes, int64_t minutes)
{
    struct broker_limit metadata = {.least = bytes, .known = bytes >= 0};
    struct broker_limit retention = {.least = minutes, .known = minutes >= 0};
    return commit_limits_of(&metadata, &retention);
}

Test(commit_limits, an_idle_offset_is_committed_three_times_before_it_expires)
{
    cr_assert_eq(of(4096, 1).again_ms, 20 * 1000);
    cr_assert_eq(of(4096, 60).again_ms, 20 * 60 * 1000);
    cr_assert_eq(of(4096, 0).again_ms, 20 * 1000);
}

Test(commit_limits, an_idle_offset_is_committed_each_hour_at_least)
{
    cr_assert_eq(of(4096, 180).again_ms, COMMIT_AGAIN_MAX_MS);
    cr_assert_eq(of(4096, 7 * 24 * 60).again_ms, COMMIT_AGAIN_MAX_MS);
    cr_assert(of(4096, 7 * 24 * 60).retention_known);
}

Test(commit_limits, unknown_value_has_the_default)
{
    cr_assert_eq(of(-1, -1).again_ms, COMMIT_AGAIN_MAX_MS);
    cr_assert_eq(of(-1, -1).text_max, WINDOW_TEXT_MAX);
    cr_assert_not(of(-1, -1).retention_known);
}

Test(commit_limits, smaller_limit_of_metadata_counts)
{
    cr_assert_eq(of(1024, -1).text_max, 1024);
    cr_assert_eq(of(0, -1).text_max, 1);
    cr_assert_eq(of(1 << 20, -1).text_max, WINDOW_TEXT_MAX);
}
