/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of the survey: the figures about waiting records. */
#include "tests/sim/story.h"

static int64_t wall_ms(const struct world *w)
{
    return w->processes[0].now.wall_ms;
}

/* Returns the figures of a slot. 0: the schedule topic. */
static const struct slot_stats *stands(struct world *w, int slot)
{
    struct process *p = &w->processes[0];
    bridge_survey(p->bridge, p->now);
    return &p->stats.slots[slot];
}

void the_survey_counts_waiting_records_and_names_the_first(struct world *w)
{
    story_begin(w);
    story_open(w);
    expect(w, counter_read(&stands(w, 2)->pending) == 0);
    expect(w, counter_read(&stands(w, 2)->head_deadline_wall_ms) == 0);
    story_ask(w, TARGET_A, 8000);
    story_ask(w, TARGET_A, 8000);
    story_until(w, story_level(w, 1, 0)->n == 2);
    story_pass(w, 1000);
    const struct slot_stats *level = stands(w, 2);
    int64_t head_ms = (int64_t)counter_read(&level->head_deadline_wall_ms);
    expect(w, counter_read(&level->pending) == 2 && counter_read(&level->paused) == 1);
    expect(w, head_ms > wall_ms(w) && head_ms <= wall_ms(w) + 8000);
    story_finish(w);
    level = stands(w, 2);
    expect(w,
           counter_read(&level->pending) == 0 && counter_read(&level->head_deadline_wall_ms) == 0);
    expect(w, counter_read(&level->paused) == 0 && counter_read(&level->reading) > 0);
}

/* A blocked lane counts as overdue from the time when it was blocked, also on the schedule topic.
 */
void the_survey_names_when_a_queue_was_blocked(struct world *w)
{
    story_begin(w);
    story_open(w);
    story_ask(w, TARGET_A, 0);
    story_until(w, committed_covers(story_committed(w, -1, 0), 0));
    process_crash(&w->processes[0]);
    story_pass(w, w->setup.session_ms + 100);
    struct log *log = &w->broker.logs[TOPIC_SCHEDULE][0];
    log->n = 0;
    log->start = log->end = log->read_end = 0;
    w->beyond_end_ok = true;
    process_start(w, 0);
    story_until(w, w->notices[NOTICE_BEYOND_END] == 1);
    int64_t held_ms = wall_ms(w);
    story_pass(w, 5000);
    int64_t head_ms = (int64_t)counter_read(&stands(w, 0)->head_deadline_wall_ms);
    expect(w, counter_read(&stands(w, 0)->blocked) == 1);
    expect(w, head_ms >= held_ms - 200 && head_ms <= held_ms + 200);
    oracle_truncate(w, TOPIC_SCHEDULE, 0, 0);
    story_finish(w);
}

/* A first record that was read but does not leave is the one that an operator must know of. */
void the_survey_names_the_overdue_record_in_work(struct world *w)
{
    story_begin(w);
    story_open(w);
    w->knobs.hold_reports = true;
    int64_t asked_ms = wall_ms(w);
    story_ask(w, TARGET_A, 0);
    story_pass(w, 500);
    expect(w, counter_read(&stands(w, 0)->head_deadline_wall_ms) ==
                  0); /* in flight, but not for long */
    story_pass(w, 2000);
    int64_t head_ms = (int64_t)counter_read(&stands(w, 0)->head_deadline_wall_ms);
    expect(w, head_ms >= asked_ms && head_ms <= asked_ms + 200);
    w->knobs.hold_reports = false;
    story_finish(w);
    expect(w, counter_read(&stands(w, 0)->head_deadline_wall_ms) == 0);
}

static uint64_t redelivering(struct world *w)
{
    uint64_t sum = 0;
    for (int slot = 0; slot < w->processes[0].slots; slot++)
        sum += counter_read(&stands(w, slot)->redelivering);
    return sum;
}

static int64_t oldest_due_ms(struct world *w)
{
    int64_t oldest_ms = 0;
    for (int slot = 0; slot < w->processes[0].slots; slot++) {
        int64_t due_ms = (int64_t)counter_read(&stands(w, slot)->redelivering_due_wall_ms);
        if (due_ms != 0 && (oldest_ms == 0 || due_ms < oldest_ms))
            oldest_ms = due_ms;
    }
    return oldest_ms;
}

static uint64_t deliveries_delayed(const struct world *w)
{
    uint64_t n = 0;
    for (int i = 0; i < SPAN_BUCKETS; i++)
        n += story_sum(w,
                       offsetof(struct stats, target_delay.n) + (size_t)i * sizeof(struct counter));
    return n;
}

/* The bridge's own lateness stays small, however long the target refuses. */
void delay_by_a_target_is_counted_separately(struct world *w)
{
    story_begin(w);
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    struct request *delayed = story_ask(w, TARGET_A, 0), *prompt = story_ask(w, TARGET_B, 0);
    int64_t due_ms = wall_ms(w);
    story_pass(w, 12000);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_until(w, delayed->delivered == 1);
    uint64_t late_ms = (uint64_t)(wall_ms(w) - due_ms);
    story_pass(w, 500); /* until the report has arrived */
    expect(w, prompt->delivered == 1 && late_ms > 12000);
    expect(w, COUNT(w, lateness_max_ms) < 500);
    expect(w, deliveries_delayed(w) == 1);
    expect(w, COUNT(w, target_delay.sum_ms) > 10000 && COUNT(w, target_delay.sum_ms) <= late_ms);
    story_finish(w);
}

void a_record_that_waits_for_its_target_is_redelivering(struct world *w)
{
    story_begin(w);
    story_open(w);
    expect(w, redelivering(w) == 0 && oldest_due_ms(w) == 0);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    int64_t asked_ms = wall_ms(w);
    struct request *first = story_ask(w, TARGET_A, 0);
    story_pass(w, 2000);
    struct request *second = story_ask(w, TARGET_A, 0), *good = story_ask(w, TARGET_B, 8000);
    int looks = 0,
        seen = 0; /* between two stops the record is read again, and the survey does not count it */
    for (; looks < 36; looks++) {
        story_pass(w, 500);
        expect(w, redelivering(w) == 2);
        seen += oldest_due_ms(w) >= asked_ms && oldest_due_ms(w) <= asked_ms + 500;
    }
    expect(w, seen > looks * 2 / 3);
    expect(w, good->delivered == 1);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_until(w, first->delivered == 1 && second->delivered == 1);
    story_pass(w, 500);
    expect(w, redelivering(w) == 0 && oldest_due_ms(w) == 0);
    story_finish(w);
}
