/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of requests with dlb-spread. */
#include "tests/sim/spreads.h"
#include "tests/sim/story_cancel.h"

enum { BURST = 200, SPREAD_MS = 4000 };

static struct request *spread_of(struct world *w, const char *key, int64_t delay_ms)
{
    struct ask ask = {.target = TARGET_A, .key = key, .delay_ms = delay_ms, .spread_ms = SPREAD_MS};
    return workload_send(w, &ask);
}

/* The owner is killed in the middle of the spread. */
static void survive(struct world *w)
{
    struct request *burst[BURST];
    story_open(w);
    for (int i = 0; i < BURST; i++)
        burst[i] = spread_of(w, "k", 9000);
    story_pass(w, 9000 + SPREAD_MS / 4);
    int before = 0;
    for (int i = 0; i < BURST; i++)
        before += burst[i]->delivered;
    expect(w, before > BURST / 8 && before < BURST / 2);
    story_crash(w);
    process_start(w, 0);
    for (int i = 0; i < BURST; i++)
        story_until(w, burst[i]->delivered > 0);
    story_finish(w);
}

void a_spread_is_kept_when_its_owner_is_killed(struct world *w)
{
    story_begin(w);
    survive(w);
}

void a_spread_is_kept_when_its_owner_is_killed_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    survive(w);
}

void a_replace_may_have_a_spread(struct world *w)
{
    struct ask ask = {.op = REQUEST_REPLACE,
                      .target = TARGET_A,
                      .key = "k",
                      .delay_ms = 3000,
                      .spread_ms = SPREAD_MS};
    story_begin_cancels(w);
    story_open(w);
    struct request *old = spread_of(w, "k", 3000);
    struct request *by = workload_send(w, &ask);
    story_pass(w, 3000 + SPREAD_MS + 100);
    expect(w, old->delivered == 0 && old->voided > 0 && by->delivered == 1);
    story_finish(w);
}

void a_spread_in_the_past_is_delivered_at_once(struct world *w)
{
    struct ask ask = {
        .target = TARGET_A, .delay_ms = -10000, .absolute = true, .spread_ms = SPREAD_MS};
    story_begin(w);
    story_open(w);
    story_pass(w, 1000);
    struct request *r = workload_send(w, &ask);
    story_pass(w, 500);
    expect(w, r->delivered == 1);
    story_finish(w);
}
