/* SPDX-License-Identifier: Apache-2.0 */
/* Faults: small ones have a probability, great ones happen at certain times. */
#include "tests/sim/faults.h"
#include "tests/sim/choices.h"
#include "tests/sim/coordinator.h"
#include "tests/sim/facts.h"
#include "tests/sim/operators.h"
#include "tests/sim/workload.h"

#include <inttypes.h>
#include <stdio.h>

enum great {
    GREAT_CRASH,
    GREAT_CRASH_IN_CALL,
    GREAT_STOP,
    GREAT_STALL,
    GREAT_ISOLATE,
    GREAT_OUTAGE,
    GREAT_LEADER,
    GREAT_COORDINATOR,
    GREAT_MOOD,
    GREAT_CLOCK,
    GREAT_REGROUP,
    GREAT_FENCE,
    GREAT_TRUNCATE,
    GREAT_GAP,
    GREAT_FOREIGN,
    GREAT_N
};

struct faults {
    int64_t every_ms[GREAT_N]; /* average time between two; 0: never */
    int64_t clock_step_ms;
    bool crashes_lose_time; /* restarts take long */
};

static struct process *random_process(struct world *w)
{
    return &w->processes[rng_int(&w->rng, 0, w->setup.processes - 1)];
}

static void restart(struct world *w, struct process *nobody, void *arg, int64_t id)
{
    (void)nobody, (void)arg;
    const struct process *p = &w->processes[id];
    if (w->ending)
        return;
    if (!p->up)
        process_start(w, (int)id);
    else if (p->leaving || p->crash_in > 0)
        world_at(w, w->now_ms + 500, NULL, restart, NULL, id);
}

static void restart_later(struct world *w, int id)
{
    const struct faults *faults = w->faults;
    int64_t most_ms = faults->crashes_lose_time ? 20000 : 1000;
    world_at(w, w->now_ms + rng_between(&w->rng, 10, most_ms), NULL, restart, NULL, id);
}

/* Fences the producer as another one of the same name would. Its client may learn that at once, or
   from the answer to the end of its transaction. */
static void fence(struct process *p)
{
    coordinator_fence(p->producer);
    if (clients_may_break(p) && rng_chance(&p->world->rng, 5000))
        producer_break(p->producer);
}

static void fire_process(struct world *w, enum great great, struct process *p)
{
    const struct faults *faults = w->faults;
    struct rng *rng = &w->rng;
    if (process_is_away(p))
        return;
    switch (great) {
    case GREAT_CRASH:
        process_crash(p);
        restart_later(w, p->id);
        break;
    case GREAT_CRASH_IN_CALL:
        p->crash_in = rng_int(rng, 1, 60);
        restart_later(w, p->id);
        break;
    case GREAT_STOP:
        member_stop(p);
        restart_later(w, p->id);
        break;
    case GREAT_STALL:
        process_stall(p, rng_between(rng, 100, 2 * w->setup.session_ms));
        break;
    case GREAT_ISOLATE:
        if (!p->isolated)
            member_isolate(p, rng_between(rng, 1000, 2 * w->setup.session_ms));
        break;
    case GREAT_FENCE:
        if (w->setup.exactly_once)
            fence(p);
        break;
    default:
        process_step_clock(p, rng_between(rng, -faults->clock_step_ms, faults->clock_step_ms));
        break;
    }
}

static void change_mood(struct world *w)
{
    struct target_model *target = &w->targets[rng_int(&w->rng, TARGET_DEFAULT, TARGET_B)];
    target->mood = (enum target_mood)rng_int(&w->rng, TARGET_FINE, TARGET_KEYED);
    trace(w, NULL, "target %s is in mood %d", target->name, (int)target->mood);
}

/* C does not order the arguments of a call, so each draw has a separate statement. */
static void fire_unreadable(struct world *w, int topic, int lane)
{
    int n = rng_int(&w->rng, 1, 2 * WINDOW_SPAN);
    bool of_schedule = rng_chance(&w->rng, 5000);
    workload_unreadable(w, of_schedule ? TOPIC_SCHEDULE : topic, lane, n);
}

