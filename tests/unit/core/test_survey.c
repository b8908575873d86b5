/* SPDX-License-Identifier: Apache-2.0 */
/* survey: the gauges of waiting records. */
#include "bridge/core/bridge.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/ready.h"
#include "bridge/core/target_table.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>
#include <string.h>

enum { OVERDUE_MS = 1000, HOUR_MS = 3600 * 1000 };

TestSuite(survey, .init = fixture_start, .fini = fixture_stop);

static const struct slot_stats *surveyed(int slot)
{
    bridge_survey(fx.b, fx.b->now);
    return &fx.stats.slots[slot];
}

static int64_t head_ms(int slot)
{
    return (int64_t)counter_read(&surveyed(slot)->head_deadline_wall_ms);
}

static uint64_t redelivering(int slot)
{
    return counter_read(&surveyed(slot)->redelivering);
}

Test(survey, queues_are_counted_by_their_state)
{
    cr_expect_eq(counter_read(&surveyed(LEVEL)->reading), 1);
    queue_pause(fx.b, fixture_queue(LEVEL));
    cr_expect_eq(counter_read(&surveyed(LEVEL)->paused), 1);
    queue_block(fx.b, fixture_queue(LEVEL));
    cr_expect_eq(counter_read(&surveyed(LEVEL)->blocked), 1);
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(counter_read(&surveyed(LEVEL)->blocked), 0, "a lane of another owner");
}

Test(survey, records_up_to_the_end_of_the_log_are_pending)
{
    fx.end_offset = START + 7;
    window_done(&fixture_queue(LEVEL)->window, START + 2);
    cr_expect_eq(counter_read(&surveyed(LEVEL)->pending), 6);
}

static uint64_t unread(void)
{
    bridge_survey(fx.b, fx.b->now);
    return counter_read(&fx.stats.schedule_unread);
}

Test(survey, requests_in_memory_are_pending_but_not_unread)
{
    struct window *window = &fixture_queue(SLOT_SCHEDULE)->window;
    fx.end_offset = START + 7;
    cr_expect_eq(unread(), 7);
    window_done(window, START + 5);
    window_admit(window, START + 2);
    cr_expect_eq(unread(), 3);
    cr_expect_eq(counter_read(&surveyed(SLOT_SCHEDULE)->pending), 4);
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(unread(), 0, "a lane of another owner");
}

static uint64_t behind_ms(void)
{
    bridge_survey(fx.b, fx.b->now);
    return counter_read(&fx.stats.schedule_lag_ms);
}

Test(survey, requests_that_are_not_read_make_the_schedule_topic_late)
{
    fx.end_offset = START;
    cr_expect_eq(behind_ms(), 0);
    queue_block(fx.b, fixture_queue(SLOT_SCHEDULE));
    fx.end_offset = START + 5;
    cr_expect_eq(behind_ms(), 0);
    fixture_pass(1500);
    fixture_turn();
    cr_expect_eq(behind_ms(), 1500);
    window_admit(&fixture_queue(SLOT_SCHEDULE)->window, START + 4);
    cr_expect_eq(behind_ms(), 0, "read, but not done");
    fx.end_offset = START + 6;
    behind_ms();
    fixture_pass(700);
    fixture_turn();
    cr_expect_eq(behind_ms(), 700);
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(behind_ms(), 0, "a lane of another owner");
}

Test(survey, schedule_topic_that_ends_with_transactions_is_not_late)
{
    fx.end_offset = START + 5;
    behind_ms();
    fixture_pass(1500);
    fixture_turn();
    cr_expect_eq(behind_ms(), 0);
    queue_block(fx.b, fixture_queue(SLOT_SCHEDULE));
    behind_ms();
    fixture_pass(1500);
    fixture_turn();
    cr_expect_eq(behind_ms(), 1500, "a blocked partition has requests");
}

Test(survey, head_of_a_level_waits_until_its_release)
{
    struct queue *q = fixture_queue(LEVEL);
    q->head = fixture_record(START, BEGIN_WALL_MS);
    q->head_release_wall_ms = BEGIN_WALL_MS + 5;
    cr_expect_eq(head_ms(LEVEL), BEGIN_WALL_MS + 5);
    q->head_fault = ERR_DAMAGED;
    cr_expect_eq(head_ms(LEVEL), 0, "a damaged one has no release");
}

