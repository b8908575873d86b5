/* SPDX-License-Identifier: Apache-2.0 */
/* Choices: the setup of a seed, its small faults and its workload. */
#include "tests/sim/choices.h"
#include "tests/sim/operators.h"
#include "tests/sim/retries.h"
#include "tests/sim/spreads.h"
#include "tests/sim/workload.h"

void setup_fair(struct world *w)
{
    w->setup = (struct setup){
        .processes = 1,
        .lanes = 1,
        .ladder = {.level_ms = {1000, 5000, 30000}, .n = 3, .hold_ms = 1000, .slack_ms = 500},
        .memory_bytes = 4 << 20,
        .limited_max = TARGETS_N,
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
                              .restart_ms = 100};
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

void choices_knobs(struct world *w)
{
    struct rng *rng = &w->rng;
    struct knobs *knobs = &w->knobs;
    int scale = rng_int(rng, 1, 4);
    knobs->fetch_ms = rng_between(rng, 2, 100 * scale);
    knobs->land_ms = rng_between(rng, 2, 150 * scale);
    knobs->report_ms = rng_between(rng, 0, 50 * scale);
    knobs->commit_ms = rng_between(rng, 1, 100 * scale);
    knobs->turn_ms = rng_between(rng, 0, 4 * scale);
    knobs->mark_ms = rng_between(rng, 0, 50 * scale);
    knobs->restart_ms = rng_between(rng, 5, 1000 * scale);
    knobs->starts_fail = choose_chance(rng, 10000) / 4;
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

/* A third of the seeds has small transactions. */
static void choose_transactions(struct world *w)
{
    struct rng rng = rng_of(~w->seed);
    if (!rng_chance(&rng, 3333))
        return;
    w->setup.txn_records_max = (size_t)rng_int(&rng, TXN_RECORDS_MIN, 2 * TXN_RECORDS_MIN);
    w->setup.txn_bytes_max = (size_t)rng_int(&rng, 1, 4000);
}

void choices_setup(struct world *w)
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
    choose_transactions(w);
    setup->skip_unreadable = rng_chance(rng, 3000);
    if (rng_chance(rng, 3000))
        setup->request_max_bytes = REQUEST_BYTES_MAX;
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

static void choose_requests(struct world *w, int64_t faults_ms)
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

/* Each seed has cancels, from few to more than requests. Half of the tables are small, and the
   others have room for 3,276 entries, more than any seed has. Seals follow each other faster than
   in life, with the timeouts of clients in proportion. All processes read the levels that any of
   them writes, as operators must ensure. A process that does not know a level would let the cancels
   of its records die. */
static void choose_cancels(struct world *w, int64_t faults_ms)
{
    static const int64_t seals_ms[] = {1000, 2000, 10000, 60000};
    struct rng *rng = &w->cancel_rng;
    const struct ladder *ladder = &w->setup.ladder;
    if (w->without_cancels)
        return;
    w->setup.cancel_memory = rng_chance(rng, 5000) ? 1 << 16 : (size_t)rng_int(rng, 300, 2000);
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
    w->setup.retries = true;
    for (int n = rng_int(rng, 1, 60); n > 0; n--)
        world_at(w, rng_between(rng, 0, faults_ms), NULL, retry, NULL, 0);
    for (int n = rng_int(rng, 0, 40); n > 0; n--)
        world_at(w, rng_between(rng, 0, faults_ms), NULL, spread, NULL, 0);
}

static void ask_in_a_ramp(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    struct rng *rng = &w->retry_rng;
    (void)nobody;
    (void)arg;
    (void)n;
    struct ask ask = {
        .lane = rng_int(rng, 0, w->setup.lanes - 1), .target = TARGET_B, .has_value = true};
    ask.delay_ms = rng_between(rng, 0, w->setup.hold_ms * 3 / 2);
    ask.value_len = (size_t)rng_int(rng, 0, 30);
    workload_send(w, &ask);
}

/* Two of three seeds keep records, and have windows that a commit text bounds to some hundred
   offsets. In half of these, the rate of a producer rises from 2 to 200 a second within a second.
 */
static void choose_hold(struct world *w, int64_t faults_ms)
{
    struct rng *rng = &w->retry_rng;
    if (w->without_cancels)
        return;
    static const int64_t holds_ms[] = {0, 5000, 30000};
    w->setup.hold_ms = holds_ms[rng_int(rng, 0, 2)];
    if (w->setup.hold_ms <= w->setup.ladder.hold_ms)
        return;
    if (!w->setup.is_calm && rng_chance(rng, 5000))
        w->setup.commit_text_max = (size_t)rng_int(rng, 40, 200);
    if (!rng_chance(rng, 5000) || w->setup.memory_bytes < 4 << 20)
        return;
    int64_t at_ms = rng_between(rng, 0, faults_ms), every_ms = 500;
    for (int n = rng_int(rng, 20, 300); n > 0 && at_ms < faults_ms; n--) {
        world_at(w, at_ms, NULL, ask_in_a_ramp, NULL, 0);
        at_ms += every_ms;
        if (n < 280 && every_ms > 5)
            every_ms /= 2;
    }
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
    w->setup.limited_max = (size_t)rng_int(rng, 1, 4);
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
    int64_t from_ms = rng_between(rng, 0, faults_ms), every_ms = rng_between(rng, 20, 400);
    int n = rng_int(rng, 20, w->setup.memory_bytes < 4 << 20 ? 30 : 200);
    for (int i = 0; i < n && from_ms + i * every_ms < faults_ms; i++)
        world_at(w, from_ms + i * every_ms, NULL, ask_next_to_a_slow_target, NULL, i);
}

void choices_workload(struct world *w, int64_t faults_ms)
{
    choose_requests(w, faults_ms);
    choose_cancels(w, faults_ms);
    choose_retries(w, faults_ms);
    choose_controls(w, faults_ms);
    choose_slow(w, faults_ms);
    choose_hold(w, faults_ms);
}
