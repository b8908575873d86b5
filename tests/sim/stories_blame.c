/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of blame in exactly-once mode: the cause of a broken transaction is found, and other
   records wait only a moment. */
#include "tests/sim/producer.h"
#include "tests/sim/story.h"

enum { MANY = 8 };

static void expect_ends(struct world *w, struct request **of, int n, int delivered, int dead)
{
    for (int i = 0; i < n; i++)
        expect(w, of[i]->delivered == delivered && of[i]->dead == dead);
}

void too_large_breaks_one_transaction_and_is_tried_alone(struct world *w)
{
    struct request *good[MANY];
    story_begin_exactly_once(w);
    story_open(w);
    struct request *large = story_ask_large(w, 0, TARGET_BYTES_MAX + 1);
    for (int i = 0; i < MANY; i++)
        good[i] = story_ask(w, TARGET_A, 0);
    story_pass(w, 1000);
    expect(w, COUNT(w, aborts) == 2 && large->dead == 1 && COUNT(w, dead[CODE_TOO_LARGE]) == 1);
    expect_ends(w, good, MANY, 1, 0);
    struct request *next =
        story_ask_large(w, 0, TARGET_BYTES_MAX + 1); /* of a size that is known to be too large */
    good[0] = story_ask(w, TARGET_A, 0);
    story_pass(w, 1000);
    expect(w, COUNT(w, aborts) == 2 && next->dead == 1 && good[0]->delivered == 1);
    story_pass(w, 60 * 1000); /* the limit may have been raised meanwhile */
    next = story_ask_large(w, 0, TARGET_BYTES_MAX + 1);
    story_pass(w, 1000);
    expect(w, COUNT(w, aborts) == 3 && next->dead == 1);
    story_finish(w);
}

void target_that_stalls_a_transaction_is_deferred_within_seconds(struct world *w)
{
    struct request *good[MANY], *bad[MANY];
    story_begin_exactly_once(w);
    story_open(w);
    good[0] = story_ask(w, TARGET_B, 0);
    story_until(w, good[0]->delivered == 1);
    w->targets[TARGET_A].mood = TARGET_SLOW; /* not all of them are answered in time */
    for (int i = 0; i < MANY; i++) {
        good[i] = story_ask(w, TARGET_B, 0);
        bad[i] = story_ask(w, TARGET_A, 0);
    }
    story_pass(w, 4500);
    expect(w, COUNT(w, aborts) == 1 && COUNT(w, redeliveries) == 0);
    expect_ends(w, good, MANY, 1, 0);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_finish(w);
    expect_ends(w, bad, MANY, 1, 0);
}

/* Sends a record to each of two targets in one transaction. The second one answers. */
static void let_one_answer(struct world *w, struct request *r[2])
{
    story_begin_exactly_once(w);
    story_open(w);
    struct request *first[] = {story_ask(w, TARGET_A, 0), story_ask(w, TARGET_B, 0)};
    story_until(w, first[0]->delivered == 1 && first[1]->delivered == 1);
    size_t forwards = w->forwards;
    story_hold_landings(w);
    r[0] = story_ask(w, TARGET_A, 0);
    r[1] = story_ask(w, TARGET_B, 0);
    story_until(w, w->forwards == forwards + 2);
    struct process *p = story_owner(w, 0);
    story_pass(w, 1);
    w->knobs.hold_landings = false; /* nothing is armed for the other one */
    for (int i = 0; i < TARGET_PARTITIONS; i++)
        producer_arm(p->producer, CHAINS_TARGETS + TARGET_B * TARGET_PARTITIONS + i);
}

static void expect_no_blame_for_an_outage(struct world *w, int64_t for_ms)
{
    struct request *r[2];
    let_one_answer(w, r);
    story_pass(w, 50);
    w->outage_until = w->now_ms + for_ms;
    story_let_land(w);
    story_pass(w, for_ms);
    expect(w, r[0]->delivered == 0 && r[1]->delivered == 0);
    story_pass(w, 2000);
    expect(w, w->notices[NOTICE_TARGET_DOWN] == 0 && COUNT(w, deferrals) == 0);
    expect_ends(w, r, 2, 1, 0);
    story_finish(w);
}

void short_outage_within_a_transaction_closes_no_target(struct world *w)
{
    expect_no_blame_for_an_outage(w, 4500);
}

/* Longer than the timeout of a delivery. */
void long_outage_within_a_transaction_closes_no_target(struct world *w)
{
    expect_no_blame_for_an_outage(w, 8000);
}

