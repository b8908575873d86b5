/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of owners: lanes that are assigned and lost, processes that stall, and records in flight
   meanwhile. */
#include "tests/sim/story.h"

/* More than half a session, and less than a whole one. */
enum { STALL_MS = 3500 };

void a_proof_that_failed_is_requested_again(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct process *p = &w->processes[0];
    story_ask(w, TARGET_A, 0);
    story_pass(w, 500);
    w->knobs.commit_fails = 10000;
    process_stall(p, STALL_MS);
    group_regroup(w);
    story_until(w, p->member == MEMBER_REVOKING);
    w->knobs.hold_turns =
        true; /* the lane is lost and assigned again within one poll of the client */
    story_until(w, p->lanes[0].epoch == 2); /* it has nothing to commit now */
    w->knobs.hold_turns = false;
    expect(w, w->notices[NOTICE_STALLED_TURN] == 1 && COUNT(w, commits_failed) > 0);
    w->knobs.commit_fails = 0;
    struct request *r = story_ask(w, TARGET_A, 0);
    story_pass(w, 1000);
    expect(w, r->delivered == 1);
    story_finish(w);
}

/* Settles without losing the lanes, as when a revocation is canceled. */
static void settle(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)w;
    (void)arg;
    (void)n;
    process_before(p);
    bridge_settle(p->bridge, p->now);
    process_after(p);
}

void a_stall_that_ends_in_another_call_is_noticed_by_the_turn(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct process *p = &w->processes[0];
    story_ask(w, TARGET_A, 0);
    story_pass(w, 500);
    struct request *r = story_ask(w, TARGET_A, 900);
    story_pass(w, 50);
    world_at(w, w->now_ms + STALL_MS, p, settle, NULL, 0);
    process_stall(p, STALL_MS);
    story_pass(w,
               STALL_MS + 500); /* the oracle checks each record that is forwarded without proof */
    expect(w, w->notices[NOTICE_STALLED_TURN] == 1 && r->delivered == 1);
    story_finish(w);
}

void zombie_delivers_nothing_until_its_ownership_is_proved(struct world *w)
{
    story_begin(w);
    w->setup.processes = 2;
    story_open(w);
    story_ask(w, TARGET_A, 0);
    story_pass(w, 1000);
    struct process *zombie = story_owner(w, 0);
    struct request *r = story_ask(w, TARGET_A, 900);
    story_pass(w, 100);
    expect(w, COUNT(w, buffered_records) == 1);
    process_stall(zombie, 2 * w->setup.session_ms);
    story_until(w, story_owner(w, 0) != NULL && story_owner(w, 0) != zombie);
    story_until(w, r->delivered == 1);
    story_until(w, !zombie->stalled);
    story_pass(w, 1000);
    expect(w, w->notices[NOTICE_STALLED_TURN] == 1);
    expect(w, r->delivered == 1 && w->repeats == 0);
    story_finish(w);
}

void handover_repeats_nothing_after_clean_stop(struct world *w)
{
    story_begin(w);
    w->setup.processes = 2;
    story_open(w);
    struct process *first = story_owner(w, 0);
    story_ask(w, TARGET_A, 900); /* base stays here */
    for (int i = 0; i < 20; i++)
        story_ask(w, i % 2 ? TARGET_B : TARGET_A, i % 4 * 700);
    story_pass(w, 300);
    w->knobs.report_ms = 200; /* some are in flight when the process must end */
    story_ask(w, TARGET_B, 0);
    member_stop(first);
    story_until(w, !first->up && story_owner(w, 0) != NULL);
    expect(w, story_committed(w, -1, 0)->base == 0);
    story_finish(w);
    expect(w, w->repeats == 0 && COUNT(w, already_done) > 0);
}

/* A record is in flight when its lane is lost and assigned again, and is not read again yet. */
static struct request *fly_into_the_next_life(struct world *w)
{
    story_begin(w);
    story_open(w);
    story_ask(w, TARGET_A, 0);
    story_pass(w, 500);
    story_hold_landings(w);
    return story_ask(w, TARGET_A, 0);
}

void late_success_of_an_earlier_life_marks_done(struct world *w)
{
    struct request *r = fly_into_the_next_life(w);
    story_until(w, w->forwards == 2);
    w->knobs.hold_fetches = true;
    story_regroup(w);
    story_let_land(w);
    story_pass(w, 200);
    expect(w, r->delivered == 1 && COUNT(w, deliveries) == 2 && COUNT(w, buffered_records) == 0);
    expect(w, story_committed(w, -1, 0)->base == 2); /* although it was not read in this life */
    story_finish(w);
    expect(w, w->forwards == 2);
}

/* A queue without a done record commits an offset as soon as it has seen its first record. */
void late_success_is_known_to_a_queue_without_progress(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct request *r = story_ask(w, TARGET_A, 8000);
    story_until(w, story_level(w, 1, 0)->n == 1);
    story_pass(w, 300);
    expect(w, story_committed(w, 1, 0) != NULL);
    story_hold_landings(w);
    story_until(w, w->forwards == 2);
    w->knobs.hold_fetches = true;
    story_regroup(w);
    story_let_land(w);
    story_pass(w, 200);
    expect(w, story_committed(w, 1, 0)->base == 1);
    story_finish(w);
    expect(w, r->delivered == 1 && w->repeats == 0);
}

