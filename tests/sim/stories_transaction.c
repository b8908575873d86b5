/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of transactions: which records are committed, and how a process learns that. */
#include "tests/sim/coordinator.h"
#include "tests/sim/story.h"

/* Delivers two records, which are reported, in a transaction that is not committed yet. */
static struct process *open_with_two(struct world *w)
{
    story_open(w);
    story_ask(w, TARGET_A, 0);
    story_ask(w, TARGET_A, 0);
    story_until(w, COUNT(w, deliveries) == 2);
    expect(w, story_committed(w, -1, 0) == NULL || story_committed(w, -1, 0)->base == 0);
    return &w->processes[0];
}

static void expect_all_once(struct world *w)
{
    for (const struct request *r = w->requests; r != NULL; r = r->next)
        expect(w, r->delivered == 1 && r->dead == 0);
}

void an_abort_reads_again_from_the_committed_offsets(struct world *w)
{
    story_begin_exactly_once(w);
    struct process *p = open_with_two(w);
    coordinator_fence(p->producer);
    story_until(w, p->lanes[0].epoch == 2);
    expect(w, COUNT(w, aborts) == 1 && w->requests->delivered == 0);
    story_finish(w);
    expect(w, w->forwards == 4);
    expect_all_once(w);
}

void a_commit_that_arrived_without_an_answer_doubles_nothing(struct world *w)
{
    story_begin_exactly_once(w);
    struct process *p = open_with_two(w);
    w->knobs.lose_answers = true;
    story_until(w, COUNT(w, aborts) == 1);
    w->knobs.lose_answers = false;
    expect(w, story_committed(w, -1, 0)->base == 2 && w->requests->delivered == 1);
    story_until(w, p->lanes[0].epoch == 2);
    story_finish(w);
    expect(w, w->forwards == 2);
    expect_all_once(w);
}

void a_commit_that_was_lost_loses_nothing(struct world *w)
{
    story_begin_exactly_once(w);
    struct process *p = open_with_two(w);
    w->knobs.commit_fails = 10000;
    story_until(w, COUNT(w, aborts) == 1);
    w->knobs.commit_fails = 0;
    story_until(w, p->lanes[0].epoch == 2);
    expect(w, w->requests->delivered == 0);
    story_finish(w);
    expect(w, w->forwards == 4);
    expect_all_once(w);
}

/* The commit is in flight while all its records are read and sent again. */
void a_commit_that_arrives_after_the_fence_does_nothing(struct world *w)
{
    story_begin_exactly_once(w);
    struct process *p = open_with_two(w);
    w->knobs.commit_silent = 10000;
    story_until(w, COUNT(w, aborts) == 1);
    w->knobs.commit_silent = 0;
    w->knobs.hold_commits = true;
    story_until(w, p->lanes[0].epoch == 2 && w->forwards == 4);
    w->knobs.hold_commits = false;
    story_finish(w);
    expect(w, w->forwards == 4);
    expect_all_once(w);
}

/* Records that the broken transaction has stored are still there, but do not count. */
void another_transaction_begins_before_the_broken_one_is_fenced(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    story_ask(w, TARGET_A, 0);
    story_pass(w, 1000);
    w->knobs.restart_ms = 4000;
    const struct request *good = story_ask(w, TARGET_A, 0);
    story_ask_large(w, 0, TARGET_BYTES_MAX + 1);
    story_until(w, COUNT(w, aborts) == 1);
    const struct producer *broken = w->processes[0].producer;
    story_until(w, story_committed(w, -1, 0)->base == 2);
    expect(w, !broken->fenced);
    story_until(w, broken->fenced);
    story_finish(w);
    expect(w, good->delivered == 1);
}

void transaction_of_a_fenced_zombie_blocks_nothing(struct world *w)
{
    story_begin_exactly_once(w);
    w->setup.processes = 2;
    story_open(w);
    story_ask(w, TARGET_A, 0);
    story_pass(w, 1000);
    struct process *zombie = story_owner(w, 0);
    struct request *r =
        story_ask(w, TARGET_A, 3000); /* to a level, in a transaction that stays open */
    story_until(w, w->forwards == 2);
    process_stall(zombie, 4 * w->setup.session_ms);
    story_until(w, r->delivered == 1); /* by the other process, which can read the level by then */
    expect(w, w->now_ms < 20000 && zombie->stalled);
    story_until(w, !zombie->stalled);
    story_finish(w);
    expect_all_once(w);
}

/* The coordinator has the offsets, and the end of the transaction is in flight. */
void commit_of_a_dead_process_is_awaited(struct world *w)
{
    story_begin_exactly_once(w);
    w->setup.processes = 2;
    w->setup.producers_have_names = false;
    story_open(w);
    story_pass(w, 1000);
    struct process *p = story_owner(w, 0);
    struct request *r = story_ask(w, TARGET_A, 0);
    w->knobs.commit_ms = 8000;
    story_until(w, w->broker.pending_offsets[TOPIC_SCHEDULE][0] == 1);
    w->knobs.hold_commits = true;
    process_crash(p);
    story_until(w, w->processes[1 - p->id].unstable);
    expect(w, story_owner(w, 0) == NULL && r->delivered == 0);
    story_until(w, story_owner(w, 0) != NULL);
    expect(w, w->broker.pending_offsets[TOPIC_SCHEDULE][0] == 0);
    w->knobs.commit_ms = 0;
    w->knobs.hold_commits = false;
    story_finish(w);
    expect_all_once(w);
}

