/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of the life of cancels: they survive their owner, and die when no record is left that
   they could void. */
#include "tests/sim/producer.h"
#include "tests/sim/story_cancel.h"

/* The cancel comes while no process runs, and its request is due before one does. */
void cancels_on_the_schedule_topic_come_before_the_first_delivery(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *waiting = ask_named(w, "k", NULL, 4000);
    story_pass(w, 1000);
    story_crash(w);
    struct request *due = ask_named(w, "due", NULL, 0);
    for (int i = 0; i < 300; i++)
        story_ask(w, TARGET_B, 0);
    cancel_of(w, "k", NULL);
    cancel_of(w, "due", NULL);
    story_restart(w);
    story_pass(w, 5000);
    expect(w, waiting->voided > 0 && due->voided > 0);
    expect(w, waiting->delivered == 0 && due->delivered == 0);
    story_finish(w);
}

static void survive(struct world *w)
{
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 25000);
    cancel_of(w, "k", NULL);
    story_pass(w, 500);
    expect(w, COUNT(w, cancels) == 1);
    for (int i = 0; i < 2; i++) {
        story_crash(w);
        story_restart(w);
    }
    story_pass(w, 30000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

void cancels_survive_their_owner(struct world *w)
{
    story_begin_cancels(w);
    survive(w);
}

void cancels_survive_their_owner_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    survive(w);
}

/* The client has read further than the lane. Records that it has at hand come after the seek, and
   the gap before them is none. */
void requests_are_read_again_after_a_restore(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    story_pass(w, 500);
    story_crash(w);
    struct request *first = story_ask(w, TARGET_A, 0);
    world_take_leader(w, TOPIC_SCHEDULE * LANES_MAX, w->now_ms + 1000);
    story_restart(w);
    story_pass(w, 500);
    for (int i = 0; i < 20; i++)
        story_ask(w, TARGET_B, 0);
    w->knobs.ahead_after_seek = 10000;
    story_until(w, COUNT(w, lanes_restoring) == 0);
    w->knobs.ahead_after_seek = 0;
    story_pass(w, 3000);
    expect(w, first->delivered == 1);
    story_finish(w);
}

static void drain_table(struct world *w)
{
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 7000);
    struct request *hops = ask_named(w, "other", NULL, 7000);
    story_pass(w, 1000);
    for (int i = 0; i < 5; i++)
        cancel_of(w, name_of(w, i), NULL);
    cancel_of(w, "k", NULL);
    story_pass(w, 500);
    expect(w, counter_read(&story_owner(w, 0)->stats.cancel_entries) == 6);
    story_pass(w, 10000);
    expect(w, r->voided > 0 && hops->delivered == 1);
    story_pass(w, 15000);
    expect(w, counter_read(&story_owner(w, 0)->stats.cancel_entries) == 0);
    expect(w, w->cancels_trimmed > 0 && story_cancels(w)->start > 0);
    int64_t end = story_cancels(w)->end;
    story_pass(w, 5000); /* a lane without cancels writes no seal */
    expect(w, story_cancels(w)->end == end);
    story_finish(w);
}

void a_drained_lane_empties_its_table(struct world *w)
{
    story_begin_cancels(w);
    drain_table(w);
}

void a_drained_lane_empties_its_table_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    drain_table(w);
}

/* The marker of a producer's transaction is the end of the schedule topic. No commit is above it
   before the next request. */
void a_marker_at_the_end_of_the_schedule_topic_keeps_no_cancel(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 3000);
    cancel_of(w, "k", NULL);
    story_pass(w, 1000);
    w->broker.logs[TOPIC_SCHEDULE][0].end++;
    story_crash(w);
    story_restart(w);
    story_pass(w, 1000);
    expect(w, counter_read(&story_owner(w, 0)->stats.cancel_entries) == 1);
    story_pass(w, 20000);
    expect(w, counter_read(&story_owner(w, 0)->stats.cancel_entries) == 0 && r->voided > 0);
    story_finish(w);
}

