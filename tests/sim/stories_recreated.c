/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of topics that are deleted and recreated, or that lose their newest records: facts about
   the old log prove nothing about the new one. */
#include "tests/sim/story_cancel.h"

/* Blocks lane 0: the committed offset of the schedule topic is beyond the end of its log. Returns a
   request that waits in a level. */
static struct request *hold_lane_0(struct world *w, int done)
{
    story_begin(w);
    w->setup.lanes = 2;
    story_open(w);
    for (int i = 0; i < done; i++)
        story_ask(w, TARGET_A, 0);
    struct request *waiting = story_ask(w, TARGET_A, 8000);
    story_pass(w, 500);
    expect(w, story_committed(w, -1, 0)->base == done + 1);
    story_crash(w);
    story_cut_log(w, &w->broker.logs[TOPIC_SCHEDULE][0], 0);
    process_start(w, 0);
    story_until(w, w->notices[NOTICE_BEYOND_END] == 1);
    return waiting;
}

void position_beyond_the_log_end_blocks_its_queue_alone(struct world *w)
{
    struct request *waiting = hold_lane_0(w, 3);
    struct request *held = story_ask(w, TARGET_A, 0);
    struct request *other = story_ask_lane(w, 1, TARGET_A, 0);
    story_pass(w, 10000);
    expect(w, other->delivered == 1 && waiting->delivered == 1);
    expect(w, held->delivered == 0 && held->dead == 0 && w->notices[NOTICE_BEYOND_END] == 1);
    expect(w, story_committed(w, -1, 0)->base == 4 && COUNT(w, lost_positions) == 0);
    oracle_truncate(w, TOPIC_SCHEDULE, 0, 1);
    story_finish(w);
}

/* After a stall, a commit proves ownership. It needs a queue that is not blocked. */
void blocked_queue_does_not_delay_the_proof_of_ownership(struct world *w)
{
    struct request *waiting = hold_lane_0(w, 3);
    process_stall(&w->processes[0], w->setup.session_ms - 1);
    story_pass(w, 10000);
    expect(w, w->notices[NOTICE_STALLED_TURN] == 1 && waiting->delivered == 1);
    story_finish(w);
}

/* Replaces a level's log by another one with n records that no process here wrote. */
static void append_foreign(struct world *w, struct log *log, int n)
{
    static const struct entry foreign = {
        .timestamp_ms = EPOCH_MS, .value = {"of another log", 14}, .foreign = true};
    for (int i = 0; i < n; i++, w->broker.undone_n++)
        (void)log_append(&w->broker, log, &foreign);
}

static void replace_level(struct world *w, struct log *log, int n)
{
    story_cut_log(w, log, 0);
    w->replaced_ok = true;
    append_foreign(w, log, n);
}

/* Pauses the partition of the longest level, because its first record is due late. The `done`
   records before it are processed. */
static struct log *pause_level(struct world *w, int done)
{
    struct log *level = story_level(w, 2, 0);
    for (int i = 0; i < done; i++)
        story_ask(w, TARGET_A, 31000);
    story_until(w, COUNT(w, deliveries) == (uint64_t)done);
    story_pass(w, 70000); /* done records are trimmed */
    story_ask(w, TARGET_A, 40000);
    story_until(w, COUNT(w, paused) == 1);
    story_pass(w, 1000);
    return level;
}

/* Expects that records of the new log stay there, and that all else continues. */
static void expect_held(struct world *w, struct log *level)
{
    story_until(w, w->notices[NOTICE_REPLACED] == 1);
    const struct committed *before = story_committed(w, 2, 0);
    story_regroup(w);
    struct request *other = story_ask(w, TARGET_B, 0);
    story_pass(w, 130000);
    expect(w, other->delivered == 1 && w->notices[NOTICE_REPLACED] == 1);
    expect(w, story_committed(w, 2, 0) == before);
    for (size_t i = 0; i < level->n; i++)
        expect(w, !level->entries[i]->done);
    for (struct request *r = w->requests; r != NULL; r = r->next) {
        if (!r->finished && !r->excused)
            w->open_n--;
        r->excused = true; /* lost with the old log */
    }
    oracle_truncate(w, w->processes[0].topic_of_slot[3], 0, level->end);
    story_finish(w);
}

void another_record_at_a_paused_head_blocks_the_queue(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct log *level = pause_level(w, 3);
    replace_level(w, level, 8);
    expect_held(w, level);
}

void another_record_at_a_paused_head_blocks_the_queue_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    struct log *level = pause_level(w, 3);
    replace_level(w, level, 20);
    expect_held(w, level);
}

void no_record_at_a_paused_head_blocks_the_queue(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct log *level = pause_level(w, 3);
    replace_level(w, level, 3);
    level->end++; /* no record has the head's offset, but a later one */
    append_foreign(w, level, 4);
    expect_held(w, level);
}

