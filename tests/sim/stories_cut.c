/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of a schedule topic that loses its tail, and uses the offsets again. No cancel that was
   in force is forgotten. No new request is void or passed over. */
#include "tests/sim/story_cancel.h"

static int64_t schedule_end(const struct world *w)
{
    return w->broker.logs[TOPIC_SCHEDULE][0].end;
}

static void ask_others(struct world *w, int n)
{
    for (int i = 0; i < n; i++)
        story_ask(w, TARGET_B, 0);
}

static void expect_void(struct world *w, struct request **asked, int n)
{
    for (int i = 0; i < n; i++)
        expect(w, asked[i]->voided > 0 && asked[i]->delivered == 0);
}

/* Of 20 cancels in force, the last ones are cut off. */
static void lose_cancels(struct world *w)
{
    struct request *asked[20];
    story_open(w);
    for (int i = 0; i < 20; i++)
        asked[i] = ask_named(w, name_of(w, i), NULL, 20000);
    story_pass(w, 500);
    for (int i = 0; i < 20; i++)
        cancel_of(w, name_of(w, i), NULL);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, schedule_end(w) - 3);
    story_restart(w);
    story_until(w, w->notices[NOTICE_LOG_CUT] == 1);
    story_pass(w, 500);
    story_crash(w);
    story_restart(w);
    story_pass(w, 30000);
    expect(w, w->notices[NOTICE_LOG_CUT] == 1 && w->notices[NOTICE_LOG_REPLACED] == 0);
    expect_void(w, asked, 20);
    story_finish(w);
}

void cancels_of_a_cut_log_stay_in_force(struct world *w)
{
    story_begin_cancels(w);
    lose_cancels(w);
}

void cancels_of_a_cut_log_stay_in_force_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    lose_cancels(w);
}

/* The request was cut off, too, and waits in a level. */
void a_cancel_and_its_request_may_both_be_cut(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    cancel_of(w, "first", NULL);
    ask_others(w, 30);
    int64_t end = schedule_end(w);
    struct request *r = ask_named(w, "k", NULL, 20000);
    cancel_of(w, "k", NULL);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, end);
    ask_others(w, 10);
    story_restart(w);
    story_pass(w, 30000);
    expect_void(w, &r, 1);
    story_finish(w);
}

/* The newest cancel is lost, and new requests take the offsets below and above its own. None of
   them is void, and none is passed over, though the group has committed a higher offset. */
static void reuse_offsets(struct world *w, int more)
{
    struct request *new[20];
    story_open(w);
    cancel_of(w, "first", NULL);
    ask_others(w, 30);
    int64_t end = schedule_end(w);
    ask_others(w, 10);
    struct request *old = ask_named(w, "k", NULL, 20000);
    cancel_of(w, "k", NULL);
    story_pass(w, 2000);
    expect(w, story_committed(w, -1, 0)->base == schedule_end(w));
    story_crash(w);
    oracle_cut(w, 0, end);
    for (int i = 0; i < 20; i++)
        new[i] = ask_named(w, "k", NULL, 2000);
    ask_others(w, more);
    story_restart(w);
    story_pass(w, 30000);
    expect(w, w->notices[NOTICE_LOG_CUT] == 1 && w->notices[NOTICE_BEYOND_END] == 0);
    expect_void(w, &old, 1);
    story_expect_delivered(w, new, 20);
    story_finish(w);
}

void requests_at_offsets_of_lost_ones_are_delivered(struct world *w)
{
    story_begin_cancels(w);
    reuse_offsets(w, 0);
}

void requests_at_offsets_of_lost_ones_are_delivered_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    reuse_offsets(w, 0);
}

void a_log_that_grew_past_its_lost_cancels_was_cut(struct world *w)
{
    story_begin_cancels(w);
    reuse_offsets(w, 80);
}

void of_two_cancels_of_a_name_the_newer_one_may_be_cut(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 20000);
    cancel_of(w, "k", NULL);
    ask_others(w, 30);
    int64_t end = schedule_end(w);
    struct request *later = ask_named(w, "k", NULL, 20000);
    cancel_of(w, "k", NULL);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, end);
    struct request *new = ask_named(w, "k", NULL, 1000);
    story_restart(w);
    story_pass(w, 30000);
    expect_void(w, &r, 1);
    expect_void(w, &later, 1);
    expect(w, new->delivered == 1);
    story_finish(w);
}

