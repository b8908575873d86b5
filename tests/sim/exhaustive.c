/* SPDX-License-Identifier: Apache-2.0 */
/* The small worlds. Their variants: the mode, one process or two, producers with or without names,
   and, for deaths, two draws of the delays and of what arrives of that which a dead one had sent.
 */
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

static void set_up(struct world *w, int variant, const struct ladder *ladder)
{
    setup_fair(w);
    w->setup.lanes = 2;
    w->setup.max_attempts = 2;
    w->setup.ladder = w->setup.ladder_before = *ladder;
    w->setup.exactly_once = variant & VARIANT_EXACTLY_ONCE;
    w->setup.processes = variant & VARIANT_TWO_PROCESSES ? 2 : 1;
    w->setup.producers_have_names = variant & VARIANT_NAMES;
    w->quiet_ms = 0;
    broker_init(&w->broker, &w->arena, w->setup.lanes);
    workload_init(w);
    run_start(w);
    world_at(w, WATCH_MS, NULL, watch, NULL, 0);
}

void exhaustive_run(struct world *w)
{
    static const struct ladder ladder = {{1000, 3000}, 2, 1000, 500};
    set_up(w, (int)(w->seed % EXHAUSTIVE_VARIANTS), &ladder);
    w->processes[0].crash_in = (int)(w->seed / EXHAUSTIVE_VARIANTS);
    ask(w, 0, 0);
    ask(w, 0, 2500);
    ask(w, 1, 4500);
    run_finish(w);
}

uint64_t exhaustive_failure_seed(enum failure kind, uint64_t at, int variant)
{
    return (at * FAILURE_N + (uint64_t)kind) * FAILURE_VARIANTS + (uint64_t)variant;
}

static void ask_badly(struct world *w)
{
    struct ask poison = {.lane = 0, .has_value = true, .value_len = 10, .fault = CODE_BAD_TIME};
    struct ask ghost = {.lane = 1, .target = TARGET_GHOST, .has_value = true, .value_len = 10};
    struct ask large = {.lane = 1,
                        .target = TARGET_B,
                        .delay_ms = 500,
                        .has_value = true,
                        .value_len = TARGET_BYTES_MAX + 1};
    workload_send(w, &poison);
    workload_send(w, &ghost);
    workload_send(w, &large);
    workload_foreign(w, 1, 0, true);
}

void exhaustive_failure_run(struct world *w)
{
    static const struct ladder ladder = {{1000, 10000}, 2, 1000, 500};
    uint64_t kind_and_at = w->seed / FAILURE_VARIANTS;
    enum failure kind = (enum failure)(kind_and_at % FAILURE_N);
    w->failing = (struct failing){.kind = kind, .at = kind_and_at / FAILURE_N};
    set_up(w, (int)(w->seed % FAILURE_VARIANTS), &ladder);
    w->setup.order_is_exact = kind != FAILURE_CLOCK_BACK && kind != FAILURE_CLOCK_AHEAD;
    ask(w, 0, 0);
    ask(w, 1, 700);
    ask(w, 0, 2500);
    for (int64_t delay_ms = 11000; delay_ms <= 12500; delay_ms += 500) /* they wait together */
        ask(w, 0, delay_ms);
    ask_badly(w);
    run_finish(w);
}
