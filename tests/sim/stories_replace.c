/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of replaces with exactly-once. The entry of a replace is committed first, and its request
   in a later transaction. A failure between the two loses and doubles nothing (cancel.h). */
#include "tests/sim/coordinator.h"
#include "tests/sim/story_cancel.h"

enum { AWAY_MS = 4000, DELAY_MS = 8000 };

struct replaced {
    struct request *old, *by;
};

/* The replace waits for a partition without a leader: a level, or the dead-letter partition. Its
   entry is committed. */
static struct replaced commit_entry(struct world *w, enum code fault)
{
    story_begin_cancels_exactly_once(w);
    story_open(w);
    struct replaced r = {.old = ask_named(w, "k", NULL, DELAY_MS)};
    story_pass(w, 1500);
    int level = w->processes[0].topic_of_slot[2];
    world_take_leader(w, fault == CODE_OK ? level * LANES_MAX : CHAINS_DEAD, w->now_ms + AWAY_MS);
    r.by = replace_of(w, "k", NULL, DELAY_MS, fault);
    story_until(w, log_stable_end(story_cancels(w)) > 0);
    story_pass(w, 100);
    expect(w, !r.by->finished && !committed_covers(story_committed(w, -1, 0), r.by->offset));
    expect(w, story_level(w, 1, 0)->n == 1);
    return r;
}

static int entries_n(struct world *w)
{
    const struct log *log = story_cancels(w);
    int n = 0;
    for (size_t i = 0; i < log->n; i++)
        n += memcmp(log->entries[i]->value.data, "DLBC", 4) == 0;
    return n;
}

static void crash(struct world *w)
{
    story_crash(w);
    process_start(w, 0);
    story_until(w, story_owner(w, 0) != NULL);
}

static void expect_replaced(struct world *w, const struct replaced *r)
{
    story_pass(w, 3 * DELAY_MS);
    expect(w, r->old->voided == 1 && r->old->delivered == 0);
    expect(w, r->by->delivered + r->by->dead == 1);
    story_finish(w);
    expect(w, r->by->delivered + r->by->dead == 1);
}

void a_kill_between_entry_and_request_loses_no_replace(struct world *w)
{
    struct replaced r = commit_entry(w, CODE_OK);
    crash(w);
    expect_replaced(w, &r);
    expect(w, entries_n(w) == 2 && r.by->delivered == 1);
}

void a_kill_between_entry_and_dead_letter_loses_no_replace(struct world *w)
{
    struct replaced r = commit_entry(w, CODE_TARGET_DENIED);
    crash(w);
    expect_replaced(w, &r);
    expect(w, r.by->dead == 1);
}

/* Between the two, the lane is assigned again, and the coordinator fences the producer. */
void a_handover_between_entry_and_request_doubles_no_replace(struct world *w)
{
    struct replaced r = commit_entry(w, CODE_OK);
    story_regroup(w);
    coordinator_fence(w->processes[0].producer);
    expect_replaced(w, &r);
}

/* The transaction with the request fails three times. */
void an_aborted_request_of_a_replace_is_sent_once(struct world *w)
{
    struct replaced r = commit_entry(w, CODE_OK);
    w->knobs.commit_fails = 10000;
    for (uint64_t aborts = COUNT(w, aborts); COUNT(w, aborts) < aborts + 3;)
        story_wait(w, w->now_ms, "three aborts");
    w->knobs.commit_fails = 0;
    expect(w, r.by->delivered == 0 && r.old->delivered == 0);
    expect_replaced(w, &r);
}

/* The entry is committed, and its writer does not know that. */
void an_entry_of_unknown_outcome_doubles_no_replace(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    story_open(w);
    struct replaced r = {.old = ask_named(w, "k", NULL, DELAY_MS)};
    story_pass(w, 1500);
    w->knobs.lose_answers = true;
    uint64_t aborts = COUNT(w, aborts);
    r.by = replace_of(w, "k", NULL, DELAY_MS, CODE_OK);
    story_until(w, COUNT(w, aborts) > aborts);
    w->knobs.lose_answers = false;
    expect(w, log_stable_end(story_cancels(w)) > 0 && story_level(w, 1, 0)->n == 1);
    expect_replaced(w, &r);
}

static bool has_sent_offsets(const struct process *p)
{
    bool sent = false;
    for (int i = 0; i < TXN_CLIENTS; i++)
        sent |= p->clients[i].commit != NULL;
    return sent;
}

/* Progress is sent while the entry is in flight. */
void progress_does_not_foresee_the_entry_of_a_replace(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    story_open(w);
    story_pass(w, 500);
    story_hold_landings(w);
    struct request *by = replace_of(w, "k", NULL, DELAY_MS, CODE_OK);
    story_pass(w, 200);
    expect(w, has_sent_offsets(story_owner(w, 0)) && story_cancels(w)->n == 0);
    story_let_land(w);
    story_pass(w, 2 * DELAY_MS);
    expect(w, by->delivered == 1);
    story_finish(w);
}