Test(survey, head_of_a_paused_queue_stays_known_until_it_is_read_again)
{
    struct queue *q = fixture_queue(LEVEL);
    q->head_release_wall_ms = BEGIN_WALL_MS + 5;
    queue_pause(fx.b, q);
    cr_expect_eq(head_ms(LEVEL), BEGIN_WALL_MS + 5);
    queue_read_on(fx.b, q);
    cr_expect_eq(head_ms(LEVEL), 0);
    q->silent_since_mono_ms = fx.b->now.mono_ms;
    cr_expect_eq(head_ms(LEVEL), BEGIN_WALL_MS + 5);
    window_admit(&q->window, START);
    cr_expect_eq(head_ms(LEVEL), 0, "a record came");
}

Test(survey, paused_schedule_topic_has_no_head)
{
    queue_pause(fx.b, fixture_queue(SLOT_SCHEDULE));
    cr_expect_eq(head_ms(SLOT_SCHEDULE), 0);
}

Test(survey, blocked_queue_is_overdue_since_it_was_blocked)
{
    queue_block(fx.b, fixture_queue(SLOT_SCHEDULE));
    cr_expect_eq(head_ms(SLOT_SCHEDULE), BEGIN_WALL_MS);
    fixture_queue(SLOT_SCHEDULE)->head_release_wall_ms = -5;
    cr_expect_eq(head_ms(SLOT_SCHEDULE), 1, "0 is none");
}

Test(survey, overdue_head_of_a_level_is_redelivering)
{
    struct queue *q = fixture_queue(LEVEL);
    q->head_overdue_wall_ms = BEGIN_WALL_MS - 7;
    queue_pause(fx.b, q);
    cr_expect_eq(counter_read(&surveyed(LEVEL)->redelivering_due_wall_ms),
                 (uint64_t)BEGIN_WALL_MS - 7);
    queue_block(fx.b, q);
    cr_expect_eq(counter_read(&surveyed(LEVEL)->redelivering_due_wall_ms), 0,
                 "its target is not the cause");
}

Test(survey, record_in_work_is_overdue_after_a_second)
{
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS);
    parcel_ready(fx.b, p);
    fixture_pass(OVERDUE_MS - 1);
    cr_expect_eq(head_ms(SLOT_SCHEDULE), 0);
    fixture_pass(1);
    cr_expect_eq(head_ms(SLOT_SCHEDULE), BEGIN_WALL_MS);
}

Test(survey, first_of_the_overdue_records_is_named)
{
    parcel_ready(fx.b, fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS + 500));
    parcel_ready(fx.b, fixture_parcel(SLOT_SCHEDULE, START + 1, BEGIN_WALL_MS + 200));
    parcel_ready(fx.b, fixture_parcel(SLOT_SCHEDULE, START + 2, BEGIN_WALL_MS + 300));
    fixture_pass(2 * OVERDUE_MS);
    cr_expect_eq(head_ms(SLOT_SCHEDULE), BEGIN_WALL_MS + 200);
}

Test(survey, request_written_overdue_is_overdue_since_its_timestamp)
{
    parcel_ready(fx.b, fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS - HOUR_MS));
    fixture_pass(OVERDUE_MS - 1);
    cr_expect_eq(head_ms(SLOT_SCHEDULE), 0);
    fixture_pass(1);
    cr_expect_eq(head_ms(SLOT_SCHEDULE), BEGIN_WALL_MS, "its timestamp");
}

Test(survey, refused_record_is_not_overdue)
{
    fixture_offer(LEVEL, fixture_raw(START, 3));
    fx.is_full = true;
    fixture_turn();
    cr_assert_eq(counter_read(&fx.stats.buffered_records), 1);
    fixture_pass(HOUR_MS);
    cr_expect_eq(head_ms(LEVEL), 0);
}

Test(survey, record_that_its_target_delays_is_redelivered_until_it_is_dead_lettered)
{
    struct parcel *p = fixture_parcel(LEVEL, START, BEGIN_WALL_MS + 500);
    p->overdue_wall_ms = BEGIN_WALL_MS - 3;
    parcel_ready(fx.b, p);
    cr_expect_eq(redelivering(LEVEL), 1);
    cr_expect_eq(counter_read(&fx.stats.slots[LEVEL].redelivering_due_wall_ms),
                 (uint64_t)BEGIN_WALL_MS - 3);
    dead_letter_mark(fx.b, p, &(struct refusal){.code = CODE_EXPIRED, .reason = "too late"});
    cr_expect_eq(redelivering(LEVEL), 0);
}

Test(survey, record_of_a_lost_lane_is_not_counted)
{
    struct parcel *p = fixture_send(LEVEL, START, BEGIN_WALL_MS);
    p->overdue_wall_ms = BEGIN_WALL_MS;
    bridge_lane_lost(fx.b, 0);
    cr_expect_eq(redelivering(LEVEL), 0);
}