/* There is no cancel, so the committed records alone are witnesses. The first request holds the
   base of the window back, so the lost ones are done bits. */
static void cut_without_cancels(struct world *w, int lost, int new_n)
{
    struct request *new[100];
    story_open(w);
    ask_others(w, 50);
    story_pass(w, 1000);
    struct request *held = ask_named(w, "held", NULL, 900);
    int64_t base = schedule_end(w) - 1;
    ask_others(w, 50);
    story_until(w, story_committed(w, -1, 0)->base == base &&
                       story_committed(w, -1, 0)->bits_n >= 49 / 8);
    story_crash(w);
    oracle_cut(w, 0, schedule_end(w) - lost);
    for (int i = 0; i < new_n; i++)
        new[i] = ask_named(w, "k", NULL, 2000);
    story_restart(w);
    story_until(w, w->notices[NOTICE_LOG_CUT] == 1);
    story_pass(w, 500);
    story_crash(w);
    story_restart(w);
    story_pass(w, 10000);
    expect(w, w->notices[NOTICE_LOG_CUT] == 1 && w->notices[NOTICE_BEYOND_END] == 0);
    expect(w, w->notices[NOTICE_LOG_REPLACED] == 0 && (lost > 50 || held->delivered > 0));
    story_expect_delivered(w, new, new_n);
    story_finish(w);
}

void a_log_without_cancels_that_was_cut_is_recognized(struct world *w)
{
    story_begin_cancels(w);
    cut_without_cancels(w, 20, 90);
}

void a_log_without_cancels_that_was_cut_is_recognized_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    cut_without_cancels(w, 20, 10);
}

void a_cut_may_be_below_the_base(struct world *w)
{
    story_begin_cancels(w);
    cut_without_cancels(w, 60, 70);
}

/* The owner has committed the place of the cut, and dies before the record of the cut is stored, or
   before its next commit. Without an era, the new cancel would void no request that was lost. */
static void die_at_a_cut(struct world *w, bool stored)
{
    story_begin_cancels_exactly_once(w);
    story_open(w);
    ask_others(w, 50);
    story_pass(w, 1000);
    int64_t end = schedule_end(w);
    ask_others(w, 30);
    struct request *old = ask_named(w, "k", NULL, 30000);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, end);
    ask_others(w, 10);
    story_restart(w);
    story_until(w, story_committed(w, -1, 0)->base == end);
    if (stored)
        story_until(w, log_stable_end(&w->broker.logs[TOPIC_CANCELS][0]) > 0);
    w->knobs.hold_commits = true;
    story_pass(w, 500);
    story_crash(w);
    w->knobs.hold_commits = false;
    struct request *new = ask_named(w, "k", NULL, 1000);
    story_restart(w);
    cancel_of(w, "k", NULL);
    struct request *newest = ask_named(w, "k", NULL, 1000);
    story_pass(w, 40000);
    expect(w, w->notices[NOTICE_LOG_CUT] == (stored ? 1 : 2));
    expect_void(w, &old, 1);
    expect_void(w, &new, 1);
    expect(w, newest->delivered == 1);
    story_finish(w);
}

void a_cut_is_found_again_until_its_record_is_stored(struct world *w)
{
    die_at_a_cut(w, false);
}

void a_cut_whose_record_is_stored_is_found_once(struct world *w)
{
    die_at_a_cut(w, true);
}

/* The log loses 30 records and gets n. The next owner reads them, and the log then loses its last
   ones. */
static void lose_twice(struct world *w, int n, int last)
{
    struct request *new[10];
    story_begin_cancels(w);
    story_open(w);
    ask_others(w, 80);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, schedule_end(w) - 30);
    ask_others(w, n);
    story_restart(w);
    story_until(w, w->notices[NOTICE_LOG_CUT] == 1);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, schedule_end(w) - last);
    for (int i = 0; i < 10; i++)
        new[i] = ask_named(w, "k", NULL, 1000);
    story_restart(w);
    story_pass(w, 20000);
    expect(w, w->notices[NOTICE_LOG_CUT] == 2);
    story_expect_delivered(w, new, 10);
    story_finish(w);
}

/* They end below the newest lost one. */
void new_records_of_a_cut_log_are_witnesses(struct world *w)
{
    lose_twice(w, 20, 10);
}

/* All witnesses but the one just below the first cut are far below the second one. */
void a_second_cut_may_be_just_below_the_first(struct world *w)
{
    lose_twice(w, 0, 1);
}

