/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: a heap of events, and the loop that runs them in order. */
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

sigjmp_buf world_trap;
char world_failure[512];

void world_init(struct world *world, uint64_t seed)
{
    struct arena arena = world->arena; /* keeps the memory for the next seed */
    struct happening *events = world->events;
    size_t events_capacity = world->events_capacity;
    arena_reset(&arena);
    *world = (struct world){.seed = seed,
                            .rng = {.state = seed * 0x9e3779b97f4a7c15u + 1},
                            .arena = arena,
                            .events = events,
                            .events_capacity = events_capacity,
                            .quiet_ms = INT64_MAX,
                            .verbose = world->verbose,
                            .strict = world->strict,
                            .bug = world->bug,
                            .mode = world->mode,
                            .without_cancels = world->without_cancels,
                            .cancel_rng = {.state = seed * 0xd1342543de82ef95u + 7},
                            .retry_rng = {.state = seed * 0xda942042e4dd58b5u + 3},
                            .control_rng = {.state = seed * 0xaef17502108ef2d9u + 5},
                            .digest = world->digest};
    world->requests_end = &world->requests;
    for (int id = 0; id < PROCESSES_MAX; id++) {
        world->processes[id].world = world;
        world->processes[id].id = id;
        world->known_life[id] = NO_LIFE;
    }
}

void world_deinit(struct world *world)
{
    for (int id = 0; id < PROCESSES_MAX; id++) {
        if (world->processes[id].up)
            process_free(&world->processes[id]);
    }
    world->events_n = 0;
}

void world_forget(struct world *world)
{
    arena_deinit(&world->arena);
    free(world->events);
    *world = (struct world){0};
}

bool world_passes(struct world *world, uint64_t seed, void (*run)(struct world *))
{
    world_init(world, seed);
    if (sigsetjmp(world_trap, 1) != 0)
        return false; /* memory of the bridge is lost */
    run(world);
    world_deinit(world);
    return true;
}

static bool is_before(const struct happening *a, const struct happening *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(struct happening *a, struct happening *b)
{
    struct happening was = *a;
    *a = *b;
    *b = was;
}

void world_at(struct world *world, int64_t at, struct process *process,
              void (*run)(struct world *, struct process *, void *, int64_t), void *arg, int64_t n)
{
    if (world->events_n == world->events_capacity) {
        world->events_capacity = world->events_capacity ? 2 * world->events_capacity : 256;
        world->events = realloc(world->events, world->events_capacity * sizeof *world->events);
        if (world->events == NULL)
            abort();
    }
    struct happening *heap = world->events;
    size_t i = world->events_n++;
    heap[i] = (struct happening){.at = at > world->now_ms ? at : world->now_ms,
                                 .order = world->orders++,
                                 .process = process,
                                 .life = process ? process->life : 0,
                                 .run = run,
                                 .arg = arg,
                                 .n = n};
    for (; i > 0 && is_before(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&heap[i], &heap[(i - 1) / 2]);
}

static struct happening pop(struct world *world)
{
    struct happening *heap = world->events;
    struct happening first = heap[0];
    heap[0] = heap[--world->events_n];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++) {
            if (child < world->events_n && is_before(&heap[child], &heap[least]))
                least = child;
        }
        if (least == i)
            return first;
        swap(&heap[i], &heap[least]);
        i = least;
    }
}

bool world_step(struct world *world)
{
    if (world->events_n == 0)
        return false;
    struct happening event = pop(world);
    world->now_ms = event.at;
    world->step++;
    if (event.process != NULL && (!event.process->up || event.process->life != event.life))
        return true;
    event.run(world, event.process, event.arg, event.n);
    return true;
}

void world_run(struct world *world, int64_t until_ms)
{
    while (world->events_n > 0 && world->events[0].at <= until_ms)
        world_step(world);
    if (world->now_ms < until_ms)
        world->now_ms = until_ms;
}

int64_t world_delay(struct world *world, int64_t most_ms)
{
    return rng_between(&world->rng, 0, rng_chance(&world->rng, 1500) ? most_ms : most_ms / 8);
}

static int64_t last(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t world_coordinator_back(const struct world *world)
{
    return last(world->outage_until, world->coordinator_until);
}

int64_t world_leader_back(const struct world *world, int chain)
{
    return last(world->outage_until, world->leaderless_until[chain]);
}

bool world_is_leaderless(const struct world *world, int chain)
{
    return world->leaderless_until[chain] > world->now_ms;
}

void world_take_leader(struct world *w, int chain, int64_t until_ms)
{
    if (!world_is_leaderless(w, chain))
        w->leaderless_since[chain] = w->now_ms;
    if (w->leaderless_until[chain] < until_ms)
        w->leaderless_until[chain] = until_ms;
}

void world_note(struct world *world, const struct process *process, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%8" PRIu64 " %10.3f ", world->step, (double)world->now_ms / 1000);
    if (process != NULL)
        printf("p%d#%d ", process->id, process->life);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void world_fail(struct world *world, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = snprintf(world_failure, sizeof world_failure, "step %" PRIu64 ", %.3f s: ", world->step,
                     (double)world->now_ms / 1000);
    vsnprintf(world_failure + n, sizeof world_failure - (size_t)n, format, args);
    va_end(args);
    siglongjmp(world_trap, 1);
}
