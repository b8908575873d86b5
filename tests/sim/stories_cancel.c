/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of cancels and replaces: which requests they void, and when. */
#include "tests/sim/coordinator.h"
#include "tests/sim/story_cancel.h"

void a_cancel_voids_older_requests_of_its_name_alone(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    cancel_of(w, "k", NULL); /* before its schedule: voids nothing */
    struct request *of_key = ask_named(w, "k", NULL, 8000);
    struct request *of_id = ask_named(w, "k", "k", 8000);
    struct request *of_none = ask_named(w, NULL, "k", 8000);
    struct request *of_other = ask_named(w, "other", NULL, 8000);
    cancel_of(w, "k", NULL);
    struct request *later = ask_named(w, "k", NULL, 8000);
    story_pass(w, 12000);
    expect(w, of_key->voided > 0 && of_key->delivered == 0);
    expect(w, of_id->delivered == 1 && of_none->delivered == 1 && of_other->delivered == 1);
    expect(w, later->delivered == 1);
    cancel_of(w, "k", "k"); /* all were delivered */
    story_finish(w);
}

void a_cancel_by_id_needs_the_key_of_its_lane(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *r = ask_named(w, "k", "a", 8000);
    struct ask ask = {.op = REQUEST_CANCEL, .id = "a", .fault = CODE_BAD_ID};
    struct request *keyless = workload_send(w, &ask);
    story_pass(w, 500);
    expect(w, keyless->dead == 1);
    cancel_of(w, "another key of the lane", "a");
    story_pass(w, 12000);
    expect(w, r->voided > 0);
    story_finish(w);
}

static void cancel_twice(struct world *w)
{
    story_open(w);
    struct request *first = ask_named(w, "k", "a", 4000);
    struct request *second = ask_named(w, "k", "a", 8000);
    cancel_of(w, "k", "a");
    struct request *third = ask_named(w, "k", "a", 4000);
    story_pass(w, 1500);
    cancel_of(w, "k", "a");
    struct request *last = ask_named(w, "k", "a", 4000);
    story_pass(w, 12000);
    expect(w, first->voided > 0 && second->voided > 0 && third->voided > 0);
    expect(w, last->delivered == 1);
    story_finish(w);
}

void one_cancel_voids_all_older_requests_of_its_name(struct world *w)
{
    story_begin_cancels(w);
    cancel_twice(w);
}

void one_cancel_voids_all_older_requests_of_its_name_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    cancel_twice(w);
}

static void replace_one(struct world *w)
{
    story_open(w);
    struct request *old = ask_named(w, "k", "a", 8000);
    struct request *replaced = replace_of(w, "k", "a", 4000, CODE_OK);
    struct request *newest = replace_of(w, "k", "a", 0, CODE_OK);
    story_pass(w, 10000);
    expect(w, old->voided > 0 && replaced->voided > 0 && newest->delivered == 1);
    expect(w, COUNT(w, replaces) == 2 && COUNT(w, cancels) == 0);
    story_finish(w);
}

void a_replace_voids_older_requests_and_not_itself(struct world *w)
{
    story_begin_cancels(w);
    replace_one(w);
}

void a_replace_voids_older_requests_and_not_itself_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    replace_one(w);
}

void a_replace_of_wrong_form_voids_nothing(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *old = ask_named(w, "k", NULL, 5000);
    struct request *badly = replace_of(w, "k", NULL, 5000, CODE_BAD_TIME);
    story_pass(w, 2000);
    story_crash(w); /* nor when the lane is restored */
    process_start(w, 0);
    story_pass(w, 10000);
    expect(w, badly->dead == 1 && old->delivered == 1);
    struct request *other = ask_named(w, "k", NULL, 5000);
    struct request *denied = replace_of(w, "k", NULL, 5000, CODE_TARGET_DENIED);
    story_pass(w, 10000);
    expect(w, denied->dead == 1 && other->voided > 0 && other->delivered == 0);
    story_finish(w);
}

/* The first owner writes no entry before it dies. */
void a_replace_that_was_sent_without_its_entry_is_not_done(struct world *w)
{
    story_begin_cancels(w);
    w->setup.processes = 2;
    story_open(w);
    struct request *old = ask_named(w, "k", NULL, 9000);
    story_pass(w, 500);
    struct process *p = story_owner(w, 0);
    story_hold_landings(w);
    struct request *replaced = replace_of(w, "k", NULL, 2000, CODE_OK);
    story_pass(w, 500);
    expect(w, replaced->applied_life == p->life && COUNT(w, replaces) == 0);
    member_expel(w, p->id); /* its entry is acknowledged when the lane has another owner */
    group_regroup(w);
    story_until(w, !p->lanes[0].owned);
    story_let_land(w);
    story_pass(w, 15000);
    expect(w, old->voided > 0 && replaced->delivered == 1);
    story_finish(w);
}

/* A record that is ready when the lane has its first cancel has no fingerprint yet. */
void a_record_that_was_ready_before_its_cancel_is_void(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    w->knobs.full = 10000;
    struct request *r = ask_named(w, "k", NULL, 0);
    story_pass(w, 500);
    cancel_of(w, "k", NULL);
    story_pass(w, 500);
    expect(w, r->voided > 0 || COUNT(w, cancelled) == 1);
    story_finish(w);
    expect(w, r->delivered == 0);
}