/* One target answers, then the broker reads nothing for four seconds. */
void throttled_target_is_not_silent(struct world *w)
{
    struct request *r[2];
    let_one_answer(w, r);
    struct process *p = story_owner(w, 0);
    bridge_throttled(p->bridge, 4000);
    story_pass(w, 4000);
    expect(w, w->notices[NOTICE_THROTTLED] == 1 && COUNT(w, throttled_ms) == 4000);
    story_let_land(w);
    story_finish(w);
    expect(w, COUNT(w, aborts) == 0 && w->notices[NOTICE_TARGET_DOWN] == 0);
    expect_ends(w, r, 2, 1, 0);
}

void notes_of_many_records_survive_the_next_abort(struct world *w)
{
    struct request *large[MANY], *larger[MANY];
    story_begin_exactly_once(w);
    story_open(w);
    for (int i = 0; i < MANY; i++) {
        large[i] = story_ask_large(w, 0, TARGET_BYTES_MAX + 1);
        larger[i] = story_ask_large(w, 0, DEAD_BYTES_MAX + 1);
    }
    story_pass(w, 5000);
    expect_ends(w, large, MANY, 0, 1);
    expect_ends(w, larger, MANY, 0, 1);
    expect(w, COUNT(w, aborts) <=
                  1 + 3 * MANY); /* each alone, but only half of them fit in the notes */
    story_finish(w);
}

/* The level topics take smaller records than the schedule topic, because topics apply was not
   run. */
void more_records_that_fit_no_level_than_notes(struct world *w)
{
    enum { MORE = 300 };
    struct request *large[MORE];
    story_begin_exactly_once(w);
    story_open(w);
    for (int i = 0; i < MORE; i++)
        large[i] = story_ask_large(w, 20000, LEVEL_BYTES_MAX + 1);
    struct request *good = story_ask(w, TARGET_A, 20000);
    story_pass(w, 90000);
    expect_ends(w, large, MORE, 0, 1);
    expect(w, good->delivered == 1);
    story_finish(w);
}

/* A record that is alone in its transaction is in no batch with others. */
void suspect_that_was_too_large_in_a_batch_is_not_dead_lettered(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    struct request *r = story_ask(w, TARGET_A, 0);
    story_until(w, w->notices[NOTICE_TARGET_DOWN] == 1);
    w->targets[TARGET_A].mood = TARGET_FINE;
    w->knobs.batch = 10000;
    story_until(w, r->delivered == 1);
    expect(w, COUNT(w, dead[CODE_TOO_LARGE]) == 0);
    story_finish(w);
}

/* Records without a key are suspected first. They succeed in the transaction that it breaks. */
void keyed_record_that_is_refused_among_keyless_ones_is_tried_alone(struct world *w)
{
    struct ask ask = {.target = TARGET_A, .key = "k", .has_value = true, .value_len = 10};
    struct request *keyless[MANY];
    story_begin_exactly_once(w);
    w->setup.max_attempts = 2;
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_UNKEYED;
    w->knobs.report_ms = 200; /* so some succeed after its failure */
    struct request *bad = workload_send(w, &ask);
    for (int i = 0; i < MANY; i++)
        keyless[i] = story_ask(w, TARGET_A, 0);
    story_pass(w, 2000);
    expect(w, COUNT(w, redeliveries) == 1);
    expect(w, COUNT(w, aborts) <= 3); /* the last one of the record alone */
    expect_ends(w, keyless, MANY, 1, 0);
    story_until(w, bad->dead == 1);
    story_finish(w);
}

void refusing_target_makes_suspects_and_others_continue(struct world *w)
{
    struct request *bad[MANY], *good[MANY];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    for (int i = 0; i < MANY; i++) {
        bad[i] = story_ask(w, TARGET_A, 0);
        good[i] = story_ask(w, TARGET_B, 0);
    }
    story_pass(w, 1000);
    expect(w, COUNT(w, aborts) == 2); /* one of all together, one of the bad record alone */
    expect_ends(w, good, MANY, 1, 0);
    expect_ends(w, bad, MANY, 0, 0);
    expect(w, story_committed(w, -1, 0)->base == 2 * MANY); /* they wait in a level */
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_finish(w);
    expect_ends(w, bad, MANY, 1, 0);
}

/* The failure is reported, and a turn passes before the port reports the broken transaction. */
static void fail_alone_and_wait(struct world *w)
{
    struct process *p = &w->processes[0];
    story_until(w, !p->producer->torn);
    w->knobs.turn_ms = 4000;
    story_until(w, p->producer->torn && p->producer->unreported == 0);
    w->knobs.turn_ms = 0;
    process_turn_by(p, w->now_ms);
}

