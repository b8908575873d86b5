/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of records that are kept in memory in place of a level, for 30 s at most. */
#include "tests/sim/operators.h"
#include "tests/sim/story_cancel.h"

enum { HOLD_MS = 30000, SHORT_TEXT = 64 /* holds 192 offsets */ };

static void open_held(struct world *w)
{
    w->setup.hold_ms = HOLD_MS;
    story_open(w);
}

static uint64_t kept_now(const struct world *w)
{
    return counter_read(&w->processes[0].stats.kept_records);
}

void a_rest_within_hold_waits_in_memory(struct world *w)
{
    story_begin(w);
    w->setup.is_calm = true;
    open_held(w);
    struct request *near = story_ask(w, TARGET_A, 29000), *far = story_ask(w, TARGET_A, 31000);
    story_pass(w, 500);
    expect(w, COUNT(w, hops) == 1 && kept_now(w) == 1);
    story_until(w, near->delivered == 1 && far->delivered == 1);
    expect(w, COUNT(w, hops) == 1 && COUNT(w, lateness_max_ms) < 100);
    story_finish(w);
}

/* The fetch that brought it may have a megabyte. */
void the_last_rest_of_a_level_is_kept_without_its_fetch(struct world *w)
{
    story_begin(w);
    w->setup.is_calm = true;
    open_held(w);
    struct request *r = story_ask(w, TARGET_A, 50000);
    story_pass(w, 35000);
    expect(w, COUNT(w, hops) == 1 && kept_now(w) == 1 && w->processes[0].pinned == 0);
    story_pass(w, 15100);
    expect(w, r->delivered == 1 && COUNT(w, hops) == 1);
    story_finish(w);
}

/* One is kept in the schedule queue, and one in a level. */
static void keep_two(struct world *w, struct request *two[2])
{
    two[0] = story_ask(w, TARGET_A, 55000);
    story_pass(w, 30000);
    two[1] = story_ask(w, TARGET_A, 25000);
    story_pass(w, 3000);
    expect(w, kept_now(w) == 2 && COUNT(w, hops) == 1);
}

static void tell_of_a_kill(struct world *w)
{
    struct request *two[2];
    open_held(w);
    keep_two(w, two);
    story_crash(w);
    story_restart(w);
    story_pass(w, 500);
    expect(w, kept_now(w) == 2 && COUNT(w, hops) == 1 && COUNT(w, reread) == 0);
    story_until(w, two[0]->delivered == 1 && two[1]->delivered == 1);
    expect(w, COUNT(w, lateness_max_ms) < 100 && w->repeats == 0);
    story_finish(w);
}

void a_kill_loses_no_kept_record(struct world *w)
{
    story_begin(w);
    tell_of_a_kill(w);
}

void a_kill_loses_no_kept_record_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    tell_of_a_kill(w);
}

void a_rebalance_keeps_records_again(struct world *w)
{
    struct request *two[2];
    story_begin(w);
    open_held(w);
    keep_two(w, two);
    story_ask(w, TARGET_A, 0);
    story_pass(w, 500);
    story_regroup(w);
    story_pass(w, 500);
    expect(w, kept_now(w) == 2 && COUNT(w, hops) == 1 && COUNT(w, reread) == 2);
    story_until(w, two[0]->delivered == 1 && two[1]->delivered == 1);
    expect(w, COUNT(w, lateness_max_ms) < 100 && w->repeats == 0);
    story_finish(w);
}

void an_aborted_transaction_keeps_records_again(struct world *w)
{
    struct request *two[2];
    story_begin_exactly_once(w);
    open_held(w);
    keep_two(w, two);
    w->targets[TARGET_B].mood = TARGET_REFUSES;
    struct request *refused = story_ask(w, TARGET_B, 0);
    story_until(w, COUNT(w, aborts) > 0);
    w->targets[TARGET_B].mood = TARGET_FINE;
    story_until(w, two[0]->delivered == 1 && two[1]->delivered == 1);
    expect(w, COUNT(w, lateness_max_ms) < 1000);
    story_finish(w);
    expect(w, refused->delivered == 1);
}