/* The topic of cancels has no record of the first cut any more. The witnesses alone name its era.
 */
void an_era_is_known_by_its_witnesses(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    ask_others(w, 80);
    story_pass(w, 1500);
    for (uint64_t cuts = 1; cuts <= 2; cuts++) {
        story_crash(w);
        oracle_cut(w, 0, schedule_end(w) - 20);
        story_restart(w);
        story_until(w, w->notices[NOTICE_LOG_CUT] == cuts);
        ask_others(w, cuts == 1 ? 40 : 10);
        story_pass(w, 1500);
        oracle_truncate(w, TOPIC_CANCELS, 0, story_cancels(w)->end);
    }
    story_crash(w);
    story_restart(w);
    story_pass(w, 20000);
    expect(w, w->notices[NOTICE_LOG_CUT] == 2);
    story_finish(w);
}

/* The oracle checks their length. */
void witnesses_fit_the_metadata_of_a_commit(struct world *w)
{
    story_begin_cancels(w);
    w->setup.commit_text_max = 64;
    story_open(w);
    ask_others(w, 20);
    story_pass(w, 2000);
    expect(w, story_committed(w, -1, 0)->base == 20);
    expect(w, story_committed(w, -1, 0)->witnesses.len == 0);
    story_finish(w);
}

/* Nothing is written after the cut, and the group is formed again three times. */
void a_lane_that_comes_back_finds_no_cut_twice(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    ask_others(w, 80);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, schedule_end(w) - 20);
    story_restart(w);
    story_until(w, w->notices[NOTICE_LOG_CUT] == 1);
    for (int i = 0; i < 3; i++) {
        story_pass(w, 10000);
        story_regroup(w);
    }
    story_pass(w, 10000);
    expect(w, w->notices[NOTICE_LOG_CUT] == 1);
    story_finish(w);
}

/* The first owner reads records, and its transaction does not count. They are lost, and the next
   owner, whose last witness is older, finds no cut and delivers the new ones. */
void an_owner_that_was_fenced_finds_no_cut_that_the_next_one_has_passed(struct world *w)
{
    struct request *new[20];
    story_begin_cancels_exactly_once(w);
    w->setup.processes = 2;
    story_open(w);
    ask_others(w, 50);
    story_pass(w, 2000);
    struct process *first = story_owner(w, 0);
    story_hold_landings(w);
    int64_t end = schedule_end(w);
    ask_others(w, 40);
    story_pass(w, 500);
    process_stall(first, 20000); /* until its transaction has timed out */
    story_let_land(w);
    oracle_cut(w, 0, end + 10);
    for (int i = 0; i < 20; i++)
        new[i] = ask_named(w, "k", NULL, 100);
    story_until(w, story_committed(w, -1, 0)->base == end + 30);
    process_crash(&w->processes[1]); /* the first one gets the lane straight back */
    story_until(w, !first->stalled);
    story_pass(w, 30000);
    process_start(w, 1);
    story_pass(w, 10000);
    expect(w, w->notices[NOTICE_LOG_CUT] == 0);
    story_expect_delivered(w, new, 20);
    story_finish(w);
}

/* Its offset is below that of the request, which was read before the cut. */
void a_cancel_behind_a_cut_voids_older_requests(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    cancel_of(w, "first", NULL);
    ask_others(w, 30);
    int64_t end = schedule_end(w);
    ask_others(w, 10);
    struct request *r = ask_named(w, "k", NULL, 20000);
    cancel_of(w, "last", NULL);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, end);
    cancel_of(w, "k", NULL);
    struct request *new = ask_named(w, "k", NULL, 20000);
    story_restart(w);
    story_pass(w, 30000);
    expect_void(w, &r, 1);
    expect(w, new->delivered == 1);
    story_finish(w);
}

/* The process loses its lane with the brokers, and keeps the table of cancels. */
void a_lane_that_comes_back_finds_the_cut(struct world *w)
{
    struct request *new[10];
    story_begin_cancels(w);
    story_open(w);
    cancel_of(w, "first", NULL);
    ask_others(w, 30);
    int64_t end = schedule_end(w);
    struct request *old = ask_named(w, "k", NULL, 20000), *due = ask_named(w, "l", NULL, 9000);
    cancel_of(w, "k", NULL);
    story_pass(w, 1500);
    w->knobs.hold_fetches = true;
    oracle_cut(w, 0, end);
    cancel_of(w, "l", NULL); /* at an offset that was read before */
    for (int i = 0; i < 10; i++)
        new[i] = ask_named(w, "k", NULL, 20000);
    story_pass(w, 9000);
    struct request *last = ask_named(w, "k", NULL, 2000);
    story_regroup(w);
    w->knobs.hold_fetches = false;
    story_pass(w, 30000);
    expect_void(w, &old, 1);
    expect_void(w, &due, 1);
    story_expect_delivered(w, new, 10);
    expect(w, last->delivered == 1 && w->notices[NOTICE_LOG_CUT] == 1);
    story_finish(w);
}