/* The client returns neither a record nor an error. */
void a_log_end_at_a_paused_head_blocks_the_queue(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct log *level = pause_level(w, 3);
    replace_level(w, level, 3);
    expect_held(w, level);
}

/* A hop that is stored before the read position of its level is in another log. */
void a_hop_stored_before_the_position_blocks_the_queue(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct log *level = pause_level(w, 3);
    story_hold_landings(w);
    uint64_t forwards = w->forwards;
    story_ask(w, TARGET_A, 31000);
    story_until(w, w->forwards > forwards);
    replace_level(w, level, 0);
    story_let_land(w);
    story_pass(w, 1000); /* the partition is paused, so only the hop can show the new log */
    expect(w, w->notices[NOTICE_REPLACED] == 1);
    expect_held(w, level);
}

/* The offsets of a blocked queue belong to the old log. */
void blocked_queue_is_not_trimmed(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct log *level = story_level(w, 0, 0);
    for (int i = 0; i < 3; i++)
        story_ask(w, TARGET_A, 2000);
    story_until(w, COUNT(w, deliveries) == 3);
    story_until(w, story_committed(w, 0, 0)->base == 3);
    story_cut_log(w, level, 0);
    for (int i = 0; i < 4; i++)
        story_ask(w, TARGET_A, 2000);
    story_until(w, w->notices[NOTICE_BEYOND_END] == 1 && level->end == 4);
    story_pass(w, 130000);
    expect(w, level->start == 0);
    oracle_truncate(w, w->processes[0].topic_of_slot[1], 0, 4);
    story_finish(w);
}

/* Facts about the old log, and records in flight from it, do not belong to the new one. */
void committed_offset_that_went_back_belongs_to_another_log(struct world *w)
{
    struct request *asked[5];
    story_begin(w);
    story_open(w);
    for (int i = 0; i < 3; i++)
        story_ask(w, TARGET_A, 0);
    story_until(w, story_committed(w, -1, 0) != NULL && story_committed(w, -1, 0)->base == 3);
    story_hold_landings(w);
    story_ask(w, TARGET_A, 0);
    story_until(w, w->forwards == 4);
    struct committed *place = arena_take(&w->arena, sizeof *place);
    *place = (struct committed){.text = story_committed(w, -1, 0)->text, .life = NO_LIFE};
    w->metadata_is_foreign = true;
    story_cut_log(w, &w->broker.logs[TOPIC_SCHEDULE][0], 0);
    w->broker.committed[TOPIC_SCHEDULE][0] = place; /* a commit of another member, meanwhile */
    for (int i = 0; i < 5; i++)
        asked[i] = story_ask(w, TARGET_B, 0);
    story_regroup(w);
    story_let_land(w);
    story_pass(w, 1000);
    for (int i = 0; i < 5; i++)
        expect(w, asked[i]->delivered == 1);
    story_finish(w);
}

/* Repeats rebalances until lane 0 has the wanted owner. */
static void move_lane_0(struct world *w, const struct process *to)
{
    do
        story_regroup(w);
    while (story_owner(w, 0) != to);
}

/* The lane was another member's, and its topic was replaced meanwhile. A delivery still in flight
   from the old topic says nothing of the record that has its offset in the new one. Its report
   comes after that record was read, or before. */
static void return_with_another_log(struct world *w, bool reads_first)
{
    story_begin(w);
    w->setup.processes = 2;
    story_open(w);
    struct process *first = story_owner(w, 0), *second = &w->processes[first == w->processes];
    for (int i = 0; i < 3; i++)
        story_ask(w, TARGET_A, 0);
    story_until(w, story_committed(w, -1, 0) != NULL && story_committed(w, -1, 0)->base == 3);
    story_hold_landings(w);
    story_ask(w, TARGET_A, 0);
    story_until(w, w->forwards == 4);
    w->knobs.hold_fetches = true;
    move_lane_0(w, second);
    story_cut_log(w, &w->broker.logs[TOPIC_SCHEDULE][0], 0);
    for (int i = 0; i < 3; i++)
        story_ask(w, TARGET_B, 0);
    oracle_truncate(w, TOPIC_SCHEDULE, 0,
                    3); /* the second member has processed them, and commits 3 again */
    struct request *fourth = story_ask(w, TARGET_B, 0);
    move_lane_0(w, first);
    w->knobs.hold_fetches = !reads_first;
    story_pass(w, 1000);
    story_let_land(w);
    story_pass(w, 1000);
    w->knobs.hold_fetches = false;
    story_pass(w, 1000);
    expect(w, fourth->delivered == 1);
    story_finish(w);
}

void record_in_flight_from_before_another_owner_belongs_to_another_log(struct world *w)
{
    return_with_another_log(w, true);
}

void report_from_before_another_owner_marks_nothing_in_another_log(struct world *w)
{
    return_with_another_log(w, false);
}