void a_clock_that_steps_back_keeps_records_again(struct world *w)
{
    struct request *two[2];
    story_begin(w);
    open_held(w);
    keep_two(w, two);
    process_step_clock(&w->processes[0], -5000);
    story_pass(w, 4000);
    expect(w, kept_now(w) == 2);
    story_until(w, two[0]->delivered == 1 && two[1]->delivered == 1);
    story_finish(w);
}

void a_stop_does_not_wait_for_kept_records(struct world *w)
{
    struct request *two[2];
    story_begin(w);
    open_held(w);
    keep_two(w, two);
    member_stop(&w->processes[0]);
    story_pass(w, 1000);
    expect(w, !w->processes[0].up);
    story_restart(w);
    story_finish(w);
    expect(w, two[0]->delivered == 1 && two[1]->delivered == 1 && w->repeats == 0);
}

static void tell_of_a_cancel(struct world *w)
{
    w->setup.hold_ms = HOLD_MS;
    story_open(w);
    struct request *cancelled = ask_named(w, "a", "1", 20000),
                   *other = ask_named(w, "b", "2", 20000);
    struct request *replaced = ask_named(w, "c", "3", 20000);
    story_pass(w, 1000);
    expect(w, kept_now(w) == 3);
    cancel_of(w, "a", "1");
    struct request *instead = replace_of(w, "c", "3", 15000, CODE_OK);
    story_pass(w, 25000);
    expect(w, cancelled->delivered == 0 && replaced->delivered == 0);
    expect(w, other->delivered == 1 && instead->delivered == 1 && COUNT(w, cancelled) == 2);
    story_finish(w);
}

void a_kept_record_may_be_cancelled_and_replaced(struct world *w)
{
    story_begin_cancels(w);
    tell_of_a_cancel(w);
}

void a_kept_record_may_be_cancelled_and_replaced_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    tell_of_a_cancel(w);
}

/* It waits for its target in a level, not in memory, so that a kill does not forget for how long.
 */
void a_pause_meets_a_kept_record(struct world *w)
{
    story_begin(w);
    w->setup.control = true;
    open_held(w);
    struct request *r = story_ask(w, TARGET_A, 10000);
    story_pass(w, 1000);
    operators_pause(w, "payments.*", 0);
    story_pass(w, 12000);
    expect(w, r->delivered == 0 && kept_now(w) == 0 && COUNT(w, hops) > 0);
    operators_remove(w, "payments.*");
    story_pass(w, 10000);
    expect(w, r->delivered == 1 && COUNT(w, kept) == 1);
    story_finish(w);
}

/* Its attempts are in the envelope that the level has. In memory, a kill would forget them. */
static void tell_of_a_failed_delivery(struct world *w)
{
    w->setup.max_attempts = 2;
    open_held(w);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    struct request *r = story_ask(w, TARGET_A, 10000);
    story_until(w, COUNT(w, redeliveries) == 1);
    story_pass(w, 1000);
    expect(w, COUNT(w, hops) == 1 && kept_now(w) == 0);
    story_crash(w);
    story_restart(w);
    story_until(w, r->dead == 1);
    expect(w, COUNT(w, redeliveries) == 1);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_finish(w);
}

void a_record_whose_delivery_failed_is_not_kept(struct world *w)
{
    story_begin(w);
    tell_of_a_failed_delivery(w);
}

void a_record_whose_delivery_failed_is_not_kept_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    tell_of_a_failed_delivery(w);
}

/* The target exists, and the answer to its look-up takes time. */
void the_target_of_a_kept_record_is_looked_up_before_its_time(struct world *w)
{
    story_begin(w);
    open_held(w);
    struct request *r = story_ask(w, TARGET_A, 20000);
    story_pass(w, 19500);
    w->targets[TARGET_A].unanswered = true;
    story_pass(w, 510);
    expect(w, r->delivered == 1 && COUNT(w, kept) == 1);
    w->targets[TARGET_A].unanswered = false;
    story_finish(w);
}

static void tell_of_accepted_events(struct world *w)
{
    w->setup.events = EVENTS_ALL;
    open_held(w);
    struct request *r = story_ask(w, TARGET_A, 20000);
    story_pass(w, 2000);
    expect(w, r->told[EVENT_ACCEPTED] == 1 && r->delivered == 0);
    story_until(w, r->delivered == 1);
    story_finish(w);
}