void lost_lanes_abort_the_transaction(struct world *w)
{
    story_begin_exactly_once(w);
    struct process *p = open_with_two(w);
    w->knobs.hold_commits = true; /* no time to end the transaction */
    group_regroup(w);
    story_until(w, COUNT(w, aborts) == 1);
    w->knobs.hold_commits = false;
    story_until(w, p->lanes[0].epoch == 2);
    expect(w, COUNT(w, aborts) == 1 && w->requests->delivered == 0);
    story_finish(w);
    expect(w, w->forwards == 4);
    expect_all_once(w);
}

void settling_commits_the_open_transaction(struct world *w)
{
    story_begin_exactly_once(w);
    struct process *p = open_with_two(w);
    member_stop(p);
    story_until(w, !p->up);
    expect(w, COUNT(w, aborts) == 0 && story_committed(w, -1, 0)->base == 2);
    process_start(w, 0);
    story_finish(w);
    expect(w, w->forwards == 2);
    expect_all_once(w);
}

void nothing_is_delivered_after_a_stall_until_ownership_is_proved(struct world *w)
{
    story_begin_exactly_once(w);
    struct process *p = open_with_two(w);
    story_pass(w, 500);
    w->knobs.hold_commits = true;
    process_stall(p, w->setup.session_ms - 1);
    story_until(w, !p->stalled);
    struct request *r = story_ask(w, TARGET_A, 0);
    story_pass(w, 500);
    expect(w, w->notices[NOTICE_STALLED_TURN] == 1 && w->forwards == 2);
    w->knobs.hold_commits = false;
    story_pass(w, 500);
    expect(w, r->delivered == 1 && COUNT(w, aborts) == 0);
    story_finish(w);
    expect_all_once(w);
}

void hops_wait_and_have_separate_transactions(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    struct log *level = story_level(w, 0, 0);
    story_ask(w, TARGET_A, 2000);
    struct request *due = story_ask(w, TARGET_A, 0);
    story_pass(w, 50);
    expect(w, due->delivered == 1 && level->n == 0);
    story_pass(w, 100);
    expect(w, level->n == 0); /* one hop waits for others */
    story_pass(w, 400);
    expect(w, level->n == 1);
    story_finish(w);
    expect_all_once(w);
}

void hops_that_the_port_refuses_cause_no_busy_loop(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    w->knobs.full = 10000;
    struct request *r = story_ask(w, TARGET_A, 60000);
    story_pass(w, 300);
    uint64_t steps = w->step;
    story_pass(w, 2000);
    expect(w, w->step < steps + 200);
    w->knobs.full = 0;
    story_finish(w);
    expect(w, r->delivered == 1);
    expect_all_once(w);
}

/* No broker reads records for four seconds, because of a quota. */
void a_transaction_that_waits_for_its_first_record_is_not_refused(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    w->knobs.full = 10000;
    struct request *r = story_ask(w, TARGET_A, 0);
    story_pass(w, 4000);
    w->knobs.full = 0;
    w->knobs.land_ms = 400;
    story_until(w, r->delivered == 1);
    expect(w, COUNT(w, aborts) == 0);
    story_finish(w);
    expect_all_once(w);
}

void hops_that_became_due_while_they_waited_are_delivered_together(struct world *w)
{
    enum { N = 40 };
    story_begin_exactly_once(w);
    story_open(w);
    w->knobs.hold_commits = true;
    story_ask(w, TARGET_A, 0);
    story_pass(w, 100);
    struct request *late[N];
    for (int i = 0; i < N; i++)
        late[i] = story_ask(w, TARGET_A, 2000);
    story_pass(w, 2500);
    w->knobs.hold_commits = false;
    uint64_t commits = COUNT(w, commits);
    story_pass(w, 400);
    for (int i = 0; i < N; i++)
        expect(w, late[i]->delivered == 1);
    expect(w, COUNT(w, commits) < commits + N / 4); /* not one transaction for each record */
    story_finish(w);
    expect_all_once(w);
}

void markers_on_levels_are_not_gaps(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    struct log *level = story_level(w, 0, 0);
    for (int i = 0; i < 3; i++) {
        story_ask(w, TARGET_A, 2000);
        story_pass(w, 550); /* each in a separate transaction */
    }
    expect(w, level->n == 3 && level->end == 6);
    int version = story_inbox(&w->processes[0], 0, 1)->version;
    story_pass(w, 4000);
    expect(w,
           story_inbox(&w->processes[0], 0, 1)->version == version); /* no record was read twice */
    expect(w, story_committed(w, 0, 0)->base == 5);
    story_finish(w);
    expect_all_once(w);
}

/* Lets the clock step back, so that a level is read again, by a fetch that jumps. */
static void jump_after_a_seek(struct world *w)
{
    story_open(w);
    w->knobs.fetch_n = 100;
    for (int i = 0; i < 4; i++)
        story_ask(w, TARGET_A, 2900);
    story_pass(w, 2000);
    expect(w, story_level(w, 0, 0)->n == 4 && COUNT(w, buffered_records) == 4);
    w->skip_to[0] = 2;
    w->skip_n = 1;
    process_step_clock(&w->processes[0], -1500);
    story_until(w, w->skip_at == 1);
    story_finish(w);
    expect_all_once(w);
}

void a_gap_after_a_seek_is_read_once_more(struct world *w)
{
    story_begin(w);
    jump_after_a_seek(w);
    expect(w, COUNT(w, missing_offsets) == 0);
}

void a_gap_after_a_seek_is_read_once_more_among_markers(struct world *w)
{
    story_begin_exactly_once(w);
    jump_after_a_seek(w);
}