/* Deletes a level topic under a running bridge, and creates it again later. */
static void lose_a_level(struct world *w)
{
    story_open(w);
    struct request *lost = story_ask(w, TARGET_A, 40000);
    story_until(w, COUNT(w, paused) == 1);
    story_pass(w, 1000);
    story_delete_level(w, 2, lost);
    struct process *p = &w->processes[0];
    process_before(p);
    bridge_topic_missing(p->bridge, (struct queue_id){3, 0, 3});
    process_after(p);
    expect(w, w->notices[NOTICE_MISSING] == 1);
    struct request *other = story_ask(w, TARGET_A, 6000), *kept = story_ask(w, TARGET_A, 40000);
    story_pass(w, 8000);
    story_regroup(w); /* still missing, but not reported again */
    struct request *behind = story_ask(w, TARGET_A, 6000);
    story_pass(w, 130000);
    expect(w, other->delivered == 1 && behind->delivered == 1 && kept->delivered == 1);
    expect(w, w->notices[NOTICE_MISSING] == 1 && story_level(w, 2, 0)->n == 0);
    kept = story_ask(w, TARGET_A, 60000);
    story_pass(w, 1000);
    w->missing[p->topic_of_slot[3]] = false; /* topics apply */
    story_regroup(w);
    story_until(w, kept->delivered == 1);
    expect(w, story_level(w, 2, 0)->n >= 1);
    story_finish(w);
}

void a_missing_topic_blocks_its_level_alone(struct world *w)
{
    story_begin(w);
    lose_a_level(w);
}

void a_missing_topic_blocks_its_level_alone_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    lose_a_level(w);
}

/* The topic is reported as missing before the transaction announces progress, so it has none. */
void record_of_a_level_that_is_deleted_is_committed(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    struct process *p = &w->processes[0];
    struct request *r = story_ask(w, TARGET_A, 1500);
    story_until(w, w->forwards == 2);
    story_delete_level(w, 0, r);
    process_before(p);
    bridge_topic_missing(p->bridge, (struct queue_id){1, 0, 1});
    process_after(p);
    story_until(w, r->delivered == 1);
    expect(w, COUNT(w, aborts) == 0);
    w->missing[p->topic_of_slot[1]] = false; /* topics apply */
    story_regroup(w);
    story_finish(w);
}

/* The newest requests are lost. The seals that follow say nothing about cancels that come later, at
   the offsets that were lost. */
void seals_of_a_cut_schedule_topic_end_no_later_cancel(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    cancel_of(w, "another", NULL);
    ask_named(w, "waiting", NULL, 31000);
    for (int i = 0; i < 10; i++)
        story_ask(w, TARGET_B, 0);
    story_pass(w, 1000);
    expect(w, story_committed(w, -1, 0)->base == 12);
    story_cut_log(w, &w->broker.logs[TOPIC_SCHEDULE][0], 2);
    w->schedule_n++;
    story_ask(w, TARGET_B, 0);
    story_until(w, w->notices[NOTICE_BEYOND_END] == 1);
    story_pass(w, 12000);
    expect(w, story_cancels(w)->n > 10);
    story_crash(w);
    story_reset_offset(w, TOPIC_SCHEDULE, 2);
    process_start(w, 0);
    struct request *r = ask_named(w, "k", NULL, 60000);
    story_pass(w, 1000);
    cancel_of(w, "k", NULL);
    for (int i = 0; i < 10; i++)
        story_ask(w, TARGET_B, 0);
    story_pass(w, 70000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

/* The newest records of a level are lost, and a new one is stored below the committed offset. It
   keeps its cancel while the queue is blocked, before its next owner knows that, and when the log
   ends beyond the committed offset again. */
void a_cut_level_keeps_cancels_in_force(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    for (int i = 0; i < 3; i++)
        story_ask(w, TARGET_B, 31000);
    cancel_of(w, "another", NULL);
    story_pass(w, 33000);
    expect(w, story_committed(w, 2, 0)->base == 3);
    struct log *level = story_level(w, 2, 0);
    story_cut_log(w, level, 1);
    w->replaced_ok = true;
    struct request *r = ask_named(w, "k", NULL, 31000);
    story_pass(w, 100);
    expect(w, level->end == 2);
    cancel_of(w, "k", NULL);
    story_pass(w, 15000);
    story_crash(w);
    w->knobs.hold_fetches = true;
    process_start(w, 0);
    story_pass(w, 15000);
    w->knobs.hold_fetches = false;
    for (int i = 0; i < 3; i++)
        story_ask(w, TARGET_B, 31000);
    story_pass(w, 15000);
    expect(w, level->end == 5 && w->notices[NOTICE_BEYOND_END] > 0);
    story_crash(w);
    story_reset_offset(w, w->processes[0].topic_of_slot[3], 1);
    process_start(w, 0);
    story_pass(w, 60000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}