void record_that_failed_alone_uses_up_one_attempt(struct world *w)
{
    story_begin_exactly_once(w);
    w->setup.max_attempts = 2;
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    struct request *r = story_ask(w, TARGET_A, 0);
    story_until(w, COUNT(w, aborts) == 1);
    w->targets[TARGET_A].mood =
        TARGET_AWAY; /* the client names the target, and the bridge closes it */
    fail_alone_and_wait(w);
    story_until(w, COUNT(w, aborts) == 2);
    story_pass(w, 500);
    expect(w, COUNT(w, redeliveries) == 1 && r->dead == 0);
    story_finish(w);
    expect(w, r->delivered == 1);
}

void silent_target_breaks_one_transaction_and_is_deferred(struct world *w)
{
    struct request *bad[MANY], *good[MANY];
    story_begin_exactly_once(w);
    story_open(w);
    w->knobs.timed_out = 10000;
    struct request *first = story_ask(w, TARGET_A, 0);
    story_until(w, w->forwards == 1);
    w->knobs.timed_out = 0;
    for (int i = 0; i < MANY; i++) {
        bad[i] = story_ask(w, TARGET_A, 0);
        good[i] = story_ask(w, TARGET_B, 0);
    }
    story_pass(w, 7000);
    expect(w, COUNT(w, aborts) == 1);
    expect_ends(w, good, MANY, 1, 0);
    story_finish(w);
    expect_ends(w, bad, MANY, 1, 0);
    expect(w, first->delivered == 1);
}

/* The target answers sometimes in time and sometimes not, so each of its transactions may last for
   5 s. */
void slow_target_stalls_other_targets_ever_more_rarely(struct world *w)
{
    enum { SECONDS = 60, WAITS_MAX = 4, LONGEST = 9 };
    struct request *good[SECONDS];
    int waits = 0;
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_SLOW;
    for (int i = 0; i < SECONDS; i++) {
        good[i] = story_ask(w, TARGET_B, 0);
        story_ask(w, TARGET_A, 0);
        story_pass(w, 1000);
        waits += good[i]->delivered == 0 && (i == 0 || good[i - 1]->delivered == 1);
        expect(w, i < LONGEST || good[i - LONGEST]->delivered == 1);
    }
    expect(w, waits <= WAITS_MAX);
    story_finish(w);
}

/* The brokers cannot end a transaction that includes a partition without a leader. */
void target_that_blocks_one_producer_is_not_tried_on_the_last(struct world *w)
{
    enum { SECONDS = 60 };
    struct request *good[SECONDS], *bad[SECONDS];
    story_begin_exactly_once(w);
    story_open(w);
    w->knobs.hold_fences = true;
    w->targets[TARGET_A].mood = TARGET_SLOW;
    for (int i = 0; i < SECONDS; i++) {
        good[i] = story_ask(w, TARGET_B, 0);
        bad[i] = story_ask(w, TARGET_A, 0);
        story_pass(w, 1000);
    }
    expect(w, COUNT(w, aborts) == 1);
    expect_ends(w, good, SECONDS, 1, 0);
    w->knobs.hold_fences = false;
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_finish(w);
    expect_ends(w, bad, SECONDS, 1, 0);
}

/* A broker dies. One target has a partition only there, and another one has replicas elsewhere. */
void target_that_is_whole_again_is_tried_on_the_last_producer(struct world *w)
{
    enum { AT_ONCE = 20, SECONDS = 90, LONGEST = 45 };
    struct request *moved[SECONDS], *bad[SECONDS];
    story_begin_exactly_once(w);
    story_open(w);
    w->knobs.hold_fences = true;
    w->targets[TARGET_A].mood = w->targets[TARGET_B].mood = TARGET_SLOW;
    for (int i = 0; i < AT_ONCE; i++) {
        moved[i] = story_ask(w, TARGET_B, 0);
        bad[i] = story_ask(w, TARGET_A, 0);
    }
    story_until(w, COUNT(w, aborts) == 1);
    w->targets[TARGET_B].mood = TARGET_FINE;
    for (int i = AT_ONCE; i < SECONDS; i++) {
        moved[i] = story_ask(w, TARGET_B, 0);
        bad[i] = story_ask(w, TARGET_A, 0);
        story_pass(w, 1000);
    }
    expect(w, COUNT(w, aborts) == 1);
    expect_ends(w, moved, SECONDS - LONGEST, 1, 0);
    expect_ends(w, bad, SECONDS, 0, 0);
    w->knobs.hold_fences = false;
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_finish(w);
    expect_ends(w, bad, SECONDS, 1, 0);
}

