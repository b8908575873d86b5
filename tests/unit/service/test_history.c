/* SPDX-License-Identifier: Apache-2.0 */
/* history: seconds as differences of counters, in a ring. */
#include "bridge/service/history.h"

#include <criterion/criterion.h>

static struct history *history;
static struct stats stats;

static void start(void)
{
    history = history_new();
    cr_assert_not_null(history);
}

static void stop(void)
{
    history_free(history);
}
TestSuite(history, .init = start, .fini = stop);

Test(history, second_has_the_growth_of_the_counters)
{
    counter_add(&stats.deliveries, 100);
    history_add(history, &stats, 1000, 0);
    cr_expect_eq(history->n, 0);
    counter_add(&stats.deliveries, 7);
    counter_add(&stats.dead[CODE_OK + 1], 2);
    counter_set(&stats.slots[0].pending, 9);
    counter_set(&stats.schedule_unread, 5);
    counter_set(&stats.slots[1].pending, 6);
    counter_set(&stats.slots[3].pending, 7);
    stats_lateness(&stats, 1, 40);
    history_add(history, &stats, 2003, 1003);
    const struct history_second *second = history_at(history, 0);
    cr_expect_eq(second->wall_ms, 2003);
    cr_expect_eq(second->span_ms, 1003);
    cr_expect_eq(second->deliveries, 7);
    cr_expect_eq(second->dead_letters, 2);
    cr_expect_eq(second->backlog, 5);
    cr_expect_eq(second->waiting, 4 + 13);
    cr_expect(second->p99_ms >= 37 && second->p99_ms <= 40, "%lld", (long long)second->p99_ms);
    uint32_t all = 0;
    for (int i = 0; i < SPAN_BUCKETS; i++)
        all += second->lateness[i];
    cr_expect_eq(all, 1);
}

Test(history, counters_of_a_new_service_are_no_growth)
{
    counter_set(&stats.requests, 100);
    history_add(history, &stats, 1000, 0);
    counter_set(&stats.requests, 3);
    history_add(history, &stats, 2000, 1000);
    cr_expect_eq(history_at(history, 0)->requests, 0);
}

Test(history, oldest_second_leaves_when_the_hour_is_full)
{
    for (int i = 0; i <= HISTORY_MAX + 10; i++) {
        counter_set(&stats.hops, (uint64_t)i * 2);
        history_add(history, &stats, i * 1000, i * 1000);
    }
    cr_expect_eq(history->n, HISTORY_MAX);
    cr_expect_eq(history_at(history, 0)->wall_ms, 11 * 1000);
    cr_expect_eq(history_at(history, HISTORY_MAX - 1)->wall_ms, (HISTORY_MAX + 10) * 1000);
    struct history_second sum = history_sum(history, 10);
    cr_expect_eq(sum.hops, 20);
    cr_expect_eq(sum.span_ms, 10000);
    cr_expect_eq(history_sum(history, 2 * HISTORY_MAX).hops, 2 * HISTORY_MAX);
    struct history *copy = history_copy(history);
    cr_assert_not_null(copy);
    cr_expect_eq(copy->n, HISTORY_MAX);
    cr_expect_eq(history_at(copy, 0)->wall_ms, 11 * 1000);
    history_free(copy);
}

Test(history, quantile_of_a_sum_is_that_of_all_its_deliveries)
{
    history_add(history, &stats, 1000, 0);
    stats_lateness(&stats, 1, 400); /* one late delivery alone in its second */
    history_add(history, &stats, 2000, 1000);
    for (int i = 0; i < 200; i++)
        stats_lateness(&stats, 1, 3);
    history_add(history, &stats, 3000, 2000);
    struct history_second sum = history_sum(history, 10);
    cr_expect_eq(sum.p50_ms, 5);
    cr_expect_eq(sum.p99_ms, 5);
    cr_expect(sum.max_ms >= 375, "%lld", (long long)sum.max_ms);
}

Test(history, quantile_of_a_sum_never_exceeds_its_maximum)
{
    static const int64_t LATE_MS[] = {0, 1, 6, 104, 3141, 400000};
    for (size_t i = 0; i < sizeof LATE_MS / sizeof *LATE_MS; i++) {
        int64_t ms = (int64_t)i * 1000;
        history_add(history, &stats, ms, ms);
        stats_lateness(&stats, 1, LATE_MS[i]);
        history_add(history, &stats, ms + 500, ms + 500);
        struct history_second sum = history_sum(history, 1);
        cr_expect(sum.max_ms >= LATE_MS[i] && sum.max_ms >= 1, "max %lld", (long long)sum.max_ms);
        cr_expect(sum.p50_ms >= LATE_MS[i] && sum.p50_ms <= sum.p99_ms && sum.p99_ms <= sum.max_ms,
                  "%lld ms: p50 %lld, p99 %lld, max %lld", (long long)LATE_MS[i],
                  (long long)sum.p50_ms, (long long)sum.p99_ms, (long long)sum.max_ms);
    }
}

Test(history, sum_of_nothing_has_no_span)
{
    cr_expect_eq(history_sum(history, 10).span_ms, 0);
}
