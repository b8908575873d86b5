/* SPDX-License-Identifier: Apache-2.0 */
/* Faults: small ones have a probability, great ones happen at certain times. */
#include "tests/sim/faults.h"
#include "tests/sim/coordinator.h"
#include "tests/sim/facts.h"
#include "tests/sim/operators.h"
#include "tests/sim/retries.h"
#include "tests/sim/spreads.h"
#include "tests/sim/workload.h"

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
    bool slow = p->apart != NULL && p->apart->attempts != NULL;
    if (slow && rng_chance(&p->world->retry_rng, 5000)) {
        coordinator_fence(p->apart);
        return;
    }
    coordinator_fence(p->producer);
    if (!p->restarting && p->commit_answered == p->commit_sent && rng_chance(&p->world->rng, 5000))
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

void setup_fair(struct world *w)
{
    w->setup = (struct setup){
        .processes = 1,
        .lanes = 1,
        .ladder = {.level_ms = {1000, 5000, 30000}, .n = 3, .hold_ms = 1000, .slack_ms = 500},
        .memory_bytes = 4 << 20,
        .session_ms = 6000,
        .leap_ms = BRIDGE_WAIT_MAX_MS,
        .max_attempts = 4,
        .default_target = true};
    w->knobs = (struct knobs){.fetch_ms = 20,
                              .land_ms = 20,
                              .report_ms = 5,
                              .commit_ms = 10,
                              .turn_ms = 1,
                              .notice_ms = 100,
                              .mark_ms = 10,
                              .restart_ms = 100,
                              .restarts_at_once = 5000};
}

static void choose_ladder(struct rng *rng, struct ladder *ladder)
{
    static const struct ladder some[] = {
        {{1000, 5000, 30000}, 3, 1000, 500},
        {{1000, 2000, 5000, 10000, 30000, 60000}, 6, 1000, 500},
        {{300, 1000, 4000}, 3, 200, 100},
        {{2000, 10000, 60000}, 3, 2000, 500},
        {{1000, 5000, 10000, 30000}, 4, 3000, 0},
        {{1000}, 1, 500, 700},
    };
    *ladder = some[rng_int(rng, 0, sizeof some / sizeof some[0] - 1)];
}

static int choose_chance(struct rng *rng, int at_most)
{
    return rng_chance(rng, 3500) ? rng_int(rng, 1, at_most) : 0;
}

static void choose_knobs(struct rng *rng, struct knobs *knobs)
{
    int scale = rng_int(rng, 1, 4);
    knobs->fetch_ms = rng_between(rng, 2, 100 * scale);
    knobs->land_ms = rng_between(rng, 2, 150 * scale);
    knobs->report_ms = rng_between(rng, 0, 50 * scale);
    knobs->commit_ms = rng_between(rng, 1, 100 * scale);
    knobs->turn_ms = rng_between(rng, 0, 4 * scale);
    knobs->mark_ms = rng_between(rng, 0, 50 * scale);
    knobs->restart_ms = rng_between(rng, 5, 1000 * scale);
    knobs->restarts_at_once = choose_chance(rng, 10000);
    knobs->late_wake = choose_chance(rng, 1000);
    knobs->never_wake = rng_chance(rng, 1000) ? rng_int(rng, 1, 2000) : 0;
    knobs->take_nothing = choose_chance(rng, 1000);
    knobs->stale_after_seek = choose_chance(rng, 5000);
    knobs->ahead_after_seek = choose_chance(rng, 5000);
    knobs->skip_once = choose_chance(rng, 2000);
    knobs->full = choose_chance(rng, 2000);
    knobs->no_memory = choose_chance(rng, 2000);
    knobs->timed_out = choose_chance(rng, 300);
    knobs->not_sent = choose_chance(rng, 500);
    knobs->batch = choose_chance(rng, 500);
    knobs->commit_fails = choose_chance(rng, 5000);
    knobs->commit_silent = choose_chance(rng, 1000);
    knobs->commit_partly = choose_chance(rng, 1000);
    knobs->lookup_unknown = choose_chance(rng, 5000);
    knobs->lookup_pending = choose_chance(rng, 9000);
}