void an_event_that_is_owed_is_not_delayed(struct world *w)
{
    story_begin(w);
    tell_of_accepted_events(w);
}

void an_event_that_is_owed_is_not_delayed_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    tell_of_accepted_events(w);
}

/* 20 records a second for 10 s are more than a third of 192 offsets. They would be spilled late,
   into more levels. */
void a_rate_that_will_fill_the_window_is_foreseen(struct world *w)
{
    enum { RATE = 20, SECONDS = 20 };
    story_begin(w);
    w->setup.commit_text_max = SHORT_TEXT;
    w->setup.is_calm = true;
    open_held(w);
    for (int i = 0; i < RATE * 2; i++) {
        story_ask(w, TARGET_A, 0);
        story_pass(w, 1000 / RATE);
    }
    for (int i = 0; i < RATE * SECONDS; i++) {
        story_ask(w, TARGET_A, 10500);
        story_pass(w, 1000 / RATE);
    }
    expect(w, COUNT(w, kept) < RATE && COUNT(w, spilled) == 0);
    story_finish(w);
    expect(w, COUNT(w, window_full) == 0);
}

/* The rate rises from 2 to 200 a second, and back. No record comes late because of those that were
   kept before. */
void a_burst_spills_the_oldest_records(struct world *w)
{
    story_begin(w);
    w->setup.commit_text_max = SHORT_TEXT;
    w->setup.is_calm = true;
    open_held(w);
    for (int i = 0; i < 20; i++) {
        story_ask(w, TARGET_A, 20000);
        story_pass(w, 500);
    }
    expect(w, kept_now(w) == 20);
    for (int i = 0; i < 200; i++) {
        story_ask(w, TARGET_A, 0);
        story_pass(w, 5);
    }
    expect(w, COUNT(w, spilled) > 0 && COUNT(w, window_full) == 0);
    story_finish(w);
}

/* The next reading would begin its delay again. */
void a_due_time_that_only_this_reading_knows_is_stored(struct world *w)
{
    story_begin(w);
    open_held(w);
    struct ask ask = {.target = TARGET_A, .delay_ms = 20000, .no_timestamp = true};
    struct request *undated = workload_send(w, &ask);
    story_pass(w, 10000);
    expect(w, COUNT(w, hops) > 0);
    story_crash(w);
    story_restart(w);
    story_until(w, undated->delivered == 1);
    expect(w, w->now_ms < 21000);
    story_finish(w);
}

/* Dead letters of a lane whose partition has no leader fill its share of them, not memory. */
void a_lane_full_of_dead_letters_spills_no_other(struct world *w)
{
    story_begin(w);
    w->setup.lanes = 2;
    open_held(w);
    struct request *kept = story_ask_lane(w, 0, TARGET_A, 25000);
    story_pass(w, 500);
    world_take_leader(w, CHAINS_DEAD + 1, w->now_ms + 10000);
    for (int i = 0; i < 600; i++) {
        struct ask ask = {.lane = 1, .target = TARGET_A, .fault = CODE_BAD_TIME};
        workload_send(w, &ask);
    }
    story_pass(w, 5000);
    expect(w, COUNT(w, refused) < 600 && COUNT(w, spilled) == 0 && kept_now(w) == 1);
    story_until(w, kept->delivered == 1);
    story_finish(w);
}

/* A large request needs all memory, or its queue to be empty. */
void a_large_request_does_not_wait_for_kept_records(struct world *w)
{
    story_begin(w);
    w->setup.lanes = 2;
    w->setup.memory_bytes = 1 << 16;
    w->setup.large_bytes = w->setup.memory_bytes / 8;
    open_held(w);
    for (int i = 0; i < 6; i++)
        story_ask_lane(w, i % 2, TARGET_A, 10000);
    story_pass(w, 500);
    expect(w, kept_now(w) == 6);
    struct request *large = story_ask_large(w, 0, 1 << 16);
    story_pass(w, 2000);
    expect(w, large->delivered + large->dead == 1);
    story_finish(w);
}

