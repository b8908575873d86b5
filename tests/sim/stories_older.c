/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of a group whose processes are of two versions: an upgrade, and a rollback. */
#include "tests/sim/story.h"

enum { WAITING = 500 };

/* Starts the next process, then stops the one that owns the lane. */
static void replace_with(struct world *w, int id, bool older)
{
    w->is_older[id] = older;
    process_start(w, id);
    member_stop(&w->processes[1 - id]);
    story_until(w, story_owner(w, 0) == &w->processes[id]);
}

static void ask_many(struct world *w, struct request **requests, int64_t delay_ms)
{
    for (int i = 0; i < WAITING; i++)
        requests[i] = story_ask(w, TARGET_B, delay_ms);
}

static int delivered_once(struct request *const *requests)
{
    int n = 0;
    for (int i = 0; i < WAITING; i++)
        n += requests[i]->delivered == 1 && requests[i]->dead == 0;
    return n;
}

/* The record that a target refused is of version 2. An older process neither delivers nor
   dead-letters it, and delivers from every other level. */
static void tell_of_older(struct world *w)
{
    w->newer_ok = true;
    story_open(w);
    w->setup.processes = 2;
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    struct request *refused = story_ask(w, TARGET_A, 0);
    struct request *waits = story_ask(w, TARGET_B, 33000); /* it waits in 30s, then in 1s */
    story_until(w, committed_covers(story_committed(w, -1, 0), refused->offset) &&
                       committed_covers(story_committed(w, -1, 0), waits->offset));
    replace_with(w, 1, true);
    story_until(w, w->notices[NOTICE_NEWER_ENVELOPE] == 1);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_until(w, waits->delivered == 1);
    expect(w, refused->delivered == 0 && refused->dead == 0);
    replace_with(w, 0, false);
    story_until(w, refused->delivered == 1);
    expect(w, COUNT(w, dead[CODE_NOT_OURS]) == 0 && refused->dead == 0);
    story_finish(w);
}

void an_older_process_is_blocked_by_version_2_alone(struct world *w)
{
    story_begin(w);
    tell_of_older(w);
}

void an_older_process_is_blocked_by_version_2_alone_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    tell_of_older(w);
}

/* No target fails, so both programs write only version 1. */
static void upgrade_and_roll_back(struct world *w)
{
    struct request *of_older[WAITING], *of_newer[WAITING];
    w->is_older[0] = true;
    story_open(w);
    w->setup.processes = 2;
    ask_many(w, of_older, 40000);
    story_until(w, story_level(w, 2, 0)->n == WAITING);
    replace_with(w, 1, false);
    ask_many(w, of_newer, 32000);
    story_until(w, story_level(w, 2, 0)->n == 2 * WAITING);
    replace_with(w, 0, true);
    story_until(w, delivered_once(of_newer) == WAITING && delivered_once(of_older) == WAITING);
    expect(w, w->notices[NOTICE_NEWER_ENVELOPE] == 0 && w->repeats == 0);
    story_finish(w);
}

void record_of_version_1_survives_an_upgrade_and_a_rollback(struct world *w)
{
    story_begin(w);
    upgrade_and_roll_back(w);
}

void record_of_version_1_survives_an_upgrade_and_a_rollback_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    upgrade_and_roll_back(w);
}