static struct request *ask_with_key(struct world *w)
{
    struct ask ask = {.target = TARGET_A, .key = "k", .has_value = true, .value_len = 10};
    return workload_send(w, &ask);
}

/* The first record fails in a batch and alone. Then the bridge knows this target for a minute. */
void record_refused_without_a_key_is_not_tried_in_a_batch_again(struct world *w)
{
    enum { SECONDS = 50 };
    struct request *good[SECONDS], *keyed[SECONDS];
    story_begin_exactly_once(w);
    w->setup.max_attempts = 3;
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_KEYED;
    for (int i = 0; i < SECONDS; i++) {
        good[i] = story_ask(w, TARGET_B, 0);
        keyed[i] = ask_with_key(w);
        story_ask(w, TARGET_A, 0);
        story_pass(w, 1000);
        expect(w, good[i]->delivered == 1 && keyed[i]->delivered == 1);
    }
    expect(w, COUNT(w, aborts) == 2);
    story_pass(w, 20000);
    expect(w, COUNT(w, dead[CODE_TARGET_FAILED]) == SECONDS);
    story_finish(w);
}

static void take_leader_of_level(struct world *w, int lane, int64_t for_ms)
{
    int topic = w->processes[0].topic_of_slot[1];
    world_take_leader(w, topic * LANES_MAX + lane, w->now_ms + for_ms);
}

/* Two lanes; for a minute lane 0 has no leader of its first level. */
static void hop_in_both_lanes(struct world *w, struct request **held, struct request **good, int n)
{
    for (int i = 0; i < n; i++) {
        held[i] = story_ask_lane(w, 0, TARGET_A, 3000);
        good[i] = story_ask_lane(w, 1, TARGET_A, 3000);
        story_pass(w, 1000);
    }
    story_pass(w, 4000);
}

void a_level_without_a_leader_blocks_its_lane_alone(struct world *w)
{
    enum { SECONDS = 20 };
    struct request *good[SECONDS], *held[SECONDS];
    story_begin_exactly_once(w);
    w->setup.lanes = 2;
    story_open(w);
    take_leader_of_level(w, 0, 60000);
    hop_in_both_lanes(w, held, good, SECONDS);
    expect(w, COUNT(w, aborts) == 0 && w->notices[NOTICE_OUTLET_DOWN] == 1);
    expect_ends(w, good, SECONDS, 1, 0);
    expect_ends(w, held + 1, SECONDS - 1, 0, 0); /* the first one fell due in memory */
    story_until(w, w->notices[NOTICE_OUTLET_UP] == 1);
    story_finish(w);
    expect_ends(w, held, SECONDS, 1, 0);
}

/* The transaction of that level is blocked. The other producer continues without the lane. */
void a_level_that_loses_its_leader_breaks_one_transaction(struct world *w)
{
    enum { SECONDS = 40, STALL = 12 };
    struct request *good[SECONDS], *held[SECONDS];
    story_begin_exactly_once(w);
    w->setup.lanes = 2;
    story_open(w);
    hop_in_both_lanes(w, held, good, 1);
    take_leader_of_level(w, 0, 90000);
    hop_in_both_lanes(w, held, good, SECONDS);
    expect(w, COUNT(w, aborts) == 1);
    expect_ends(w, good, SECONDS, 1, 0);
    for (int i = STALL; i < SECONDS; i++)
        expect(w, good[i]->finished_ms < good[i]->due_ms + 1000);
    story_finish(w);
    expect_ends(w, held, SECONDS, 1, 0);
}

/* A level loses its leader before it has the marker of a transaction, so that the next transaction
   of the same client is refused. */
