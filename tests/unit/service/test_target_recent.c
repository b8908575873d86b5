/* SPDX-License-Identifier: Apache-2.0 */
/* target_recent: the last ten seconds of each entry. */
#include "bridge/service/target_recent.h"

#include <criterion/criterion.h>

static struct target_recent recent;
static struct stats stats;

Test(target_recent, growth_needs_two_snapshots)
{
    counter_set(&stats.targets[1].deliveries, 7);
    cr_expect_eq(target_recent_of(&recent, 1).span_ms, 0);
    target_recent_add(&recent, &stats, 500);
    cr_expect_eq(target_recent_of(&recent, 1).span_ms, 0);
    counter_add(&stats.targets[1].deliveries, 3);
    target_recent_add(&recent, &stats, 1500);
    cr_expect_eq(target_recent_of(&recent, 1).span_ms, 1000);
    cr_expect_eq(target_recent_of(&recent, 1).deliveries, 3);
    cr_expect_eq(target_recent_of(&recent, 2).deliveries, 0);
}

Test(target_recent, deliveries_leave_after_ten_seconds)
{
    for (int second = 0; second < 25; second++) {
        target_recent_add(&recent, &stats, second * 1000);
        counter_add(&stats.targets[1].deliveries, second < 10 ? 100 : 1);
    }
    cr_expect_eq(target_recent_of(&recent, 1).span_ms, TARGET_RECENT_SECONDS * 1000);
    cr_expect_eq(target_recent_of(&recent, 1).deliveries, TARGET_RECENT_SECONDS);
}

Test(target_recent, quantiles_are_bounds_of_the_lateness_in_these_seconds)
{
    for (int i = 0; i < 1000; i++) /* older than the first snapshot */
        spans_add(&stats.targets[1].lateness, 60000);
    target_recent_add(&recent, &stats, 0);
    for (int i = 0; i < 98; i++)
        spans_add(&stats.targets[1].lateness, 3);
    spans_add(&stats.targets[1].lateness, 400);
    spans_add(&stats.targets[1].lateness, INT64_MAX / 2);
    target_recent_add(&recent, &stats, 1000);
    struct target_growth g = target_recent_of(&recent, 1);
    cr_expect_eq(g.lateness_n, 100);
    cr_expect(g.p50_ms >= 3 && g.p50_ms < 20, "%lld", (long long)g.p50_ms);
    cr_expect(g.p99_ms >= 400 && g.p99_ms <= 1000, "%lld", (long long)g.p99_ms);
}

Test(target_recent, counters_of_a_new_service_are_no_growth)
{
    counter_set(&stats.targets[1].deliveries, 100);
    target_recent_add(&recent, &stats, 0);
    counter_set(&stats.targets[1].deliveries, 3);
    target_recent_add(&recent, &stats, 1000);
    cr_expect_eq(target_recent_of(&recent, 1).deliveries, 0);
}
