/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of slow targets, in exactly-once mode: they have a separate transaction. */
#include "tests/sim/coordinator.h"
#include "tests/sim/story.h"

enum { ACK_MS = 400, LEARN_S = 3 };

/* Lets the bridge learn that target A is slow. */
static void learn(struct world *w)
{
    struct request *slow[LEARN_S * STORY_EACH_S], *good[LEARN_S * STORY_EACH_S];
    w->targets[TARGET_A].ack_ms = ACK_MS;
    story_ask_both(w, slow, good, LEARN_S * STORY_EACH_S);
    story_until(w, slow[LEARN_S * STORY_EACH_S - 1]->delivered == 1);
    expect(w, counter_read(&story_owner(w, 0)->stats.targets_apart) == 1);
    story_pass(w, 500);
}

static void begin_with_a_slow_target(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    learn(w);
}

/* Sends a request for the slow target, and returns when its record is in flight. */
static struct request *fly_apart(struct world *w)
{
    size_t apart_n = w->apart_n;
    struct request *r = story_ask(w, TARGET_A, 0);
    story_until(w, w->apart_n > apart_n);
    return r;
}

void failure_of_a_slow_target_reads_no_lane_again(struct world *w)
{
    enum { N = 5 * STORY_EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    w->setup.max_attempts = 50;
    story_open(w);
    w->targets[TARGET_A].ack_ms = ACK_MS;
    story_ask_both(w, slow, good, LEARN_S * STORY_EACH_S);
    int epoch = w->processes[0].lanes[0].epoch;
    size_t apart_n = w->apart_n;
    w->targets[TARGET_A].mood = TARGET_KEYED; /* refuses records without a key */
    story_ask_both(w, slow, good, STORY_EACH_S);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_ask_both(w, slow, good, N);
    expect(w, w->apart_n > apart_n && w->processes[0].lanes[0].epoch == epoch);
    story_finish(w);
    story_expect_delivered(w, slow, N);
    story_expect_delivered(w, good, N);
}

/* Both its records and those of others are sent again, and each is committed once. */
void lanes_that_are_lost_abort_the_transaction_apart(struct world *w)
{
    enum { N = 2 * STORY_EACH_S };
    struct request *slow[N], *good[N], *again_slow[N], *again_good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = ACK_MS;
    story_ask_both(w, slow, good, N);
    struct request *lost = story_ask(w, TARGET_A, 0);
    story_pass(w, 50);
    story_regroup(w);
    story_ask_both(w, again_slow, again_good, N);
    struct request *last = story_ask(w, TARGET_A, 0);
    story_pass(w, 50);
    story_crash(w);
    story_finish(w);
    story_expect_delivered(w, slow, N);
    story_expect_delivered(w, again_slow, N);
    story_expect_delivered(w, again_good, N);
    expect(w, lost->delivered == 1 && last->delivered == 1);
}

/* Its queue has no progress any more, so its transaction has none. */
void slow_record_of_a_level_that_is_deleted_is_committed(struct world *w)
{
    begin_with_a_slow_target(w);
    struct process *p = &w->processes[0];
    size_t apart_n = w->apart_n;
    struct request *r = story_ask(w, TARGET_A, 1500);
    story_until(w, w->apart_n > apart_n);
    story_pass(w, ACK_MS / 2);
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

/* A shared transaction finds out which record the target refuses. */
void unfit_record_of_a_slow_target_uses_up_attempts(struct world *w)
{
    enum { N = 5 * STORY_EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    w->setup.max_attempts = 2;
    story_open(w);
    learn(w);
    w->targets[TARGET_A].mood = TARGET_UNKEYED;
    struct ask ask = {.target = TARGET_A, .key = "k", .has_value = true, .value_len = 10};
    struct request *bad = workload_send(w, &ask);
    story_ask_both(w, slow, good, N);
    expect(w, COUNT(w, redeliveries) == 1);
    story_until(w, bad->dead == 1);
    story_finish(w);
    story_expect_delivered(w, slow, N);
    story_expect_delivered(w, good, N);
}

/* The client reports all records as not sent, and names no cause. */
void refusal_that_no_client_names_closes_a_slow_target_alone(struct world *w)
{
    enum { N = 5 * STORY_EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    w->setup.max_attempts = 50;
    story_open(w);
    learn(w);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    story_ask_both(w, slow, good, N);
    story_pass(w, 1000);
    expect(w, COUNT(w, aborts) < N / 2 && COUNT(w, redeliveries) > 0);
    story_expect_delivered(w, good, N);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_finish(w);
    story_expect_delivered(w, slow, N);
}

/* Older offsets may still arrive from another producer, and only slow records are due. */
void turn_that_is_refused_comes_after_a_commit_of_progress(struct world *w)
{
    begin_with_a_slow_target(w);
    int epoch = w->processes[0].lanes[0].epoch;
    w->knobs.refuse_apart = 10000;
    struct request *r = fly_apart(w);
    story_until(w, w->processes[0].apart_waits);
    w->knobs.refuse_apart = 0;
    expect(w, r->delivered == 0);
    story_pass(w, 500);
    expect(w, r->delivered == 1 && w->processes[0].lanes[0].epoch == epoch);
    story_finish(w);
}

/* Breaks the shared transaction by a record that was alone, while the transaction apart is open.
   Its producer is not replaced yet. Returns a record that waits in memory. */
static struct request *break_alone_next_to_a_slow_target(struct world *w)
{
    struct ask large = {
        .target = TARGET_B, .key = "large", .has_value = true, .value_len = TARGET_BYTES_MAX + 1};
    begin_with_a_slow_target(w);
    w->knobs.restarts_at_once = 0;
    workload_send(w, &large);
    story_until(w, COUNT(w, aborts) == 1);
    size_t apart_n = w->apart_n;
    story_ask(w, TARGET_A, 0);
    struct request *waits = story_ask(w, TARGET_B, 900);
    story_until(w, !w->processes[0].restarting);
    w->knobs.hold_fences = true;
    story_until(w, COUNT(w, aborts) == 2);
    expect(w, w->processes[0].restarting && w->apart_n > apart_n);
    return waits;
}

void clock_step_back_after_a_lone_failure_rereads_slow_records(struct world *w)
{
    struct request *waits = break_alone_next_to_a_slow_target(w);
    process_step_clock(&w->processes[0], -10000);
    story_pass(w, 100);
    w->knobs.hold_fences = false;
    story_pass(w, 2000);
    expect(w, COUNT(w, buffered_records) == 0); /* none is due by that clock */
    story_finish(w);
    expect(w, waits->delivered == 1);
}

void revocation_awaits_no_slow_record_while_a_producer_is_replaced(struct world *w)
{
    struct request *waits = break_alone_next_to_a_slow_target(w);
    struct process *p = &w->processes[0];
    story_until(w, p->apart->unreported == 0);
    group_regroup(w);
    story_until(w, p->member == MEMBER_REVOKING);
    p->deadline_ms = w->now_ms + 2000;
    story_pass(w, 100);
    expect(w, p->member != MEMBER_REVOKING);
    w->knobs.hold_fences = false;
    story_finish(w);
    expect(w, waits->delivered == 1);
}

/* The simulator fails if a second record goes to the partition after the timeout of the first. */
void slow_target_without_a_leader_occupies_one_producer(struct world *w)
{
    enum { N = 40 * STORY_EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    w->setup.max_attempts = 50;
    story_open(w);
    learn(w);
    for (int i = 0; i < TARGET_PARTITIONS; i++)
        world_take_leader(w, CHAINS_TARGETS + TARGET_A * TARGET_PARTITIONS + i, w->now_ms + 30000);
    story_ask_both(w, slow, good, N);
    for (int i = 0; i < N; i++)
        expect(w, good[i]->finished_ms <= good[i]->appended_ms + 5000);
    story_finish(w);
    story_expect_delivered(w, slow, N);
}

/* Sends requests for two slow targets and one more. slow: those for one of the slow ones. */
static void ask_three(struct world *w, struct request **slow, int n)
{
    for (int i = 0; i < n; i++) {
        slow[i] = story_ask(w, TARGET_DEFAULT, 0);
        story_ask(w, TARGET_A, 0);
        story_ask(w, TARGET_B, 0);
        story_pass(w, 1000 / STORY_EACH_S);
    }
}

/* One of them has no leader, so no transaction apart can begin. The other one must not wait for it
   repeatedly. */
void slow_targets_share_while_brokers_hold_their_producer(struct world *w)
{
    enum { N = 60 * STORY_EACH_S, FIRST_N = 20 * STORY_EACH_S, LATE_MS = 2000 };
    struct request *slow[N];
    story_begin_exactly_once(w);
    w->setup.max_attempts = 50;
    story_open(w);
    w->targets[TARGET_A].ack_ms = w->targets[TARGET_DEFAULT].ack_ms = ACK_MS;
    ask_three(w, slow, LEARN_S * STORY_EACH_S);
    expect(w, counter_read(&story_owner(w, 0)->stats.targets_apart) == 2);
    for (int i = 0; i < TARGET_PARTITIONS; i++)
        world_take_leader(w, CHAINS_TARGETS + TARGET_A * TARGET_PARTITIONS + i, w->now_ms + 70000);
    ask_three(w, slow, N);
    story_pass(w, LATE_MS);
    expect(w, w->processes[0].apart_ready_ms > w->now_ms);
    for (int i = FIRST_N; i < N; i++)
        expect(w,
               slow[i]->delivered == 1 && slow[i]->finished_ms <= slow[i]->appended_ms + LATE_MS);
    story_finish(w);
}

/* Brings the transaction apart to a state: its record is in flight, it is complete, or its commit
   is under way. */
static struct request *reach(struct world *w, int state)
{
    struct process *p = story_owner(w, 0);
    w->knobs.refuse_apart = state == 1 ? 10000 : 0;
    w->knobs.hold_commits = state == 2;
    struct request *r = fly_apart(w);
    if (state == 1)
        story_until(w, p->apart_waits);
    if (state == 2)
        story_until(w, p->shared != NULL);
    return r;
}

static void release(struct world *w)
{
    w->knobs.refuse_apart = w->knobs.commit_fails = 0;
    w->knobs.hold_commits = w->knobs.lose_answers = false;
}

/* The cause is not known, and only shared transactions find it. */
void slow_targets_share_after_a_failure_in_their_turn(struct world *w)
{
    begin_with_a_slow_target(w);
    struct request *r = reach(w, 2);
    size_t apart_n = w->apart_n;
    w->knobs.commit_fails = 10000;
    w->knobs.hold_commits = false;
    story_until(w, COUNT(w, aborts) == 1);
    release(w);
    story_until(w, r->delivered == 1);
    expect(w, w->apart_n == apart_n);
    story_finish(w);
}

static void strike(struct world *w, int blow)
{
    switch (blow) {
    case 0:
        story_crash(w);
        release(w);
        process_start(w, 0);
        return;
    case 1:
        group_regroup(w);
        break;
    case 2:
        process_step_clock(&w->processes[0], -1500);
        break;
    case 3:
        w->knobs.commit_fails = 10000;
        break;
    case 4:
        w->knobs.lose_answers = true;
        break;
    default:
        process_stall(&w->processes[0], w->setup.session_ms - 1000);
    }
    w->knobs.hold_commits = false;
    story_pass(w, 300);
    if (blow == 2)
        process_step_clock(&w->processes[0], 1500);
    release(w);
}

/* Each blow comes in each state of the transaction. */
void no_blow_doubles_or_loses_a_record_of_a_slow_target(struct world *w)
{
    enum { STATES = 3, BLOWS = 6 };
    begin_with_a_slow_target(w);
    for (int i = 0; i < STATES * BLOWS; i++) {
        story_until(w, story_owner(w, 0) != NULL && !w->processes[0].restarting);
        learn(w);
        struct request *slow = reach(w, i % STATES), *good = story_ask(w, TARGET_B, 0);
        strike(w, i / STATES);
        story_until(w, slow->delivered == 1 && good->delivered == 1);
        story_pass(w, 12000); /* it is judged again */
    }
    story_finish(w);
}