void doubted_leaders_are_looked_up_before_the_next_record(struct world *w)
{
    enum { SECONDS = 10 };
    struct request *good[SECONDS], *held[SECONDS], *to_target;
    story_begin_exactly_once(w);
    w->setup.lanes = 2;
    story_open(w);
    to_target = story_ask(w, TARGET_B, 0);
    story_until(w, to_target->delivered == 1);
    w->knobs.hold_marks = true;
    struct request *unmarked = story_ask_lane(w, 0, TARGET_A, 3000);
    story_pass(w, 1000);
    take_leader_of_level(w, 0, 60000);
    for (int n = 0; n < TARGET_PARTITIONS; n++)
        world_take_leader(w, CHAINS_TARGETS + TARGET_B * TARGET_PARTITIONS + n, w->now_ms + 60000);
    w->knobs.hold_marks = false;
    for (int i = 0; i < SECONDS && COUNT(w, aborts) == 0; i++) {
        story_ask_lane(w, 1, TARGET_A, 0);
        story_pass(w, 1000);
    }
    expect(w, COUNT(w, aborts) == 1);
    to_target = story_ask_lane(w, 1, TARGET_B, 0);
    hop_in_both_lanes(w, held, good, SECONDS);
    expect(w, COUNT(w, aborts) == 1 && w->notices[NOTICE_OUTLET_DOWN] == 1);
    expect(w, to_target->delivered == 0);
    expect_ends(w, good, SECONDS, 1, 0);
    story_finish(w);
    expect_ends(w, held, SECONDS, 1, 0);
    expect(w, to_target->delivered == 1 && unmarked->delivered == 1);
}

/* With at-least-once, records to the level stay in flight until the leader is back. */
void silent_level_is_reported_and_blocks_its_lane_alone(struct world *w)
{
    enum { SECONDS = 20 };
    struct request *good[SECONDS], *held[SECONDS];
    story_begin(w);
    w->setup.lanes = 2;
    story_open(w);
    take_leader_of_level(w, 0, 60000);
    hop_in_both_lanes(w, held, good, SECONDS);
    expect(w, w->notices[NOTICE_OUTLET_DOWN] == 1 && w->notices[NOTICE_OUTLET_UP] == 0);
    expect_ends(w, good, SECONDS, 1, 0);
    expect_ends(w, held, SECONDS, 0, 0);
    story_until(w, w->notices[NOTICE_OUTLET_UP] == 1);
    story_finish(w);
    expect_ends(w, held, SECONDS, 1, 0);
}

/* Without a share, requests of the lane would use up the memory of all others. */
void silent_level_takes_a_share_of_the_budget(struct world *w)
{
    enum { SECONDS = 12, EACH = 10, SOON = 4, BUDGET = 128 << 10 };
    story_begin(w);
    w->setup.memory_bytes = BUDGET;
    w->setup.lanes = 2;
    story_open(w);
    take_leader_of_level(w, 0, 60000);
    for (int i = 0; i < SECONDS * EACH; i++) {
        story_ask_lane(w, 0, TARGET_A, 3000);
        story_pass(w, 1000 / EACH);
    }
    expect(w, COUNT(w, buffered_records) <= (SOON + 2) * EACH);
    story_finish(w);
}

/* Sends a stream of requests to a lane. Its level, or its partition of events, refuses each record.
 */
static void refuse_a_stream(struct world *w, bool events, int64_t delay_ms)
{
    enum { SECONDS = 12, EACH = 10, SOON = 4, BUDGET = 128 << 10 };
    w->setup.memory_bytes = BUDGET;
    w->setup.lanes = 2;
    story_open(w);
    int chain = events ? CHAINS_EVENTS : w->processes[0].topic_of_slot[1] * LANES_MAX;
    w->refuses[chain] = true;
    for (int i = 0; i < SECONDS * EACH; i++) {
        story_ask_lane(w, 0, TARGET_A, delay_ms);
        story_ask_lane(w, 1, TARGET_B, 0);
        story_pass(w, 1000 / EACH);
    }
    expect(w, w->notices[NOTICE_OUTLET_DOWN] == 1 && w->notices[NOTICE_OUTLET_UP] == 0);
    expect(w, COUNT(w, buffered_records) <= (SOON + 2) * EACH);
    w->refuses[chain] = false;
    story_until(w, w->notices[NOTICE_OUTLET_UP] == 1);
    story_finish(w);
}

void level_that_refuses_takes_a_share_of_the_budget(struct world *w)
{
    story_begin(w);
    refuse_a_stream(w, false, 3000);
}

void topic_of_events_that_refuses_takes_a_share_of_the_budget(struct world *w)
{
    story_begin(w);
    w->setup.events = EVENT_BIT(EVENT_DELIVERED);
    refuse_a_stream(w, true, 0);
}