/* Memory is short because of records of the other lane. */
void memory_of_kept_records_is_given_to_other_lanes(struct world *w)
{
    enum { KEPT = 12 };
    story_begin(w);
    w->setup.lanes = 2;
    w->setup.memory_bytes = 1 << 16;
    open_held(w);
    for (int i = 0; i < KEPT; i++)
        story_ask_lane(w, 0, TARGET_A, 10000);
    story_pass(w, 500);
    uint64_t kept = kept_now(w);
    expect(w, kept > 3 && COUNT(w, kept_bytes) <= (1 << 16) / 4 + 2000);
    for (int i = 0; i < 60; i++)
        story_ask_lane(w, 1, TARGET_B, 700);
    story_pass(w, 100);
    expect(w, COUNT(w, window_full) > 0 && COUNT(w, spilled) >= kept);
    story_finish(w);
}

/* Its level has no leader for 8 s. Kept again, it would stop the queue until its time. */
void a_spilled_record_is_not_kept_again(struct world *w)
{
    story_begin_exactly_once(w);
    w->setup.skip_unreadable = true;
    open_held(w);
    struct request *spilled = story_ask(w, TARGET_A, 25000);
    story_pass(w, 2000);
    for (int level = 0; level < 3; level++)
        world_take_leader(w, w->processes[0].topic_of_slot[1 + level] * LANES_MAX,
                          w->now_ms + 8000);
    workload_unreadable(w, TOPIC_SCHEDULE, 0, 3);
    struct request *next = story_ask(w, TARGET_B, 0);
    story_pass(w, 7000);
    expect(w, COUNT(w, spilled) == 1 && COUNT(w, kept) == 1 && next->delivered == 0);
    story_pass(w, 8000);
    expect(w, next->delivered == 1 && spilled->delivered == 0);
    story_finish(w);
}

/* It is delivered, unless it would have to be read again. */
void the_start_of_the_log_may_pass_a_kept_record(struct world *w)
{
    story_begin(w);
    open_held(w);
    struct request *first = story_ask(w, TARGET_A, 10000), *second = story_ask(w, TARGET_A, 20000);
    struct request *third = story_ask(w, TARGET_B, 20000);
    story_pass(w, 1000);
    oracle_truncate(w, TOPIC_SCHEDULE, 0, 2);
    story_until(w, first->delivered == 1);
    story_regroup(w);
    story_until(w, third->delivered == 1);
    expect(w, second->delivered == 0 && w->repeats == 0);
    story_finish(w);
}

/* A range of offsets that no client can read waits for the records before it. */
void a_range_that_is_skipped_waits_for_no_kept_record(struct world *w)
{
    story_begin(w);
    w->setup.skip_unreadable = true;
    open_held(w);
    struct request *kept = story_ask(w, TARGET_A, 25000);
    story_pass(w, 500);
    workload_unreadable(w, TOPIC_SCHEDULE, 0, 3);
    struct request *next = story_ask(w, TARGET_B, 0);
    story_pass(w, 5000);
    expect(w, next->delivered == 1 && kept->delivered == 0 && COUNT(w, kept) == 1);
    story_finish(w);
    expect(w, kept->delivered == 1);
}

/* A process that does not write the level any more still reads it. */
void a_record_of_a_retired_level_is_kept(struct world *w)
{
    static const struct ladder before = {{1000, 5000, 40000}, 3, 1000, 500};
    static const struct ladder after = {{1000, 5000, 30000}, 3, 1000, 500};
    story_begin(w);
    w->setup.ladder_before = before;
    w->setup.ladder = after;
    w->setup.levels_foretold = true;
    w->setup.switch_ms = INT64_MAX;
    w->setup.hold_ms = HOLD_MS;
    story_open(w);
    struct request *r = story_ask(w, TARGET_A, 55000);
    story_pass(w, 500);
    w->setup.processes = 2;
    w->setup.switch_ms = 1;
    process_start(w, 1);
    member_stop(&w->processes[0]);
    story_pass(w, 45000);
    expect(w, COUNT(w, kept) == 1 && COUNT(w, hops) == 1 && r->delivered == 0);
    story_until(w, r->delivered == 1);
    story_finish(w);
}