/* Other records pass, and other cancels come and die meanwhile. */
static void outlive_seals(struct world *w)
{
    story_open(w);
    struct request *waiting = ask_named(w, "k", NULL, 58000);
    story_pass(w, 1000);
    cancel_of(w, "k", NULL);
    for (int i = 0; i < 30; i++) {
        ask_named(w, name_of(w, i), NULL, 1500);
        cancel_of(w, name_of(w, i), NULL);
        story_ask(w, TARGET_B, 1500);
        story_pass(w, 1000);
    }
    story_crash(w);
    story_restart(w);
    story_pass(w, 35000);
    expect(w, waiting->voided > 0 && waiting->delivered == 0);
    story_finish(w);
}

void a_waiting_record_keeps_its_cancel_in_force(struct world *w)
{
    story_begin_cancels(w);
    outlive_seals(w);
}

void a_waiting_record_keeps_its_cancel_in_force_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    outlive_seals(w);
}

/* A level that is not read keeps all cancels of its lane. */
void a_blocked_level_keeps_cancels_in_force(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 4000);
    story_pass(w, 500);
    int topic = w->processes[0].topic_of_slot[1];
    struct log *level = &w->broker.logs[topic][0];
    struct entry *bad = workload_unreadable(w, topic, 0, 2);
    struct request *behind = ask_named(w, "k", NULL, 4000);
    story_pass(w, 1500);
    cancel_of(w, "k", NULL);
    story_pass(w, 25000);
    expect(w, level->end > bad->offset && COUNT(w, cancel_entries) > 0);
    expect(w, r->delivered == 0 && behind->delivered == 0);
    w->setup.skip_unreadable = true;
    story_crash(w);
    story_restart(w);
    story_pass(w, 20000);
    expect(w, r->voided > 0 && behind->voided > 0);
    story_finish(w);
}

/* An operator deletes the records of a level. Its owner has read one of them and still forwards it.
 */
void a_deleted_record_in_memory_keeps_its_cancel_in_force(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 31000);
    struct request *other = ask_named(w, "other", NULL, 31000);
    story_pass(w, 500);
    int topic = w->processes[0].topic_of_slot[3];
    oracle_truncate(w, topic, 0, w->broker.logs[topic][0].end);
    cancel_of(w, "k", NULL);
    story_pass(w, 29000);
    expect(w, COUNT(w, cancel_entries) == 1);
    story_pass(w, 20000);
    expect(w, r->delivered == 0 && other->delivered <= 1);
    expect(w, COUNT(w, cancel_entries) == 0);
    story_finish(w);
}

/* The position of its level moves beyond it. */
void a_record_in_memory_that_the_log_start_has_passed_keeps_its_cancel(struct world *w)
{
    story_begin_cancels(w);
    w->setup.hold_ms = 30000;
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 57000);
    story_pass(w, 8000);
    ask_named(w, "other", NULL, 57000);
    story_pass(w, 25000);
    expect(w, COUNT(w, kept_records) == 1);
    cancel_of(w, "k", NULL);
    oracle_truncate(w, w->processes[0].topic_of_slot[3], 0, 2);
    story_pass(w, 10000);
    expect(w, story_committed(w, 2, 0)->base == 2);
    story_pass(w, 20000);
    expect(w, r->delivered == 0 && COUNT(w, cancelled) == 1);
    story_pass(w, 20000);
    expect(w, COUNT(w, cancel_entries) == 0);
    story_finish(w);
}

/* No record is fetched for more than ten seals, and then the owner dies. The next one needs the
   entry of a cancel that is done, because a request before it is not. */