void cancels_beyond_the_share_of_a_lane_are_refused(struct world *w)
{
    story_begin_cancels(w);
    w->setup.cancel_memory = 16 * 10; /* eight entries */
    story_open(w);
    story_pass(w, 500); /* a restore would take them all */
    struct request *asked[12], *cancels[12];
    for (int i = 0; i < 12; i++)
        asked[i] = ask_named(w, name_of(w, i), NULL, 6000);
    for (int i = 0; i < 12; i++)
        cancels[i] = cancel_of(w, name_of(w, i), NULL);
    story_pass(w, 9000);
    for (int i = 0; i < 12; i++) {
        expect(w, (asked[i]->voided > 0) == (i < 8) && (asked[i]->delivered == 1) == (i >= 8));
        expect(w, (cancels[i]->dead == 1) == (i >= 8));
    }
    expect(w, COUNT(w, cancels) == 8 && COUNT(w, cancels_refused) == 4);
    story_pass(w, 20000); /* the eight have died */
    struct request *late = ask_named(w, "late", NULL, 6000);
    cancel_of(w, "late", NULL);
    story_pass(w, 9000);
    expect(w, late->voided > 0);
    story_finish(w);
}

/* The same name many times takes one entry, and the topic of cancels grows. */
void a_topic_of_cancels_that_is_not_trimmed_refuses_cancels(struct world *w)
{
    story_begin_cancels(w);
    w->setup.cancel_memory = 16 * 10;
    w->knobs.trims_fail = true;
    story_open(w);
    ask_named(w, "k", NULL, 50000);
    for (int i = 0; i < 30; i++) {
        for (int n = 0; n < 10; n++)
            cancel_of(w, "k", NULL);
        story_pass(w, 100);
    }
    uint64_t most = 2 * (8 + 134); /* its share and its seals, twice */
    expect(w, COUNT(w, cancels) <= most && COUNT(w, cancels) + COUNT(w, cancels_refused) == 300);
    expect(w, COUNT(w, cancels_refused) >= 300 - most);
    w->knobs.trims_fail = false;
    story_finish(w);
}

/* Progress goes back to the last commit. The cancel was read, and stays in force. */
void an_aborted_transaction_keeps_cancels_in_force(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 3000);
    story_pass(w, 1000);
    story_hold_landings(w);
    struct request *c = cancel_of(w, "k", NULL);
    story_pass(w, 200);
    expect(w, c->applied_life == story_owner(w, 0)->life);
    uint64_t aborts = COUNT(w, aborts);
    producer_break(story_owner(w, 0)->producer);
    story_let_land(w);
    story_until(w, COUNT(w, aborts) > aborts);
    story_pass(w, 6000);
    expect(w, r->voided > 0 && c->finished);
    story_finish(w);
}

/* The topic of cancels of one lane has no leader. */
void cancels_without_a_leader_stop_their_lane_alone(struct world *w)
{
    story_begin_cancels(w);
    w->setup.lanes = 2;
    story_open(w);
    story_pass(w, 1000);
    world_take_leader(w, TOPIC_CANCELS * LANES_MAX, w->now_ms + 20000);
    struct request *r = ask_named(w, "k", NULL, 3000);
    struct request *c = cancel_of(w, "k", NULL);
    struct request *other = story_ask_lane(w, 1, TARGET_A, 3000);
    story_pass(w, 6000);
    expect(w, r->voided > 0 && !c->finished && other->delivered == 1);
    story_pass(w, 20000);
    expect(w, c->finished);
    story_finish(w);
}

/* A redrive writes the request to the schedule topic again. */
void a_redriven_dead_letter_has_a_new_origin(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct ask ask = {.target = TARGET_GHOST, .key = "k", .id = "a"};
    struct request *dead = workload_send(w, &ask);
    story_until(w, dead->dead == 1);
    cancel_of(w, "k", "a");
    story_pass(w, 500);
    ask.target = TARGET_A;
    ask.delay_ms = 2000;
    struct request *again = workload_send(w, &ask);
    story_pass(w, 5000);
    expect(w, again->delivered == 1 && again->voided == 0);
    story_finish(w);
}

/* A program without cancels delivers void requests, and a later one with cancels does not. */
void a_rollback_delivers_what_cancels_void(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *early = ask_named(w, "k", NULL, 10000);
    struct request *late = ask_named(w, "k", NULL, 60000);
    story_pass(w, 500); /* they wait in levels */
    struct request *c = cancel_of(w, "k", NULL);
    story_until(w, committed_covers(story_committed(w, -1, 0), c->offset));
    size_t memory = w->setup.cancel_memory;
    story_crash(w);
    w->setup.cancel_memory = 0;
    process_start(w, 0);
    story_until(w, early->delivered == 1);
    expect(w, early->voided == 0);
    story_crash(w);
    w->setup.cancel_memory = memory;
    process_start(w, 0);
    story_pass(w, 70000);
    expect(w, late->voided > 0 && late->delivered == 0);
    story_finish(w);
}
