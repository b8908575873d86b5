/* SPDX-License-Identifier: Apache-2.0 */
/* A run: start, faults, quiet phase, and an end at which no record may be left. */
#include "tests/sim/faults.h"
#include "tests/sim/oracle.h"
#include "tests/sim/voids.h"

enum { STEPS_MAX = 3000000, STOP_MS = 20000, AFTERWARDS_MS = 5000 };

void run_start(struct world *w)
{
    for (int id = 0; id < w->setup.processes; id++)
        process_start(w, id);
}

static void drain(struct world *w)
{
    int64_t limit_ms = oracle_limit_ms(w);
    while (w->open_n > 0 || w->broker.undone_n > 0 || w->flying_n > 0 ||
           w->broker.transactions_n > 0 || w->step % 16 != 0 || !oracle_all_committed(w)) {
        if (w->now_ms > limit_ms)
            break;
        if (w->step > STEPS_MAX)
            world_fail(w, "not drained after %d steps", STEPS_MAX);
        if (!world_step(w))
            break;
    }
}

/* Stops all processes, a stalled one when it resumes. Processes that start after that must find no
   work. */
static void start_again(struct world *w)
{
    int64_t from_ms = w->now_ms;
    w->ending = true;
    for (int id = 0; id < w->setup.processes; id++) {
        struct process *p = &w->processes[id];
        if (p->up && p->stalled && p->stalled_until > from_ms)
            from_ms = p->stalled_until;
        if (p->up)
            member_stop(p);
    }
    world_run(w, from_ms + STOP_MS + w->setup.session_ms);
    for (int id = 0; id < w->setup.processes; id++) {
        if (w->processes[id].up)
            world_fail(w, "p%d does not end", id);
    }
    uint64_t forwards = w->forwards;
    process_start(w, 0);
    world_run(w, w->now_ms + AFTERWARDS_MS + 2 * w->setup.leap_ms + w->setup.session_ms);
    if (w->forwards != forwards && !w->unprovable)
        world_fail(w, "something was forwarded again after a clean stop");
}

void run_finish(struct world *w)
{
    drain(w);
    oracle_final(w);
    start_again(w);
    void_drain(w);
    oracle_final(w);
}

void run_seed(struct world *w)
{
    faults_choose(w);
    run_start(w);
    while (w->quiet_ms == INT64_MAX && world_step(w)) {
        if (w->step > STEPS_MAX)
            world_fail(w, "no quiet after %d steps", STEPS_MAX);
    }
    run_finish(w);
}