/* The broker of that level throttles for seven seconds, by many short throttles. */
void a_level_behind_a_series_of_throttles_is_not_closed(struct world *w)
{
    enum { SECONDS = 7, THROTTLE_MS = 1500 };
    struct request *held[SECONDS];
    story_begin(w);
    w->setup.lanes = 2;
    story_open(w);
    take_leader_of_level(w, 0, SECONDS * 1000);
    for (int i = 0; i < SECONDS; i++) {
        held[i] = story_ask_lane(w, 0, TARGET_A, 3000);
        story_ask_lane(w, 1, TARGET_A, 3000);
        bridge_throttled(w->processes[0].bridge, THROTTLE_MS);
        story_pass(w, 1000);
    }
    expect(w, w->notices[NOTICE_OUTLET_DOWN] == 0);
    story_finish(w);
    expect_ends(w, held, SECONDS, 1, 0);
}

/* The transaction has no other record, so nothing is acknowledged, as if Kafka were away. */
void lone_record_to_a_target_without_a_leader_blocks_one_producer(struct world *w)
{
    enum { SECONDS = 60, STALL = 15 };
    struct request *good[SECONDS], *bad;
    story_begin_exactly_once(w);
    story_open(w);
    bad = story_ask(w, TARGET_A, 0);
    story_until(w, bad->delivered == 1);
    for (int n = 0; n < TARGET_PARTITIONS; n++)
        world_take_leader(w, CHAINS_TARGETS + TARGET_A * TARGET_PARTITIONS + n, w->now_ms + 90000);
    bad = story_ask(w, TARGET_A, 0);
    story_pass(w, 100);
    for (int i = 0; i < SECONDS; i++) {
        good[i] = story_ask(w, TARGET_B, 0);
        story_pass(w, 1000);
        expect(w, i < STALL || good[i]->delivered == 1);
    }
    expect(w, COUNT(w, aborts) == 1 && bad->delivered == 0);
    story_finish(w);
    expect(w, bad->delivered == 1);
}

/* The other partitions of the target answer after its timeout, in the same transaction. */
void a_target_with_a_partition_without_a_leader_stays_doubted(struct world *w)
{
    enum { N = 2 * TARGET_PARTITIONS, TIMEOUT_MS = 5000 };
    struct request *asked[N];
    story_begin_exactly_once(w);
    story_open(w);
    asked[0] = story_ask(w, TARGET_A, 0);
    story_until(w, asked[0]->delivered == 1);
    story_pass(w, 1000);
    world_take_leader(w, CHAINS_TARGETS + TARGET_A * TARGET_PARTITIONS, w->now_ms + 90000);
    story_hold_landings(w);
    for (size_t i = 0; i < N; i++) /* the size chooses the partition */
        asked[i] = story_ask_large(w, 0, 300 + i);
    story_until(w, w->forwards > N);
    story_pass(w, TIMEOUT_MS - 1);
    w->knobs.report_ms = 20; /* some of the others are reported after the timeout */
    story_let_land(w);
    story_pass(w, 0);
    w->knobs.report_ms = 0;
    story_until(w, COUNT(w, aborts) == 1);
    story_pass(w, 30000); /* the simulator fails if a second record goes to that partition */
    story_finish(w);
    for (int i = 0; i < N; i++)
        expect(w, asked[i]->delivered == 1);
}

void clock_step_back_aborts_the_transaction(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    struct process *p = &w->processes[0];
    struct request *flies = story_ask(w, TARGET_A, 0), *waits = story_ask(w, TARGET_A, 900);
    story_hold_landings(w);
    story_until(w, w->forwards == 1);
    process_step_clock(p, -10000);
    story_until(w, COUNT(w, aborts) == 1 && p->lanes[0].epoch == 2);
    story_let_land(w);
    story_pass(w, 1000);
    expect(w, COUNT(w, buffered_records) == 0 &&
                  COUNT(w, hops) == 2); /* by that clock, neither is due */
    story_finish(w);
    expect(w, flies->delivered == 1 && waits->delivered == 1);
}

void clock_step_back_after_a_lone_failure_rereads(struct world *w)
{
    story_begin_exactly_once(w);
    story_open(w);
    struct process *p = &w->processes[0];
    story_ask_large(w, 0, TARGET_BYTES_MAX + 1);
    story_until(w, COUNT(w, aborts) == 1);
    struct request *waits = story_ask(w, TARGET_A, 900);
    fail_alone_and_wait(w);
    process_step_clock(p, -10000);
    story_until(w, COUNT(w, aborts) == 2);
    story_until(w, p->lanes[0].epoch == 3);
    story_pass(w, 1000);
    expect(w, COUNT(w, buffered_records) == 0);
    story_finish(w);
    expect(w, waits->delivered == 1);
}
