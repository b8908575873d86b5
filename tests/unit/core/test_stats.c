/* SPDX-License-Identifier: Apache-2.0 */
/* stats: lateness is reported within its bound, between any two snapshots, of any number of
   workers. */
#include "bridge/core/stats.h"

#include <criterion/criterion.h>
#include <inttypes.h>

/* BIN: buckets for each doubling; a lateness below it is exact. */
enum { BIN = 16, SECOND_MS = 1000, HOUR_MS = 3600 * 1000 };

static struct stats stats, before;

static void clear(void)
{
    stats = before = (struct stats){0};
}

TestSuite(stats, .init = clear);

static int64_t quantile_ms(double q)
{
    return stats_quantile_ms(&stats, &before, q);
}

static void late(int n, int64_t ms)
{
    for (int i = 0; i < n; i++)
        stats_lateness(&stats, 0, ms);
}

/* Returns the lateness that the histogram reports for one of ms. */
static int64_t told_ms(int64_t ms)
{
    stats = (struct stats){0};
    stats_lateness(&stats, 0, ms);
    return stats_quantile_ms(&stats, NULL, 0.5);
}

Test(stats, lateness_below_16_ms_is_exact)
{
    for (int64_t ms = 0; ms < BIN; ms++)
        cr_expect_eq(told_ms(ms), ms);
}

Test(stats, lateness_is_reported_too_small_by_a_sixteenth_at_most)
{
    for (int64_t ms = 0; ms < 9 * HOUR_MS; ms += 1 + ms / 97) {
        int64_t told = told_ms(ms);
        cr_assert(told <= ms && (ms - told) * BIN <= ms, "%" PRId64 " is reported as %" PRId64, ms,
                  told);
    }
}

Test(stats, each_doubling_begins_and_ends_exactly)
{
    for (int64_t edge_ms = BIN; edge_ms <= (int64_t)1 << 24; edge_ms *= 2) {
        int64_t width_ms =
            edge_ms > 2 * BIN ? edge_ms / (2 * BIN) : 1; /* of a bucket below the edge */
        cr_expect_eq(told_ms(edge_ms), edge_ms);
        cr_expect_eq(told_ms(edge_ms - 1), edge_ms - width_ms);
    }
}

Test(stats, a_longer_lateness_is_never_reported_as_a_shorter_one)
{
    int64_t last_ms = 0;
    for (int64_t ms = 0; ms < 1 << 16; ms++) {
        int64_t told = told_ms(ms);
        cr_assert_geq(told, last_ms);
        last_ms = told;
    }
}

Test(stats, the_last_bucket_counts_all_longer_latenesses)
{
    int64_t most_ms = told_ms(INT64_MAX);
    cr_expect_gt(most_ms, 9 * (int64_t)HOUR_MS);
    cr_expect_eq(told_ms(most_ms), most_ms);
    cr_expect_eq(told_ms(2 * most_ms), most_ms);
    cr_expect_lt(told_ms(most_ms - 1), most_ms);
}

Test(stats, early_counts_as_not_late)
{
    cr_expect_eq(told_ms(-1), 0);
    cr_expect_eq(told_ms(INT64_MIN), 0);
    cr_expect_eq(counter_read(&stats.lateness_max_ms), 0);
}

Test(stats, the_maximum_is_exact_and_stays)
{
    late(1, 123457);
    late(1, 5);
    cr_expect_eq(counter_read(&stats.lateness_max_ms), 123457);
}

Test(stats, quantiles_of_nothing_are_0)
{
    cr_expect_eq(stats_quantile_ms(&stats, NULL, 0.5), 0);
    late(10, SECOND_MS);
    before = stats;
    cr_expect_eq(quantile_ms(0), 0);
    cr_expect_eq(quantile_ms(1), 0);
}

Test(stats, maximum_is_rounded_up_to_a_whole_ms_and_its_bucket)
{
    cr_expect_eq(stats_max_ms(&stats, NULL), 0);
    late(10, 0);
    cr_expect_eq(stats_max_ms(&stats, &before), 1);
    before = stats;
    cr_expect_eq(stats_max_ms(&stats, &before), 0);
    late(1, 104); /* its bucket ends at 107 ms */
    cr_expect_eq(stats_max_ms(&stats, &before), 104);
    late(1, HOUR_MS);
    before = stats;
    late(1, 104);
    cr_expect_eq(stats_max_ms(&stats, &before), 107);
    cr_expect_eq(stats_max_ms(&stats, NULL), HOUR_MS);
}

Test(stats, quantiles_are_elements_of_the_sorted_list)
{
    for (int ms = 9; ms >= 0; ms--)
        late(10, ms);
    cr_expect_eq(quantile_ms(0), 0);
    cr_expect_eq(quantile_ms(0.5), 4);
    cr_expect_eq(quantile_ms(0.95), 9);
    cr_expect_eq(quantile_ms(1), 9);
}

Test(stats, one_late_record_of_a_thousand_shows_only_in_the_last_quantile)
{
    late(999, 2);
    late(1, HOUR_MS);
    cr_expect_eq(quantile_ms(0.99), 2);
    cr_expect_geq(quantile_ms(1), HOUR_MS - HOUR_MS / BIN);
}

