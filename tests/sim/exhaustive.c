/* SPDX-License-Identifier: Apache-2.0 */
/* The small worlds. A variant sets the delivery mode, one or two processes, and producers with or
   without names. A few random draws set delays, and which requests of a dead process arrive. */
#include "tests/sim/exhaustive.h"
#include "tests/sim/choices.h"
#include "tests/sim/faults.h"
#include "tests/sim/workload.h"

enum { WATCH_MS = 100 };
enum {
    VARIANT_EXACTLY_ONCE = 1,
    VARIANT_TWO_PROCESSES = 2,
    VARIANT_NAMES = 4,
    VARIANT_CANCELS = 8,
    VARIANT_HOLD = 16
};

uint64_t scope_seed(const struct scope *scope, uint64_t at, int kind, int variant)
{
    uint64_t kinds = (uint64_t)scope->kinds, variants = (uint64_t)scope->variants;
    return (at * kinds + (uint64_t)kind - 1) * variants + (uint64_t)variant;
}

static uint64_t place_of(uint64_t seed, const struct scope *scope)
{
    return seed / (uint64_t)scope->variants / (uint64_t)scope->kinds;
}

static int kind_of(uint64_t seed, const struct scope *scope)
{
    return (int)(seed / (uint64_t)scope->variants % (uint64_t)scope->kinds) + 1;
}

static int variant_of(uint64_t seed, const struct scope *scope)
{
    return (int)(seed % (uint64_t)scope->variants);
}

/* Restarts each process that has died. */
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

/* Of the name that all others have. */
static void cancel(struct world *w, int lane, enum request_op op)
{
    struct ask ask = {.lane = lane, .op = op, .target = TARGET_A, .key = "k", .delay_ms = 3000};
    workload_send(w, &ask);
}

static void set_up(struct world *w, int variant, const struct ladder *ladder)
{
    setup_fair(w);
    w->rng = rng_of((uint64_t)variant);
    w->setup.lanes = 2;
    w->setup.max_attempts = 2;
    w->setup.ladder = w->setup.ladder_before = *ladder;
    w->setup.exactly_once = variant & VARIANT_EXACTLY_ONCE;
    w->setup.processes = variant & VARIANT_TWO_PROCESSES ? 2 : 1;
    w->setup.producers_have_names = variant & VARIANT_NAMES;
    enum failure kind = w->failing.kind;
    bool cancels = variant & VARIANT_CANCELS || failure_is_cancel(kind);
    w->setup.cancel_memory = cancels ? 1 << 12 : 0;
    w->setup.seal_ms = 1000;
    w->setup.hold_ms = variant & VARIANT_HOLD ? 3000 : 0;
    w->quiet_ms = 0;
    broker_init(&w->broker, &w->arena, w->setup.lanes);
    workload_init(w);
    run_start(w);
    world_at(w, WATCH_MS, NULL, watch, NULL, 0);
}

static void run_death(struct world *w)
{
    static const struct ladder ladder = {{1000, 3000}, 2, 1000, 500};
    const struct scope *scope = &scope_of_deaths;
    int process = kind_of(w->seed, scope);
    set_up(w, variant_of(w->seed, scope), &ladder);
    if (process <= w->setup.processes) /* its first life has the same number */
        w->failing = (struct failing){.dying_life = process, .at = place_of(w->seed, scope)};
    ask(w, 0, 0);
    ask(w, 0, 2500);
    ask(w, 1, 4500);
    if (w->setup.cancel_memory > 0) {
        cancel(w, 1, REQUEST_CANCEL);
        ask(w, 0, 3500);
        cancel(w, 0, REQUEST_REPLACE);
    }
    run_finish(w);
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

static void run_failure(struct world *w)
{
    static const struct ladder ladder = {{1000, 10000}, 2, 1000, 500};
    const struct scope *scope = &scope_of_failures;
    enum failure kind = (enum failure)kind_of(w->seed, scope);
    w->failing = (struct failing){.kind = kind, .at = place_of(w->seed, scope)};
    set_up(w, variant_of(w->seed, scope), &ladder);
    w->setup.order_is_exact = kind != FAILURE_CLOCK_BACK && kind != FAILURE_CLOCK_AHEAD;
    ask(w, 0, 0);
    ask(w, 1, 700);
    ask(w, 0, 2500);
    for (int64_t delay_ms = 11000; delay_ms <= 12500;
         delay_ms += 500) /* so that they wait together */
        ask(w, 0, delay_ms);
    ask_badly(w);
    if (w->setup.cancel_memory > 0) {
        cancel(w, 1, REQUEST_CANCEL);
        cancel(w, 1, REQUEST_REPLACE);
    }
    run_finish(w);
}

const struct scope scope_of_deaths = {"--exhaustive", DYING_PROCESSES, DEATH_VARIANTS, run_death};
const struct scope scope_of_failures = {"--failures", FAILURE_N - 1, FAILURE_VARIANTS, run_failure};