static void fire_log(struct world *w, enum great great)
{
    struct rng *rng = &w->rng;
    int topic = rng_int(rng, great == GREAT_FOREIGN ? 1 : 0, w->broker.topics - 1);
    int lane = rng_int(rng, 0, w->setup.lanes - 1);
    struct log *log = &w->broker.logs[topic][lane];
    if (great == GREAT_GAP)
        log->end += rng_between(rng, 1, rng_chance(rng, 1000) ? WINDOW_SPAN + 100 : 3);
    else if (great == GREAT_FOREIGN && w->setup.skip_unreadable)
        fire_unreadable(w, topic, lane);
    else if (great == GREAT_FOREIGN)
        workload_foreign(w, topic, lane, rng_chance(rng, 5000));
    else if (log_stable_end(log) > log->start)
        oracle_truncate(w, topic, lane, rng_between(rng, log->start + 1, log_stable_end(log)));
}

static int random_chain(struct world *w)
{
    int lane = rng_int(&w->rng, 0, w->setup.lanes - 1);
    if (rng_chance(&w->rng, 3000))
        return rng_int(&w->rng, CHAINS_TARGETS, CHAINS_EVENTS - 1);
    if (rng_chance(&w->rng, 1000))
        return CHAINS_DEAD + lane;
    return rng_int(&w->rng, 0, w->broker.topics - 1) * LANES_MAX + lane;
}

/* Leaves partitions without a leader for a while. No record is lost, and requests have no answer
   meanwhile. */
static void change_leaders(struct world *w)
{
    int n = rng_int(&w->rng, 1, 8);
    int64_t most_ms = rng_chance(&w->rng, 2000) ? 12000 : rng_chance(&w->rng, 500) ? 60000 : 2000;
    int64_t until_ms = w->now_ms + rng_between(&w->rng, 50, most_ms);
    trace(w, NULL, "%d partitions have no leader until %.3f s", n, (double)until_ms / 1000);
    for (int i = 0; i < n; i++)
        world_take_leader(w, random_chain(w), until_ms);
    if (w->setup.events != 0 && rng_chance(&w->cancel_rng, 5000))
        world_take_leader(w, CHAINS_EVENTS + rng_int(&w->cancel_rng, 0, w->setup.lanes - 1),
                          until_ms);
}

static void change_coordinator(struct world *w)
{
    w->coordinator_until = w->now_ms + rng_between(&w->rng, 50, 6000);
    trace(w, NULL, "there is no coordinator until %.3f s", (double)w->coordinator_until / 1000);
}

static void fire(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    const struct faults *faults = w->faults;
    enum great great = (enum great)n;
    if (w->now_ms >= w->quiet_ms)
        return;
    if (great == GREAT_OUTAGE) {
        w->outage_until = w->now_ms + rng_between(&w->rng, 100, 12000);
        trace(w, NULL, "the broker is away until %.3f s", (double)w->outage_until / 1000);
    } else if (great == GREAT_LEADER) {
        change_leaders(w);
    } else if (great == GREAT_COORDINATOR) {
        change_coordinator(w);
    } else if (great == GREAT_MOOD) {
        change_mood(w);
    } else if (great == GREAT_REGROUP) {
        group_regroup(w);
    } else if (great >= GREAT_TRUNCATE) {
        fire_log(w, great);
    } else {
        fire_process(w, great, random_process(w));
    }
    world_at(w, w->now_ms + rng_between(&w->rng, 1, 2 * faults->every_ms[n]), nobody, fire, arg, n);
}