Test(stats, quantiles_between_snapshots_see_only_later_records)
{
    late(1000, HOUR_MS);
    before = stats;
    late(10, 3);
    cr_expect_eq(quantile_ms(0.5), 3);
    cr_expect_eq(quantile_ms(1), 3);
    cr_expect_geq(stats_quantile_ms(&stats, NULL, 0.5), HOUR_MS - HOUR_MS / BIN);
}

Test(stats, quantiles_without_a_snapshot_cover_all_records)
{
    late(10, 3);
    before = (struct stats){0};
    cr_expect_eq(stats_quantile_ms(&stats, NULL, 1), quantile_ms(1));
}

Test(stats, sums_add_counters_and_keep_the_larger_maximum)
{
    struct stats sum = {0};
    counter_add(&stats.requests, 3);
    counter_add(&stats.dead[CODE_EXPIRED], 2);
    late(4, 40);
    stats_sum(&sum, &stats);
    clear();
    counter_add(&stats.requests, 4);
    counter_set(&stats.buffered_records, 7);
    late(6, 7);
    stats_sum(&sum, &stats);
    cr_expect_eq(counter_read(&sum.requests), 7);
    cr_expect_eq(counter_read(&sum.dead[CODE_EXPIRED]), 2);
    cr_expect_eq(counter_read(&sum.buffered_records), 7);
    cr_expect_eq(counter_read(&sum.lateness_max_ms), 40);
}

Test(stats, quantiles_of_a_sum_cover_all_its_workers)
{
    struct stats sum = {0};
    late(50, 1);
    stats_sum(&sum, &stats);
    clear();
    late(50, 9);
    stats_sum(&sum, &stats);
    cr_expect_eq(stats_quantile_ms(&sum, NULL, 0.25), 1);
    cr_expect_eq(stats_quantile_ms(&sum, NULL, 0.75), 9);
}

/* Returns whether a sum keeps the extreme value of this counter. */
static bool is_extreme(const struct counter *counter)
{
    bool extreme = counter == &stats.lateness_max_ms || counter == &stats.oldest_seal_wall_ms ||
                   counter == &stats.schedule_lag_ms || counter == &stats.pauses ||
                   counter == &stats.limits || counter == &stats.oldest_pause_wall_ms;
    for (int slot = 0; slot < SLOTS_MAX; slot++)
        extreme |= counter == &stats.slots[slot].head_deadline_wall_ms ||
                   counter == &stats.slots[slot].redelivering_due_wall_ms;
    for (int label = 0; label < TARGET_LABELS; label++)
        extreme |=
            counter == &stats.targets[label].limit_per_minute ||
            counter == &stats.targets[label].pause || counter == &stats.targets[label].topics ||
            counter == &stats.targets[label].failing || counter == &stats.targets[label].slow;
    return extreme;
}

Test(stats, every_counter_is_summed)
{
    struct stats sum = {0};
    struct counter *each = (struct counter *)&stats, *summed = (struct counter *)&sum;
    size_t n = sizeof stats / sizeof *each;
    for (size_t i = 0; i < n; i++)
        counter_set(&each[i], i + 1);
    stats_sum(&sum, &stats);
    stats_sum(&sum, &stats);
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(counter_read(&summed[i]), (is_extreme(&each[i]) ? 1 : 2) * (i + 1),
                     "counter %zu", i);
    }
}

Test(stats, the_head_of_a_sum_is_the_earliest_head)
{
    struct stats sum = {0};
    counter_set(&stats.slots[3].head_deadline_wall_ms, 700);
    stats_sum(&sum, &stats);
    clear();
    stats_sum(&sum, &stats); /* no record waits in the second worker */
    cr_expect_eq(counter_read(&sum.slots[3].head_deadline_wall_ms), 700);
    counter_set(&stats.slots[3].head_deadline_wall_ms, 600);
    stats_sum(&sum, &stats);
    cr_expect_eq(counter_read(&sum.slots[3].head_deadline_wall_ms), 600);
}

Test(stats, the_oldest_redelivering_record_of_a_sum_is_the_earliest_one)
{
    struct stats sum = {0};
    counter_set(&stats.slots[3].redelivering_due_wall_ms, 700);
    stats_sum(&sum, &stats);
    clear();
    stats_sum(&sum, &stats);
    cr_expect_eq(counter_read(&sum.slots[3].redelivering_due_wall_ms), 700);
    counter_set(&stats.slots[3].redelivering_due_wall_ms, 600);
    stats_sum(&sum, &stats);
    cr_expect_eq(counter_read(&sum.slots[3].redelivering_due_wall_ms), 600);
}

Test(stats, a_span_counts_in_the_smallest_bound_that_holds_it)
{
    struct spans spans = {0};
    const int64_t ms[] = {-5, 0, 1, 2, 3, 5, 300000, 300001};
    const int at[] = {0, 0, 0, 1, 2, 2, SPAN_BUCKETS - 2, SPAN_BUCKETS - 1};
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
        uint64_t had = counter_read(&spans.n[at[i]]);
        spans_add(&spans, ms[i]);
        cr_expect_eq(counter_read(&spans.n[at[i]]), had + 1, "%lld ms", (long long)ms[i]);
    }
    cr_expect_eq(counter_read(&spans.sum_ms), 600012);
}