/* The owner dies before it has committed the place of the cut. The next one must find the cut
   again, so no record of it may be stored. */
void a_cut_is_stored_after_a_commit_of_its_place(struct world *w)
{
    struct request *new[10];
    story_begin_cancels(w);
    story_open(w);
    cancel_of(w, "first", NULL);
    ask_others(w, 30);
    int64_t end = schedule_end(w);
    struct request *old = ask_named(w, "k", NULL, 30000);
    cancel_of(w, "k", NULL);
    ask_others(w, 20);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, end);
    for (int i = 0; i < 10; i++)
        new[i] = ask_named(w, "k", NULL, 1000);
    story_restart(w);
    w->knobs.hold_commits = true;
    story_until(w, w->notices[NOTICE_LOG_CUT] == 1);
    story_pass(w, 500);
    story_crash(w);
    w->knobs.hold_commits = false;
    story_restart(w);
    story_pass(w, 30000);
    expect_void(w, &old, 1);
    story_expect_delivered(w, new, 10);
    expect(w, w->notices[NOTICE_LOG_CUT] == 2);
    story_finish(w);
}

/* The second cut is below the first one, or above it. */
static void cut_twice(struct world *w, int back)
{
    story_open(w);
    struct request *first = ask_named(w, "k0", NULL, 25000);
    cancel_of(w, "k0", NULL);
    ask_others(w, 40);
    struct request *second = ask_named(w, "k1", NULL, 25000);
    cancel_of(w, "k1", NULL);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, schedule_end(w) - 10);
    ask_others(w, 20);
    struct request *third = ask_named(w, "k2", NULL, 20000);
    cancel_of(w, "k2", NULL);
    story_restart(w);
    story_pass(w, 1500);
    story_crash(w);
    oracle_cut(w, 0, schedule_end(w) - back);
    struct request *new[] = {ask_named(w, "k0", NULL, 2000), ask_named(w, "k1", NULL, 2000),
                             ask_named(w, "k2", NULL, 2000)};
    story_restart(w);
    story_pass(w, 30000);
    expect(w, w->notices[NOTICE_LOG_CUT] == 2);
    expect_void(w, &first, 1);
    expect_void(w, &second, 1);
    expect_void(w, &third, 1);
    story_expect_delivered(w, new, 3);
    story_finish(w);
}

void a_second_cut_may_be_below_the_first(struct world *w)
{
    story_begin_cancels(w);
    cut_twice(w, 35);
}

void a_second_cut_may_be_above_the_first(struct world *w)
{
    story_begin_cancels(w);
    cut_twice(w, 2);
}

/* The copy has other offsets: the origins of its waiting records are above its end. */
static void copy_cluster(struct world *w, bool entries)
{
    story_open(w);
    ask_others(w, 40);
    struct request *r = ask_named(w, "k", NULL, 20000), *kept = ask_named(w, "kept", NULL, 20000);
    struct request *before = ask_named(w, "before", NULL, 20000);
    if (entries)
        cancel_of(w, "before", NULL);
    story_pass(w, 1500);
    story_crash(w);
    recreate_schedule(w);
    story_restart(w);
    story_pass(w, 500);
    cancel_of(w, "k", NULL);
    struct request *new = ask_named(w, "k", NULL, 1000);
    story_pass(w, 30000);
    expect_void(w, &r, 1);
    expect(w, new->delivered == 1 && kept->delivered == 1);
    expect(w, entries ? before->voided > 0 : before->delivered == 1);
    story_finish(w);
}

void a_cancel_on_a_copy_of_the_cluster_voids_what_waits(struct world *w)
{
    story_begin_cancels(w);
    copy_cluster(w, false);
}

void cancels_are_in_force_on_a_copy_of_the_cluster(struct world *w)
{
    story_begin_cancels(w);
    copy_cluster(w, true);
}