static void choose_greats(struct world *w, struct faults *faults)
{
    struct rng *rng = &w->rng;
    for (int i = 0; i < GREAT_N; i++) {
        bool on = rng_chance(rng, i == GREAT_TRUNCATE ? 500 : i == GREAT_ISOLATE ? 1500 : 3000);
        faults->every_ms[i] = on ? rng_between(rng, 1500, 12000) : 0;
    }
    faults->crashes_lose_time = rng_chance(rng, 3000);
    faults->clock_step_ms = rng_chance(rng, 1000) ? 3600000 : rng_chance(rng, 5000) ? 5000 : 800;
    for (int id = 0; id < w->setup.processes && faults->every_ms[GREAT_CLOCK] > 0; id++) {
        w->processes[id].wall_ahead_ms = rng_between(rng, -3000, 3000);
        w->processes[id].drift_ppm = rng_between(rng, -2000, 2000);
        if (w->skew_ms_max < 4000)
            w->skew_ms_max = 4000; /* including drift */
    }
}

static void quiet(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    (void)nobody;
    (void)arg;
    (void)n;
    faults_end(w);
}

/* Finds the committed records that the log still has. */
static void find_records(const struct log *log, const struct committed *committed, int64_t *oldest,
                         int64_t *newest)
{
    if (committed == NULL || committed->witnesses.len == 0)
        return;
    int64_t offset;
    uint64_t timestamp;
    const char *at = strchr(committed->witnesses.data, ' ');
    for (; at != NULL && sscanf(at, " %*u:%" SCNd64 ":%" SCNx64, &offset, &timestamp) == 2;
         at = strchr(at + 1, ' ')) {
        size_t i = log_find(log, offset);
        if (i == log->n || log->entries[i]->offset != offset ||
            log->entries[i]->timestamp_ms != (int64_t)timestamp)
            continue;
        *oldest = offset < *oldest ? offset : *oldest;
        *newest = later_of(*newest, offset);
    }
}

/* Finds the offsets of the oldest and newest cancel that have an entry, or committed record.
   Returns false if there is none, or if the log cannot be recognized by them. */
static bool find_witnesses(struct world *w, int lane, int64_t *oldest, int64_t *newest)
{
    const struct log *log = &w->broker.logs[TOPIC_SCHEDULE][lane];
    struct log *entries = &w->broker.logs[TOPIC_CANCELS][lane];
    int64_t stable_end = log_stable_end(entries);
    *oldest = INT64_MAX;
    *newest = -1;
    find_records(log, w->broker.committed[TOPIC_SCHEDULE][lane], oldest, newest);
    for (size_t i = log_find(entries, entries->start); i < entries->n; i++) {
        const struct request *cancel = entries->entries[i]->request;
        if (cancel == NULL || cancel->lost || entries->entries[i]->offset >= stable_end)
            continue;
        *oldest = cancel->offset < *oldest ? cancel->offset : *oldest;
        *newest = later_of(*newest, cancel->offset);
    }
    return *newest >= 0 && *oldest >= log->start;
}

/* All processes die, and the schedule topic of a lane loses its tail: its newest witness at least,
   and not the oldest one. */
static void cut(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    struct rng rng = rng_of((uint64_t)n);
    int lane = rng_int(&rng, 0, w->setup.lanes - 1);
    struct log *log = &w->broker.logs[TOPIC_SCHEDULE][lane];
    int64_t oldest, newest;
    (void)nobody, (void)arg;
    if (!find_witnesses(w, lane, &oldest, &newest) || log_stable_end(log) < log->end)
        return;
    int64_t end = newest - rng_between(&rng, 0, 20);
    if (end <= oldest)
        return;
    for (int id = 0; id < w->setup.processes; id++) {
        if (!w->processes[id].up)
            continue;
        process_crash(&w->processes[id]);
        restart_later(w, id);
    }
    oracle_cut(w, lane, end);
}

/* Events and retries are compared by offsets. Unreadable records have no timestamps. A trimmed log
   or a gap may hide the witness. Timestamps are compared with the time at which it was read. */