static const struct target_stats *target_surveyed(void)
{
    bridge_survey(fx.b, fx.b->now);
    return target_stats(fx.b, target_label(fx.b, bytes_text(fx.target)));
}

Test(survey, target_is_failing_until_a_delivery_succeeds)
{
    struct parcel *p = fixture_send(LEVEL, START, BEGIN_WALL_MS);
    cr_expect_eq(counter_read(&target_surveyed()->topics), 1);
    cr_expect_eq(counter_read(&target_surveyed()->failing), 0);
    fixture_report(p, REPORT_REFUSED);
    cr_expect_eq(counter_read(&target_surveyed()->failing), 1);
    fixture_target(fx.target)->state = TARGET_UP;
    fixture_report(fixture_send(LEVEL, START + 1, BEGIN_WALL_MS), REPORT_OK);
    cr_expect_eq(counter_read(&target_surveyed()->failing), 0);
    cr_expect_eq(counter_read(&target_surveyed()->topics), 1);
}

Test(survey, slow_target_is_counted)
{
    (void)fixture_send(LEVEL, START, BEGIN_WALL_MS);
    cr_expect_eq(counter_read(&target_surveyed()->slow), 0);
    fixture_target(fx.target)->is_slow = true;
    cr_expect_eq(counter_read(&target_surveyed()->slow), 1);
}

Test(survey, entry_of_targets_shows_its_pause)
{
    struct control pause = {
        .op = CONTROL_PAUSE, .at_wall_ms = BEGIN_WALL_MS, .until_wall_ms = BEGIN_WALL_MS + HOUR_MS};
    strcpy(pause.pattern, "*");
    cr_assert_eq(bridge_control_put(fx.b, &pause, fx.b->now), 0);
    cr_expect_eq(counter_read(&target_surveyed()->pause), CONTROL_ALL);
    fixture_pass(HOUR_MS);
    cr_expect_eq(counter_read(&target_surveyed()->pause), CONTROL_NONE);
}

/* The gauge keeps a value that no match would give, until something changes. */
Test(survey, pauses_and_limits_are_matched_only_after_a_change)
{
    enum { KEPT = 7 };
    struct target_stats *stats = &fx.stats.targets[fixture_target(fx.target)->label];
    struct control limit = {.op = CONTROL_LIMIT,
                            .rate = {2, 1000},
                            .at_wall_ms = BEGIN_WALL_MS,
                            .until_wall_ms = BEGIN_WALL_MS + HOUR_MS};
    struct bridge_live live = {.rules = fx.config.rules, .max_attempts = 3};
    memcpy(live.target_labels, fx.config.target_labels, sizeof live.target_labels);
    strcpy(limit.pattern, "*");
    (void)fixture_send(LEVEL, START, BEGIN_WALL_MS);
    cr_assert_eq(bridge_control_put(fx.b, &limit, fx.b->now), 0);
    cr_expect_eq(counter_read(&target_surveyed()->limit_per_minute), 120);
    counter_set(&stats->limit_per_minute, KEPT);
    fixture_pass(1000);
    cr_expect_eq(counter_read(&target_surveyed()->limit_per_minute), KEPT, "nothing has changed");
    limit.rate.records = 3;
    cr_assert_eq(bridge_control_put(fx.b, &limit, fx.b->now), 0);
    cr_expect_eq(counter_read(&target_surveyed()->limit_per_minute), 180, "another entry");
    counter_set(&stats->limit_per_minute, KEPT);
    bridge_reconfigure(fx.b, &live);
    cr_expect_eq(counter_read(&target_surveyed()->limit_per_minute), 180, "other targets");
    counter_set(&stats->limit_per_minute, KEPT);
    fixture_pass(HOUR_MS - 1001);
    cr_expect_eq(counter_read(&target_surveyed()->limit_per_minute), KEPT, "a ms before the end");
    fixture_pass(1);
    cr_expect_eq(counter_read(&target_surveyed()->limit_per_minute), 0, "the entry has ended");
    fx.b->now.wall_ms -= 1;
    cr_expect_eq(counter_read(&target_surveyed()->limit_per_minute), 180, "a step of the clock");
}

Test(survey, lateness_counts_for_the_entry_of_the_target)
{
    fixture_pass(40);
    (void)fixture_send(LEVEL, START, BEGIN_WALL_MS);
    cr_expect_eq(counter_read(&target_surveyed()->lateness.sum_ms), 40);
}
