/* SPDX-License-Identifier: Apache-2.0 */
/* commit: answers that come twice, and transactions without progress. cluster and progress have
   their rules here too. */
#include "bridge/core/bridge.h"
#include "bridge/core/cluster.h"
#include "bridge/core/commit.h"
#include "bridge/core/outcome.h"
#include "bridge/core/progress.h"
#include "bridge/core/queue.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

TestSuite(commit, .init = fixture_start, .fini = fixture_stop);

static struct queue *changed(int slot)
{
    struct queue *q = fixture_queue(slot);
    window_admit(&q->window, q->window.next);
    window_done(&q->window, q->window.next - 1);
    queue_changed(q);
    return q;
}

Test(commit, progress_is_kept_when_its_commit_succeeds)
{
    struct queue *q = changed(LEVEL);
    bridge_commit(fx.b, fx.b->now);
    cr_assert_eq(fx.commits, 1);
    cr_expect_eq(fx.progress_n, 1);
    bridge_committed(fx.b, fx.seq, true);
    cr_expect_eq(q->base_kept, START + 1);
    bridge_commit(fx.b, fx.b->now);
    cr_expect_eq(fx.commits, 1, "there is no further progress");
}

Test(commit, second_answer_is_ignored)
{
    (void)changed(LEVEL);
    bridge_commit(fx.b, fx.b->now);
    bridge_committed(fx.b, fx.seq, true);
    bridge_committed(fx.b, fx.seq, false);
    cr_expect_eq(counter_read(&fx.stats.commits), 1);
    cr_expect_eq(counter_read(&fx.stats.commits_failed), 0);
}

Test(commit, failed_commit_is_sent_again)
{
    (void)changed(LEVEL);
    bridge_commit(fx.b, fx.b->now);
    bridge_committed(fx.b, fx.seq, false);
    bridge_commit(fx.b, fx.b->now);
    cr_expect_eq(fx.commits, 2);
    cr_expect_eq(fx.progress_n, 1);
}

Test(commit, late_answer_of_an_older_commit_sends_all_progress_again)
{
    (void)changed(LEVEL);
    bridge_commit(fx.b, fx.b->now);
    uint64_t older = fx.seq;
    fixture_pass(COMMIT_LOST_MS);
    (void)changed(LEVEL);
    commit_serve(fx.b);
    cr_assert_eq(fx.commits, 2);
    bridge_committed(fx.b, fx.seq, true);
    bridge_committed(fx.b, older, true);
    bridge_commit(fx.b, fx.b->now);
    cr_expect_eq(fx.progress_n, 3, "each queue of the lane");
}

/* Commits progress, and lets the coordinator answer after answer_ms. */
static void commit_answered_after(int64_t answer_ms)
{
    (void)changed(LEVEL);
    bridge_commit(fx.b, fx.b->now);
    fixture_pass(answer_ms);
    bridge_committed(fx.b, fx.seq, true);
    (void)changed(LEVEL);
}

/* Returns the ms between the last commit and the next one. */
static int64_t next_commit_ms(int64_t answer_ms)
{
    int before = fx.commits;
    for (int64_t since_ms = answer_ms; since_ms <= 2 * COMMIT_EVERY_MS; since_ms++) {
        commit_serve(fx.b);
        if (fx.commits > before)
            return since_ms;
        fixture_pass(1);
    }
    return INT64_MAX;
}

Test(commit, answers_take_a_tenth_of_the_time_between_commits)
{
    static const int64_t expected_ms[][2] = {{0, COMMIT_SOON_MS},
                                             {2, COMMIT_SOON_MS},
                                             {8, 80},
                                             {11, COMMIT_EVERY_MS},
                                             {50, COMMIT_EVERY_MS}};
    for (size_t i = 0; i < sizeof expected_ms / sizeof *expected_ms; i++) {
        commit_answered_after(expected_ms[i][0]);
        cr_expect_eq(next_commit_ms(expected_ms[i][0]), expected_ms[i][1], "answer after %d ms",
                     (int)expected_ms[i][0]);
        bridge_committed(fx.b, fx.seq, true);
    }
}

static void start_exactly_once(void)
{
    fixture_stop();
    fixture_start_exactly_once();
    fx.lookup = LOOKUP_WHOLE;
}

Test(commit, transaction_of_a_log_that_is_gone_commits_no_progress)
{
    start_exactly_once();
    struct parcel *p = fixture_send(LEVEL, START, BEGIN_WALL_MS);
    queue_replaced(fx.b, fixture_queue(LEVEL), START, "a sign");
    fixture_report(p, REPORT_OK);
    fixture_pass(TXN_AGE_MAX_MS);
    commit_serve(fx.b);
    cr_expect_eq(fx.announces, 1);
    cr_expect_eq(fx.progress_n, 0);
    outcome_serve(fx.b);
    cr_expect_eq(fx.finishes, 1);
}

Test(commit, lane_that_is_lost_during_a_commit_aborts_it)
{
    start_exactly_once();
    (void)changed(LEVEL);
    fixture_pass(COMMIT_EVERY_MS);
    commit_serve(fx.b);
    outcome_serve(fx.b);
    cr_assert_eq(fx.finishes, 1);
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
    cr_expect_not(fx.b->txn.reread);
    fixture_committed();
    cr_expect_eq(counter_read(&fx.stats.commits), 0, "its answer is void");
}

Test(commit, broken_transaction_is_not_aborted_twice)
{
    start_exactly_once();
    (void)fixture_send(LEVEL, START, BEGIN_WALL_MS);
    fixture_fail(BLAME_CLUSTER, "fenced");
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(counter_read(&fx.stats.aborts), 1);
}

Test(commit, throttling_by_two_brokers_counts_once)
{
    bridge_throttled(fx.b, 500);
    bridge_throttled(fx.b, 300);
    cr_expect_eq(counter_read(&fx.stats.throttled_ms), 500);
    bridge_throttled(fx.b, 700);
    cr_expect_eq(counter_read(&fx.stats.throttled_ms), 700);
    cr_expect_eq(fx.b->cluster.muted_mono_ms, fx.b->now.mono_ms + 700);
}

static void trim(void)
{
    fixture_pass(TRIM_EVERY_MS);
    progress_trim(fx.b);
}

static struct queue *committed(int slot)
{
    struct queue *q = changed(slot);
    bridge_commit(fx.b, fx.b->now);
    bridge_committed(fx.b, fx.seq, true);
    return q;
}

Test(commit, committed_records_of_a_level_are_trimmed)
{
    struct queue *q = committed(LEVEL);
    trim();
    cr_expect_eq(fx.trims, 1);
    cr_expect_eq(fx.trim_base, START + 1);
    bridge_trimmed(fx.b, q->id, START + 1);
    trim();
    cr_expect_eq(fx.trims, 1);
}

Test(commit, failed_trim_is_requested_again)
{
    (void)committed(LEVEL);
    trim();
    trim();
    cr_expect_eq(fx.trims, 2);
}

Test(commit, schedule_topic_is_not_trimmed)
{
    (void)committed(SLOT_SCHEDULE);
    trim();
    cr_expect_eq(fx.trims, 0);
}

Test(commit, log_that_may_be_another_one_is_not_trimmed)
{
    struct queue *q = committed(LEVEL);
    q->silences = 1;
    trim();
    cr_expect_eq(fx.trims, 0);
}

Test(commit, trim_that_comes_late_changes_nothing)
{
    struct queue *q = committed(LEVEL);
    bridge_trimmed(fx.b, q->id, START + 1);
    bridge_trimmed(fx.b, q->id, START);
    cr_expect_eq(q->base_trimmed, START + 1);
}