static void choose_cuts(struct world *w, int64_t faults_ms)
{
    enum { CUT_SEEDS = 0x637574 };
    struct rng rng = rng_of(w->seed ^ CUT_SEEDS);
    const struct faults *faults = w->faults;
    bool differs = w->setup.events != 0 || w->setup.retries || w->setup.skip_unreadable ||
                   faults->every_ms[GREAT_TRUNCATE] > 0 || faults->every_ms[GREAT_GAP] > 0 ||
                   faults->every_ms[GREAT_CLOCK] > 0;
    if (w->without_cancels || differs || w->setup.is_calm || !rng_chance(&rng, 2500))
        return;
    w->setup.cuts = true;
    for (int i = rng_int(&rng, 1, 4); i > 0; i--)
        world_at(w, rng_between(&rng, faults_ms / 4, faults_ms), NULL, cut, NULL,
                 (int64_t)(rng_next(&rng) >> 1));
}

void faults_choose(struct world *w)
{
    struct rng *rng = &w->rng;
    struct faults *faults = arena_take(&w->arena, sizeof *faults);
    w->faults = faults;
    setup_fair(w);
    choices_setup(w);
    bool one_ladder = w->setup.switch_ms == 0; /* false: processes restart with the other ladder */
    w->setup.is_calm = rng_chance(rng, 500) && w->setup.leap_ms == BRIDGE_WAIT_MAX_MS &&
                       w->setup.memory_bytes >= 4 << 20 && one_ladder;
    if (!w->setup.is_calm) {
        choices_knobs(w);
        choose_greats(w, faults);
    }
    w->setup.order_is_exact = faults->every_ms[GREAT_CLOCK] == 0 && one_ladder;
    w->setup.commits_are_prompt =
        w->knobs.commit_fails == 0 && w->knobs.commit_silent == 0 && w->knobs.commit_partly == 0 &&
        faults->every_ms[GREAT_STALL] == 0 && faults->every_ms[GREAT_ISOLATE] == 0 &&
        faults->every_ms[GREAT_COORDINATOR] == 0 && faults->every_ms[GREAT_OUTAGE] == 0;
    broker_init(&w->broker, &w->arena, w->setup.lanes);
    workload_init(w);
    int64_t faults_ms = rng_between(rng, 5000, 60000);
    choices_workload(w, faults_ms);
    facts_choose(w);
    choose_cuts(w, faults_ms);
    world_at(w, faults_ms, NULL, quiet, NULL, 0);
    for (int i = 0; i < GREAT_N; i++) {
        if (faults->every_ms[i] > 0)
            world_at(w, rng_between(rng, 0, 2 * faults->every_ms[i]), NULL, fire, NULL, i);
    }
}

/* Replaces the last processes with the old ladder. */
static void replace_old(struct world *w, struct process *p)
{
    if (!p->up)
        world_at(w, w->now_ms + 100, NULL, restart, NULL, p->id);
    else if (p->ladder == &w->setup.ladder_before && w->setup.switch_ms > 0) {
        member_stop(p);
        world_at(w, w->now_ms + 100, NULL, restart, NULL, p->id);
    }
}

void faults_end(struct world *w)
{
    trace(w, NULL, "from here on nothing goes wrong");
    w->quiet_ms = w->now_ms;
    operators_end(w);
    w->outage_until = w->coordinator_until = 0;
    memset(w->leaderless_until, 0, sizeof w->leaderless_until);
    struct knobs was = w->knobs;
    w->knobs = (struct knobs){.fetch_ms = was.fetch_ms,
                              .land_ms = was.land_ms,
                              .report_ms = was.report_ms,
                              .commit_ms = was.commit_ms,
                              .turn_ms = was.turn_ms,
                              .notice_ms = was.notice_ms,
                              .mark_ms = was.mark_ms,
                              .restart_ms = was.restart_ms};
    for (int i = TARGET_DEFAULT; i <= TARGET_B; i++) {
        w->targets[i].mood = TARGET_FINE;
        w->targets[i].ack_ms = 0; /* with little memory, hundreds of records would take minutes */
    }
    for (int id = 0; id < w->setup.processes; id++) {
        struct process *p = &w->processes[id];
        p->wall_ahead_ms = p->drift_ppm = 0;
        p->crash_in = 0;
        if (p->isolated)
            p->isolated = false;
        replace_old(w, p);
    }
    if (w->setup.switch_ms > w->now_ms)
        w->setup.switch_ms = w->now_ms;
}
