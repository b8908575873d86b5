/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of requests in the format of another scheduler (etf1). A request replaces the one before
   with its key, and a null value deletes it. */
#include "tests/sim/story_cancel.h"

/* delay_ms: in whole seconds of the clock, so it is rounded down. */
static struct request *etf1_of(struct world *w, const char *key, int64_t delay_ms)
{
    struct ask ask = {.op = REQUEST_REPLACE,
                      .target = TARGET_A,
                      .key = key,
                      .delay_ms = delay_ms,
                      .has_value = true,
                      .value_len = 10,
                      .etf1 = true};
    return workload_send(w, &ask);
}

static struct request *etf1_deletes(struct world *w, const char *key)
{
    struct ask ask = {.op = REQUEST_CANCEL, .target = TARGET_A, .key = key, .etf1 = true};
    return workload_send(w, &ask);
}

static void replace_twice(struct world *w)
{
    w->setup.compat = COMPAT_BIT(COMPAT_ETF1);
    story_open(w);
    struct request *first = etf1_of(w, "k", 9000);
    struct request *other = etf1_of(w, "other", 9000);
    struct request *second = etf1_of(w, "k", 5000);
    struct request *deleted = etf1_of(w, "deleted", 9000);
    etf1_deletes(w, "deleted");
    story_pass(w, 12000);
    expect(w, first->voided > 0 && second->delivered == 1 && other->delivered == 1);
    expect(w, deleted->voided > 0 && deleted->delivered == 0);
    expect(w, COUNT(w, formats[COMPAT_ETF1]) == 5);
    story_finish(w);
}

void a_foreign_replace_voids_older_requests_and_not_itself(struct world *w)
{
    story_begin_cancels(w);
    replace_twice(w);
}

void a_foreign_replace_voids_older_requests_and_not_itself_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    replace_twice(w);
}

/* The replace and the cancel come while no process runs, and older requests are due before one
   does. */
void foreign_replaces_and_cancels_are_restored(struct world *w)
{
    story_begin_cancels(w);
    w->setup.compat = COMPAT_BIT(COMPAT_ETF1);
    story_open(w);
    struct request *replaced = etf1_of(w, "k", 4000), *deleted = etf1_of(w, "deleted", 4000);
    story_pass(w, 1000);
    story_crash(w);
    for (int i = 0; i < 300; i++)
        story_ask(w, TARGET_B, 0);
    struct request *newest = etf1_of(w, "k", 4000);
    etf1_deletes(w, "deleted");
    story_pass(w, 5000);
    process_start(w, 0);
    story_pass(w, 5000);
    expect(w, replaced->voided > 0 && replaced->delivered == 0 && newest->delivered == 1);
    expect(w, deleted->voided > 0 && deleted->delivered == 0);
    story_finish(w);
}
