/* SPDX-License-Identifier: Apache-2.0 */
/* The small world. Its variants: the mode, one process or two, producers with or without names, and
   two draws of the delays and of what arrives of that which a dead one had sent. */
#include "tests/sim/exhaustive.h"
#include "tests/sim/faults.h"
#include "tests/sim/workload.h"

enum { WATCH_MS = 100 };
enum { VARIANT_EXACTLY_ONCE = 1, VARIANT_TWO_PROCESSES = 2, VARIANT_NAMES = 4 };

uint64_t exhaustive_seed(uint64_t dies_at, int variant)
{
    return dies_at * EXHAUSTIVE_VARIANTS + (uint64_t)variant;
}

/* Somebody starts again what has died. */
static void watch(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    if (w->ending)
        return;
    for (int id = 0; id < w->setup.processes; id++) {
        if (!w->processes[id].up)
            process_start(w, id);
    }
    world_at(w, w->now_ms + WATCH_MS, nobody, watch, arg, n);
}

static void ask(struct world *w, int lane, int64_t delay_ms)
{
    struct ask ask = {.lane = lane,
                      .target = TARGET_A,
                      .delay_ms = delay_ms,
                      .key = "k",
                      .has_value = true,
                      .value_len = 10};
    workload_send(w, &ask);
}

void exhaustive_run(struct world *w)
{
    static const struct ladder two_levels = {{1000, 3000}, 2, 1000, 500};
    int variant = (int)(w->seed % EXHAUSTIVE_VARIANTS);
    setup_fair(w);
    w->setup.lanes = 2;
    w->setup.ladder = w->setup.ladder_before = two_levels;
    w->setup.exactly_once = variant & VARIANT_EXACTLY_ONCE;
    w->setup.processes = variant & VARIANT_TWO_PROCESSES ? 2 : 1;
    w->setup.producers_have_names = variant & VARIANT_NAMES;
    w->quiet_ms = 0;
    broker_init(&w->broker, &w->arena, w->setup.lanes);
    workload_init(w);
    run_start(w);
    w->processes[0].crash_in = (int)(w->seed / EXHAUSTIVE_VARIANTS);
    world_at(w, WATCH_MS, NULL, watch, NULL, 0);
    ask(w, 0, 0);
    ask(w, 0, 2500);
    ask(w, 1, 4500);
    run_finish(w);
}