/* Chooses a seed of hours or days of virtual time, with long leaps between turns. */
static void choose_long(struct world *w)
{
    static const struct ladder hours = {{1000, 60000, 3600000, 43200000}, 4, 1000, 500};
    w->setup.ladder = w->setup.ladder_before = hours;
    w->setup.session_ms = 200000;
    w->setup.leap_ms = 60000;
}

static void choose_setup(struct world *w)
{
    struct rng *rng = &w->rng;
    struct setup *setup = &w->setup;
    setup->processes = rng_int(rng, 1, 3);
    setup->lanes = rng_int(rng, 1, 3);
    setup->exactly_once = rng_chance(rng, 5000);
    if (w->mode != MODE_OF_SEED)
        setup->exactly_once = w->mode == MODE_EXACTLY_ONCE;
    setup->producers_have_names = rng_chance(rng, 5000);
    setup->default_target = rng_chance(rng, 8000);
    setup->max_attempts = rng_int(rng, 1, 4);
    choose_ladder(rng, &setup->ladder);
    setup->ladder_before = setup->ladder;
    if (rng_chance(rng, 1500)) {
        choose_ladder(rng, &setup->ladder_before);
        setup->switch_ms = rng_between(rng, 5000, 30000);
    }
    if (rng_chance(rng, 2000))
        setup->memory_bytes = 1 << rng_int(rng, 12, 16);
    if (rng_chance(rng, 800)) {
        setup->floods = true;
        setup->lanes = 1;
        setup->memory_bytes = 1 << rng_int(rng, 16, 17);
    }
    setup->bulk_bytes = setup->memory_bytes / 16;
    setup->large_bytes = setup->memory_bytes / 8;
    if (rng_chance(rng, 1000))
        setup->leap_ms = 2500;
    if (rng_chance(rng, 400))
        choose_long(w);
    setup->skip_unreadable = rng_chance(rng, 3000);
    if (rng_chance(rng, 3000))
        setup->request_max_bytes = REQUEST_BYTES_MAX;
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

static void send(struct world *w, struct process *nobody, void *arg, int64_t most_ms)
{
    (void)nobody;
    (void)arg;
    int most = w->setup.floods ? 200 : 60;
    int burst = rng_chance(&w->rng, 300) ? rng_int(&w->rng, 20, most) : 1;
    for (int i = 0; i < burst; i++)
        workload_random(w, most_ms);
}

static void choose_workload(struct world *w, int64_t faults_ms)
{
    struct rng *rng = &w->rng;
    const struct ladder *ladder = &w->setup.ladder;
    int64_t most_ms = ladder->level_ms[ladder->n - 1] * rng_int(rng, 1, 4);
    int n = rng_int(rng, 10, 150);
    for (int i = 0; i < n; i++)
        world_at(w, rng_between(rng, 0, faults_ms), NULL, send, NULL, most_ms);
}

static void cancel(struct world *w, struct process *nobody, void *arg, int64_t most_ms)
{
    (void)nobody;
    (void)arg;
    workload_cancel(w, most_ms);
}

/* Each seed has cancels, from few to more than requests. Half of the tables are small. Seals follow
   each other faster than in life, with the timeouts of clients in proportion. All processes read
   the levels that any of them writes, as operators must ensure. A process that does not know a
   level would let the cancels of its records die. */
static void choose_cancels(struct world *w, int64_t faults_ms)
{
    static const int64_t seals_ms[] = {1000, 2000, 10000, 60000};
    struct rng *rng = &w->cancel_rng;
    const struct ladder *ladder = &w->setup.ladder;
    if (w->without_cancels)
        return;
    w->setup.cancel_memory = rng_chance(rng, 5000) ? 1 << 20 : (size_t)rng_int(rng, 300, 2000);
    w->setup.seal_ms = seals_ms[rng_int(rng, 0, 3)];
    w->setup.levels_foretold = true;
    w->knobs.ends_lost = w->setup.is_calm ? 0 : choose_chance(rng, 3000);
    int64_t most_ms = ladder->level_ms[ladder->n - 1] * 2;
    int n = rng_int(rng, 1, 1 << rng_int(rng, 2, 7));
    for (int i = 0; i < n; i++)
        world_at(w, rng_between(rng, 0, faults_ms), NULL, cancel, NULL, most_ms);
}

static void retry(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    (void)nobody;
    (void)arg;
    (void)n;
    retries_random(w);
}

static void spread(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    const struct ladder *ladder = &w->setup.ladder;
    (void)nobody;
    (void)arg;
    (void)n;
    spreads_random(w, ladder->level_ms[ladder->n - 1]);
}

/* A third of the seeds has consumers that retry, and requests with a spread. */
static void choose_retries(struct world *w, int64_t faults_ms)
{
    struct rng *rng = &w->retry_rng;
    if (w->without_cancels || !rng_chance(rng, 3333))
        return;
    for (int n = rng_int(rng, 1, 60); n > 0; n--)
        world_at(w, rng_between(rng, 0, faults_ms), NULL, retry, NULL, 0);
    for (int n = rng_int(rng, 0, 40); n > 0; n--)
        world_at(w, rng_between(rng, 0, faults_ms), NULL, spread, NULL, 0);
}

static void operate(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    (void)nobody;
    (void)arg;
    (void)n;
    operators_random(w);
}

/* A third of the seeds has operators that pause and limit targets. */
static void choose_controls(struct world *w, int64_t faults_ms)
{
    struct rng *rng = &w->control_rng;
    if (w->without_cancels || !rng_chance(rng, 3333))
        return;
    w->setup.control = true;
    for (int n = rng_int(rng, 0, 12); n > 0; n--)
        world_at(w, rng_between(rng, 0, faults_ms), NULL, operate, NULL, 0);
}

static void ask_next_to_a_slow_target(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    struct rng *rng = &w->retry_rng;
    (void)nobody;
    (void)arg;
    struct ask ask = {.lane = rng_int(rng, 0, w->setup.lanes - 1),
                      .target = n % 2 == 0 ? TARGET_A : TARGET_B,
                      .has_value = true};
    ask.delay_ms = rng_chance(rng, 5000) ? 0 : rng_between(rng, 0, 3000);
    ask.value_len = (size_t)rng_int(rng, 0, 30);
    workload_send(w, &ask);
}

/* Half of the seeds with exactly-once have a target that acknowledges slowly, and a stream of
   requests for it and for another one. */
static void choose_slow(struct world *w, int64_t faults_ms)
{
    struct rng *rng = &w->retry_rng;
    if (w->without_cancels || !w->setup.exactly_once || w->setup.is_calm || !rng_chance(rng, 5000))
        return;
    w->targets[TARGET_A].ack_ms = rng_between(rng, 100, 2000);
    w->knobs.refuse_apart = choose_chance(rng, 5000);
    int64_t from_ms = rng_between(rng, 0, faults_ms), every_ms = rng_between(rng, 20, 400);
    int n = rng_int(rng, 20, w->setup.memory_bytes < 4 << 20 ? 30 : 200);
    for (int i = 0; i < n && from_ms + i * every_ms < faults_ms; i++)
        world_at(w, from_ms + i * every_ms, NULL, ask_next_to_a_slow_target, NULL, i);
}

static void quiet(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    (void)nobody;
    (void)arg;
    (void)n;
    faults_end(w);
}

void faults_choose(struct world *w)
{
    struct rng *rng = &w->rng;
    struct faults *faults = arena_take(&w->arena, sizeof *faults);
    w->faults = faults;
    setup_fair(w);
    choose_setup(w);
    bool one_ladder = w->setup.switch_ms == 0; /* false: processes restart with the other ladder */
    w->setup.is_calm = rng_chance(rng, 500) && w->setup.leap_ms == BRIDGE_WAIT_MAX_MS &&
                       w->setup.memory_bytes >= 4 << 20 && one_ladder;
    if (!w->setup.is_calm) {
        choose_knobs(rng, &w->knobs);
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
    choose_workload(w, faults_ms);
    choose_cancels(w, faults_ms);
    choose_retries(w, faults_ms);
    choose_controls(w, faults_ms);
    choose_slow(w, faults_ms);
    facts_choose(w);
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
                              .restart_ms = was.restart_ms,
                              .restarts_at_once = was.restarts_at_once};
    for (int i = TARGET_DEFAULT; i <= TARGET_B; i++)
        w->targets[i].mood = TARGET_FINE;
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
