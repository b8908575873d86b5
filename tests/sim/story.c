/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of stories: worlds without random faults, waits, and checks of the result. */
#include "tests/sim/story.h"
#include "tests/sim/choices.h"
#include "tests/sim/faults.h"
#include "tests/sim/producer.h"

enum { FOR_EVER_MS = 300000, STEPS_MAX = 100000 };

void story_begin(struct world *w)
{
    setup_fair(w);
    w->knobs = (struct knobs){0};
}

void story_begin_exactly_once(struct world *w)
{
    story_begin(w);
    w->setup.exactly_once = w->setup.producers_have_names = true;
}

void story_open(struct world *w)
{
    broker_init(&w->broker, &w->arena, w->setup.lanes);
    workload_init(w);
    run_start(w);
    story_until(w, story_owner(w, 0) != NULL);
}

void story_finish(struct world *w)
{
    faults_end(w);
    story_let_land(w);
    run_finish(w);
}

void story_pass(struct world *w, int64_t ms)
{
    int64_t until_ms = w->now_ms + ms;
    while (w->events_n > 0 && w->events[0].at <= until_ms) {
        world_step(w);
        if (w->step > STEPS_MAX)
            world_fail(w, "not drained after %d steps", STEPS_MAX);
    }
    world_run(w, until_ms);
}

void story_wait(struct world *w, int64_t since_ms, const char *what)
{
    if (w->now_ms - since_ms > FOR_EVER_MS || w->step > STEPS_MAX || !world_step(w))
        world_fail(w, "this never became true: %s", what);
}

struct request *story_ask_lane(struct world *w, int lane, int target, int64_t delay_ms)
{
    struct ask ask = {
        .lane = lane, .target = target, .delay_ms = delay_ms, .has_value = true, .value_len = 10};
    return workload_send(w, &ask);
}

struct request *story_ask(struct world *w, int target, int64_t delay_ms)
{
    return story_ask_lane(w, 0, target, delay_ms);
}

struct request *story_ask_large(struct world *w, int64_t delay_ms, size_t value_len)
{
    struct ask ask = {.target = TARGET_A,
                      .delay_ms = delay_ms,
                      .key = "large",
                      .has_value = true,
                      .value_len = value_len};
    return workload_send(w, &ask);
}

struct request *story_ask_long_key(struct world *w, int64_t delay_ms, size_t key_len)
{
    struct ask ask = {
        .target = TARGET_A, .delay_ms = delay_ms, .key = workload_long_key(w, key_len)};
    return workload_send(w, &ask);
}

void story_hold_landings(struct world *w)
{
    w->knobs.hold_landings = true;
}

void story_let_land(struct world *w)
{
    w->knobs.hold_landings = false;
    for (int id = 0; id < w->setup.processes; id++) {
        if (w->processes[id].up)
            producer_kick(w->processes[id].producer);
    }
}

struct process *story_owner(struct world *w, int lane)
{
    for (int id = 0; id < w->setup.processes; id++) {
        struct process *p = &w->processes[id];
        if (p->up && p->member == MEMBER_STABLE && p->lanes[lane].owned)
            return p;
    }
    return NULL;
}

struct log *story_level(struct world *w, int level, int lane)
{
    return &w->broker.logs[w->processes[0].topic_of_slot[1 + level]][lane];
}

void story_cut_log(struct world *w, struct log *log, int64_t end)
{
    log->n = log->stable_n = log_find(log, end);
    log->end = log->read_end = end;
    log->start = log->start < end ? log->start : end;
    w->beyond_end_ok = true;
}

void story_reset_offset(struct world *w, int topic, int64_t offset)
{
    struct committed *reset = arena_take(&w->arena, sizeof *reset);
    *reset = (struct committed){.base = offset, .life = NO_LIFE};
    w->broker.committed[topic][0] = reset;
}

void story_delete_level(struct world *w, int level, struct request *waiting)
{
    int topic = w->processes[0].topic_of_slot[1 + level];
    story_cut_log(w, story_level(w, level, 0), 0);
    w->broker.committed[topic][0] = NULL;
    w->missing[topic] = true;
    waiting->excused = true;
    w->open_n--;
}

struct inbox *story_inbox(struct process *p, int lane, int slot)
{
    return &p->inboxes[lane * p->slots + slot];
}

const struct committed *story_committed(struct world *w, int level, int lane)
{
    return w->broker.committed[w->processes[0].topic_of_slot[1 + level]][lane];
}

uint64_t story_sum(const struct world *w, size_t counter)
{
    size_t i = counter / sizeof(struct counter);
    uint64_t sum = counter_read(&((const struct counter *)&w->totals)[i]);
    for (int id = 0; id < w->setup.processes; id++) {
        if (w->processes[id].up)
            sum += counter_read(&((const struct counter *)&w->processes[id].stats)[i]);
    }
    return sum;
}

void story_crash(struct world *w)
{
    process_crash(&w->processes[0]);
    story_pass(w, w->setup.session_ms + 100);
}

void story_restart(struct world *w)
{
    process_start(w, 0);
    story_until(w, story_owner(w, 0) != NULL);
}

void story_regroup(struct world *w)
{
    int generation = w->broker.generation;
    group_regroup(w);
    story_until(w, w->broker.generation > generation && story_owner(w, 0) != NULL);
}

void story_ask_both(struct world *w, struct request **slow, struct request **good, int n)
{
    for (int i = 0; i < n; i++) {
        slow[i] = i % 2 == 0 ? story_ask(w, TARGET_A, 0) : slow[i - 1];
        good[i] = story_ask(w, TARGET_B, 0);
        story_pass(w, 1000 / STORY_EACH_S);
    }
}

void story_expect_delivered(struct world *w, struct request **r, int n)
{
    for (int i = 0; i < n; i++)
        expect(w, r[i]->delivered == 1);
}