void late_failure_of_an_earlier_life_only_frees(struct world *w)
{
    struct request *r = fly_into_the_next_life(w);
    w->knobs.not_sent = 10000;
    story_until(w, w->forwards == 2);
    w->knobs.not_sent = 0;
    w->knobs.hold_fetches = true;
    story_regroup(w);
    story_let_land(w);
    story_pass(w, 2000);
    expect(w, COUNT(w, buffered_records) == 0 && COUNT(w, resends) == 0 && w->forwards == 2);
    story_finish(w);
    expect(w, w->forwards == 3 && r->delivered == 1);
}

void record_in_flight_is_not_sent_twice(struct world *w)
{
    struct request *r = fly_into_the_next_life(w);
    story_until(w, w->forwards == 2);
    story_regroup(w);
    story_until(w, story_inbox(&w->processes[0], 0, SLOT_SCHEDULE)->at == 2);
    story_pass(w, 1000);
    expect(w, w->forwards == 2 && r->delivered == 0);
    story_let_land(w);
    story_finish(w);
    expect(w, w->forwards == 2 && r->delivered == 1);
}

/* The lane's second life starts further back than the first one ended. So its window has no room
   for the last record, which is still in flight from the first life. */
void a_head_that_waits_for_room_may_prove_done(struct world *w)
{
    story_begin(w);
    w->knobs.no_places = true;
    story_open(w);
    w->knobs.hold_commits = true;
    story_ask(w, TARGET_DEFAULT, 0);
    story_until(w, COUNT(w, deliveries) == 1);
    story_hold_landings(w);
    story_ask(w, TARGET_A, 0);
    w->broker.logs[TOPIC_SCHEDULE][0].end = WINDOW_SPAN;
    struct request *last = story_ask(w, TARGET_B, 0);
    story_until(w, w->forwards == 3);
    story_regroup(w);
    story_until(w, w->forwards == 4 && COUNT(w, window_full) == 1);
    w->knobs.hold_reports = true;
    story_let_land(w);
    story_pass(w, 500);
    w->knobs.hold_reports = false;
    story_pass(w, 500);
    expect(w, COUNT(w, deliveries) == 4 && last->delivered == 1);
    story_finish(w);
    expect(w, w->forwards == 4 && last->delivered == 1);
}

/* A late report of a record more than a window above the committed offset, behind a gap, is lost if
   another owner was there meanwhile. The record may be forwarded twice, like all that are in flight
   when their lane is lost. */
void late_success_beyond_the_window_is_forgotten(struct world *w)
{
    story_begin(w);
    w->setup.processes = 2;
    story_open(w);
    story_ask(w, TARGET_DEFAULT, 0);
    story_until(w, COUNT(w, deliveries) == 1);
    story_pass(w, 300);
    struct process *first = story_owner(w, 0);
    w->knobs.hold_commits = true;
    story_hold_landings(w);
    w->broker.logs[TOPIC_SCHEDULE][0].end = 1 + WINDOW_SPAN;
    struct request *far = story_ask(w, TARGET_A, 0);
    story_until(w, w->forwards == 2);
    w->knobs.hold_fetches = true;
    while (story_owner(w, 0) == first)
        story_regroup(w);
    while (story_owner(w, 0) != first)
        story_regroup(w);
    story_let_land(w);
    story_pass(w, 200);
    w->knobs.hold_commits = false;
    story_pass(w, 200);
    expect(w, far->delivered == 1 && story_committed(w, -1, 0)->base == 1);
    w->knobs.hold_fetches = false;
    story_finish(w);
    expect(w, w->forwards == 3 && far->delivered == 2 && w->repeats == 1);
}

/* A rolling change of levels, and back. Processes that write the old levels already read the new
   ones. */
void levels_read_first_written_later(struct world *w)
{
    static const struct ladder before = {{1000, 5000, 30000}, 3, 1000, 500};
    static const struct ladder after = {{1000, 10000, 60000}, 3, 1000, 500};
    story_begin(w);
    w->setup.ladder_before = before;
    w->setup.ladder = after;
    w->setup.levels_foretold = true;
    w->setup.switch_ms = INT64_MAX;
    story_open(w);
    w->setup.processes = 2;
    struct request *old = story_ask(w, TARGET_A, 20000);
    story_pass(w, 500);
    w->setup.switch_ms = 1;
    process_start(w, 1);
    member_stop(&w->processes[0]);
    story_until(w, story_owner(w, 0) == &w->processes[1]);
    struct request *new = story_ask(w, TARGET_A, 25000);
    story_pass(w, 500);
    expect(w, w->broker.logs[broker_topic(&w->broker, 5000)][0].n == 1);
    expect(w, w->broker.logs[broker_topic(&w->broker, 10000)][0].n == 1);
    w->setup.switch_ms = INT64_MAX;
    process_start(w, 0);
    member_stop(&w->processes[1]);
    story_until(w, story_owner(w, 0) == &w->processes[0]);
    story_until(w, old->delivered == 1 && new->delivered == 1);
    expect(w, w->now_ms < 30000 && w->repeats == 0);
    story_finish(w);
}
