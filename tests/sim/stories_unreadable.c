/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of batches that the client cannot read. */
#include "tests/sim/story.h"

enum { BATCH = 40000 }; /* more records than a window holds */

static struct queue_id schedule_of(int lane, const struct process *p)
{
    return (struct queue_id){lane * p->slots + SLOT_SCHEDULE, lane, SLOT_SCHEDULE};
}

static void skips(struct world *w)
{
    w->setup.skip_unreadable = true;
    story_open(w);
    struct request *before = story_ask(w, TARGET_A, 900);
    struct entry *bad = workload_unreadable(w, TOPIC_SCHEDULE, 0, BATCH);
    struct request *behind = story_ask(w, TARGET_A, 100);
    story_until(w, behind->delivered == 1);
    expect(w, before->delivered == 1 && bad->verdicts == 1);
    expect(w, COUNT(w, dead[CODE_UNREADABLE]) == 1);
    expect(w, w->notices[NOTICE_UNREADABLE] == 1 && w->notices[NOTICE_RANGE_SKIPPED] == 1);
    story_finish(w);
}

void unreadable_batch_is_dead_lettered_and_passed(struct world *w)
{
    story_begin(w);
    skips(w);
}

void unreadable_batch_is_dead_lettered_and_passed_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    skips(w);
}

/* The dead letter is acknowledged before any of the range is committed. */
void unreadable_batch_is_not_passed_before_its_dead_letter(struct world *w)
{
    story_begin(w);
    w->setup.skip_unreadable = true;
    story_open(w);
    struct request *before = story_ask(w, TARGET_A, 0);
    story_until(w, before->delivered == 1);
    story_pass(w, 500);
    story_hold_landings(w);
    struct entry *bad = workload_unreadable(w, TOPIC_SCHEDULE, 0, 1);
    struct request *behind = story_ask(w, TARGET_A, 0);
    story_pass(w, 3000);
    expect(w, bad->verdicts == 0 && story_committed(w, -1, 0)->base <= bad->offset);
    story_crash(w);
    process_start(w, 0);
    story_let_land(w);
    story_until(w, bad->verdicts > 0 && behind->delivered > 0);
    story_finish(w);
}

static void blocks(struct world *w)
{
    w->setup.lanes = 2;
    story_open(w);
    struct entry *bad = workload_unreadable(w, TOPIC_SCHEDULE, 0, BATCH);
    struct request *behind = story_ask(w, TARGET_A, 0);
    struct request *beside = story_ask_lane(w, 1, TARGET_A, 0);
    story_pass(w, 5000);
    expect(w, behind->delivered == 0 && beside->delivered == 1 && bad->verdicts == 0);
    expect(w, w->notices[NOTICE_UNREADABLE] == 1);
    struct process *p = story_owner(w, 0);
    struct queue_id q = schedule_of(0, p);
    int64_t from, end;
    expect(w, bridge_blocked_range(p->bridge, q, &from, &end));
    expect(w, from == bad->offset && end == bad->unreadable_end);
    bridge_skip_range(p->bridge, q, from, end - 1); /* another range */
    story_pass(w, 1000);
    expect(w, behind->delivered == 0);
    bad->gone = true; /* an operator has written the dead letter */
    w->broker.undone_n--;
    bridge_skip_range(p->bridge, q, from, end);
    story_until(w, behind->delivered == 1);
    expect(w, w->notices[NOTICE_RANGE_SKIPPED] == 1 && COUNT(w, dead[CODE_UNREADABLE]) == 0);
    story_finish(w);
}

void unreadable_batch_blocks_its_partition_until_it_is_skipped(struct world *w)
{
    story_begin(w);
    blocks(w);
}

void unreadable_batch_blocks_its_partition_until_it_is_skipped_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    blocks(w);
}

/* After a clock step back, all records are read again, also unfinished ones before the batch. */
void unreadable_batch_and_a_clock_step_lose_no_record_before_it(struct world *w)
{
    story_begin(w);
    w->setup.skip_unreadable = true;
    story_open(w);
    struct request *before = story_ask(w, TARGET_A, 900);
    struct entry *bad = workload_unreadable(w, TOPIC_SCHEDULE, 0, 3);
    story_until(w, w->notices[NOTICE_UNREADABLE] == 1);
    process_step_clock(&w->processes[0], -10000);
    story_until(w, bad->verdicts == 1 && before->delivered == 1);
    story_finish(w);
}

/* Two attempts to read the batch fail, the third one succeeds. */
void unreadable_batch_that_becomes_readable_is_read(struct world *w)
{
    story_begin(w);
    w->setup.skip_unreadable = true;
    story_open(w);
    struct request *r = story_ask(w, TARGET_A, 0);
    struct process *p = story_owner(w, 0);
    for (int i = 0; i < 2; i++)
        bridge_unreadable(p->bridge, schedule_of(0, p), r->offset, r->offset + 1);
    story_until(w, r->delivered == 1);
    expect(w, w->notices[NOTICE_UNREADABLE] == 0);
    story_finish(w);
}

/* The batch has more offsets than a window. When the same process is assigned the lane again, no
   commit beyond the batch has been stored. */
void unreadable_batch_is_passed_once_though_its_lane_comes_back(struct world *w)
{
    story_begin(w);
    w->setup.skip_unreadable = true;
    story_open(w);
    story_ask(w, TARGET_A, 0);
    story_until(w, story_committed(w, -1, 0) != NULL && story_committed(w, -1, 0)->base == 1);
    w->knobs.commit_fails = 10000;
    struct entry *bad = workload_unreadable(w, TOPIC_SCHEDULE, 0, BATCH);
    story_until(w, w->notices[NOTICE_RANGE_SKIPPED] == 1);
    story_regroup(w);
    w->knobs.commit_fails = 0;
    struct request *behind = story_ask(w, TARGET_A, 0);
    story_until(w, behind->delivered == 1);
    expect(w, bad->verdicts == 1 && COUNT(w, dead[CODE_UNREADABLE]) == 1);
    story_finish(w);
}