static void leave_unread(struct world *w, struct request *r)
{
    w->knobs.hold_fetches = true;
    story_until(w, COUNT(w, lanes_restoring) == 0);
    story_pass(w, 15000);
    expect(w, story_cancels(w)->n > 10 && r->voided == 0);
    story_crash(w);
    w->knobs.hold_fetches = false;
    story_restart(w);
    story_pass(w, 30000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

/* The new owner of a lane has read less of the schedule topic than the earlier one. */
void a_schedule_topic_that_is_not_read_keeps_cancels_in_force(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    story_pass(w, 500);
    int topic = w->processes[0].topic_of_slot[2];
    world_take_leader(w, topic * LANES_MAX, w->now_ms + 3000);
    struct request *r = ask_named(w, "k", NULL, 20000);
    story_pass(w, 100);
    struct request *c = cancel_of(w, "k", NULL);
    story_pass(w, 500);
    expect(w, committed_covers(story_committed(w, -1, 0), c->offset) && r->voided == 0);
    story_crash(w);
    w->knobs.hold_fetches = true;
    story_restart(w);
    leave_unread(w, r);
}

void a_lane_that_is_read_again_keeps_cancels_in_force(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    story_pass(w, 500);
    struct request *r = ask_named(w, "k", NULL, 900);
    struct request *c = cancel_of(w, "k", NULL);
    story_pass(w, 500);
    expect(w, committed_covers(story_committed(w, -1, 0), c->offset) && r->voided == 0);
    w->knobs.hold_fetches = true;
    process_step_clock(&w->processes[0], -5000);
    story_until(w, w->notices[NOTICE_CLOCK_BACK] == 1);
    leave_unread(w, r);
}

/* The position of a level goes back, because its topic was created again. */
void a_position_that_goes_back_keeps_cancels_in_force(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    int topic = w->processes[0].topic_of_slot[3];
    struct log *level = &w->broker.logs[topic][0];
    for (int i = 0; i < 30; i++)
        story_ask(w, TARGET_B, 31000);
    story_pass(w, 33000);
    cancel_of(w, "another", NULL);
    story_pass(w, 3000);
    expect(w, story_committed(w, 2, 0)->base == 30);
    level->n = level->stable_n = 0;
    level->start = level->end = level->read_end = 0;
    w->broker.committed[topic][0] = NULL;
    story_regroup(w);
    struct request *r = ask_named(w, "k", NULL, 31000);
    story_pass(w, 500);
    expect(w, level->n == 1);
    cancel_of(w, "k", NULL);
    story_pass(w, 40000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

/* The first owner of lane 0 loses it, and no broker hears its producer for cut_ms. The next owner
   drops the request, and the hop of the first one is still on its way. */
static struct request *leave_hop(struct world *w, int64_t cut_ms)
{
    struct process *old = story_owner(w, 0);
    old->producer->cut_until_ms = w->now_ms + cut_ms;
    struct request *r = ask_named(w, "k", NULL, 60000);
    story_pass(w, 300);
    member_isolate(old, 30000);
    member_expel(w, old->id);
    story_until(w, !old->lanes[0].owned);
    cancel_of(w, "k", NULL);
    group_regroup(w);
    story_until(w, story_owner(w, 0) != NULL && story_owner(w, 0) != old);
    story_pass(w, 500);
    expect(w, COUNT(w, cancelled) == 1);
    return r;
}

static void begin_two(struct world *w)
{
    story_begin_cancels(w);
    w->setup.processes = 2;
    story_open(w);
    story_pass(w, 500);
}

/* It would be stored behind the ends of ten seals. */
void a_hop_in_flight_is_given_up_before_five_seals(struct world *w)
{
    begin_two(w);
    struct request *r = leave_hop(w, 20000);
    story_pass(w, 85000);
    expect(w, r->delivered == 0 && story_level(w, 2, 0)->n == 0);
    story_finish(w);
}

/* It is stored after the first seal, just before its client gives it up. */
void a_hop_that_is_stored_behind_a_seal_is_void(struct world *w)
{
    begin_two(w);
    struct request *r = leave_hop(w, 1900);
    story_pass(w, 85000);
    expect(w, r->delivered == 0 && story_level(w, 2, 0)->n == 1);
    story_finish(w);
}

static void send_cancels(struct world *w, int n)
{
    for (int i = 0; i < n; i++) {
        cancel_of(w, name_of(w, i), NULL);
        story_pass(w, 200);
    }
}

/* The hop is stored when the seal after the cancel has passed. The next owner dies then. */
void a_topic_of_cancels_is_trimmed_to_the_fifth_seal_before(struct world *w)
{
    begin_two(w);
    send_cancels(w, 50);
    struct request *r = leave_hop(w, 1900);
    expect(w, w->cancels_trimmed > 0);
    send_cancels(w, 15);
    process_crash(&w->processes[0]);
    process_crash(&w->processes[1]);
    story_pass(w, w->setup.session_ms + 100);
    process_start(w, 1);
    story_pass(w, 85000);
    expect(w, r->delivered == 0 && story_level(w, 2, 0)->n == 1);
    process_start(w, 0);
    story_finish(w);
}

/* A killed owner leaves a transaction with an entry. The next one waits for its end. */
void a_transaction_of_a_killed_owner_holds_the_restore(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    w->setup.producers_have_names = false;
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 20000);
    story_pass(w, 1000);
    w->knobs.hold_commits = true;
    cancel_of(w, "k", NULL);
    story_pass(w, 300);
    story_crash(w);
    w->knobs.hold_commits = false;
    story_restart(w);
    story_pass(w, 40000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

/* The group has the offsets of a transaction before the topic of cancels has its marker. */
void an_entry_without_its_marker_is_awaited(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    w->setup.producers_have_names = false;
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 20000);
    story_pass(w, 1000);
    w->knobs.cancels_mark_ms = 10000;
    struct request *c = cancel_of(w, "k", NULL);
    story_until(w, c->finished);
    w->knobs.cancels_mark_ms = 0;
    story_crash(w);
    story_restart(w);
    story_pass(w, 40000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

/* The first owner leaves a transaction with a hop. Until its end, records behind it cannot be read
   from the level, and neither are they below its last stable offset. */
void a_record_behind_an_open_transaction_keeps_its_cancel(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    w->setup.producers_have_names = false;
    w->setup.seal_ms = 300;
    story_open(w);
    story_pass(w, 500);
    w->knobs.hold_commits = true;
    struct request *r = ask_named(w, "k", NULL, 50000);
    story_pass(w, 700); /* its hop is stored, and not committed */
    w->knobs.commit_fails = 10000;
    w->knobs.hold_commits = false;
    process_crash(&w->processes[0]);
    story_pass(w, 20);
    w->knobs.commit_fails = 0;
    w->ghosts_until = 0; /* the group does not wait for the one that died */
    story_restart(w);
    story_pass(w, 600); /* its successor stores another one behind it */
    cancel_of(w, "k", NULL);
    story_pass(w, 60000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

/* The partition has no leader while it is read, and the lane goes to another process. */
void a_lane_that_is_lost_while_it_loads_is_restored_again(struct world *w)
{
    story_begin_cancels(w);
    w->setup.processes = 2;
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 20000);
    cancel_of(w, "k", NULL);
    story_pass(w, 1000);
    world_take_leader(w, TOPIC_CANCELS * LANES_MAX, w->now_ms + 6000);
    for (int i = 0; i < 3; i++) {
        story_regroup(w);
        expect(w, counter_read(&story_owner(w, 0)->stats.lanes_restoring) == 1);
    }
    story_pass(w, 30000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

/* Another owner has trimmed the log below the position of the load. */
void a_load_continues_at_the_start_of_a_trimmed_log(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 20000);
    for (int i = 0; i < 50; i++)
        cancel_of(w, name_of(w, i), NULL);
    cancel_of(w, "k", NULL);
    story_pass(w, 1000);
    story_crash(w);
    world_take_leader(w, TOPIC_CANCELS * LANES_MAX, w->now_ms + 3000);
    story_restart(w);
    story_pass(w, 500);
    story_cancels(w)->start = 30;
    story_pass(w, 30000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

void a_restore_grows_the_table_beyond_its_limit(struct world *w)
{
    struct request *asked[40];
    story_begin_cancels(w);
    story_open(w);
    for (int i = 0; i < 40; i++) {
        asked[i] = ask_named(w, name_of(w, i), NULL, 20000);
        cancel_of(w, name_of(w, i), NULL);
    }
    story_pass(w, 1000);
    story_crash(w);
    w->setup.cancel_memory = 16 * 5;
    story_restart(w);
    story_pass(w, 30000);
    expect(w, w->notices[NOTICE_CANCELS_GREW] > 0);
    for (int i = 0; i < 40; i++)
        expect(w, asked[i]->voided > 0 && asked[i]->delivered == 0);
    story_finish(w);
}

/* A cancel of the old topic would void each request of the new one up to its offset. */
void cancels_of_a_recreated_schedule_topic_void_nothing(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    for (int i = 0; i < 30; i++)
        story_ask(w, TARGET_B, 0);
    cancel_of(w, "k", NULL);
    story_pass(w, 2000);
    story_crash(w);
    recreate_schedule(w);
    struct request *r = ask_named(w, "k", NULL, 2000);
    story_restart(w);
    story_pass(w, 5000);
    expect(w, w->notices[NOTICE_LOG_REPLACED] == 1 && r->delivered == 1);
    story_crash(w); /* the cut holds */
    for (int i = 0; i < 60; i++)
        story_ask(w, TARGET_B, 0);
    struct request *again = ask_named(w, "k", NULL, 2000);
    story_restart(w);
    story_pass(w, 5000);
    expect(w, w->notices[NOTICE_LOG_REPLACED] == 1 && again->delivered == 1);
    story_finish(w);
}

/* The first owner loses the lane before its cut is stored. The second one writes another, and a
   cancel. */
void a_late_cut_forgets_no_cancel(struct world *w)
{
    story_begin_cancels(w);
    w->setup.processes = 2;
    story_open(w);
    for (int i = 0; i < 30; i++)
        story_ask(w, TARGET_B, 0);
    cancel_of(w, "k", NULL);
    story_pass(w, 2000);
    process_crash(&w->processes[1]);
    story_crash(w);
    recreate_schedule(w);
    for (int i = 0; i < 40; i++) /* one of them has the offset of the cancel */
        story_ask(w, TARGET_B, 0);
    process_start(w, 0);
    w->processes[0].producer->cut_until_ms = w->now_ms + 1900;
    story_until(w, w->notices[NOTICE_LOG_REPLACED] == 1);
    process_start(w, 1);
    story_pass(w, 20);
    member_isolate(&w->processes[0], 5000);
    member_expel(w, 0);
    group_regroup(w);
    story_until(w, story_owner(w, 0) == &w->processes[1]);
    struct request *r = ask_named(w, "k", NULL, 20000);
    story_pass(w, 200);
    cancel_of(w, "k", NULL);
    story_pass(w, 2500);
    expect(w, w->notices[NOTICE_LOG_REPLACED] == 2);
    process_crash(&w->processes[1]);
    story_crash(w);
    story_restart(w);
    story_pass(w, 30000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

void a_recreated_schedule_topic_is_recognized_by_another_record(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    for (int i = 0; i < 30; i++)
        story_ask(w, TARGET_B, 0);
    cancel_of(w, "k", NULL);
    story_pass(w, 2000);
    story_crash(w);
    recreate_schedule(w);
    struct request *r = ask_named(w, "k", NULL, 2000);
    for (int i = 0; i < 40; i++)
        story_ask(w, TARGET_B, 0);
    story_restart(w);
    story_pass(w, 5000);
    expect(w, w->notices[NOTICE_LOG_REPLACED] == 1 && r->delivered == 1);
    story_finish(w);
}

/* After an outage of commits the entries lie far above the committed base. */
void a_schedule_topic_without_commits_is_no_other_one(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 20000);
    story_pass(w, 500);
    w->knobs.hold_commits = true;
    for (int i = 0; i < 200; i++)
        story_ask(w, TARGET_B, 0);
    cancel_of(w, "k", NULL);
    story_pass(w, 1000);
    story_crash(w);
    w->knobs.hold_commits = false;
    story_restart(w);
    story_pass(w, 30000);
    expect(w, w->notices[NOTICE_LOG_REPLACED] == 0 && r->voided > 0);
    story_finish(w);
}

/* Offsets of an idle group expire. The record of the newest entry is there. */
void a_schedule_topic_without_offsets_is_recognized_by_its_record(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 20000);
    cancel_of(w, "k", NULL);
    story_pass(w, 1000);
    story_crash(w);
    w->broker.committed[TOPIC_SCHEDULE][0] = NULL;
    for (struct request *each = w->requests; each != NULL; each = each->next)
        each->excused = true; /* it is read again from the start */
    story_restart(w);
    story_pass(w, 30000);
    expect(w, w->notices[NOTICE_LOG_REPLACED] == 0 && r->delivered == 0);
    story_finish(w);
}
