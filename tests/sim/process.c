/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: lives, clocks and turns. This is the loop of a worker around the bridge, in virtual
   time. */
#include "tests/sim/digest.h"
#include "tests/sim/operators.h"
#include "tests/sim/oracle.h"
#include "tests/sim/producer.h"

#include <assert.h>

enum { IDLE_TURNS_MAX = 100, DRIFT_MS_MAX = 1000, LITTLE_MEMORY = 1 << 17 };

struct now process_clock(const struct process *p)
{
    int64_t passed_ms = p->world->now_ms - p->born_ms;
    return (struct now){.wall_ms = EPOCH_MS + p->world->now_ms + p->wall_ahead_ms +
                                   passed_ms * p->drift_ppm / 1000000,
                        .mono_ms = 1000000 * (p->id + 1) + p->world->now_ms};
}

static void note_skew(struct process *p)
{
    int64_t skew_ms = process_clock(p).wall_ms - EPOCH_MS - p->world->now_ms;
    skew_ms = skew_ms < 0 ? -skew_ms : skew_ms;
    if (skew_ms + DRIFT_MS_MAX > p->world->skew_ms_max)
        p->world->skew_ms_max = skew_ms + DRIFT_MS_MAX;
}

void process_step_clock(struct process *p, int64_t by_ms)
{
    trace(p->world, p, "clock steps by %lld ms", (long long)by_ms);
    p->wall_ahead_ms += by_ms;
    note_skew(p);
}

/* Retires the levels that only the other ladder has: they are read until they are empty. Before the
   switch, a process knows the levels of the new ladder only if the setup has foretold them. */
static int retired_levels(const struct ladder *own, const struct ladder *other, int64_t *retired_ms)
{
    int n = 0;
    for (int i = 0; i < other->n; i++) {
        bool kept = false;
        for (int j = 0; j < own->n; j++)
            kept |= own->level_ms[j] == other->level_ms[i];
        if (!kept)
            retired_ms[n++] = other->level_ms[i];
    }
    return n;
}

static struct bridge_config configure(struct process *p)
{
    struct world *w = p->world;
    bool old = w->now_ms < w->setup.switch_ms;
    p->ladder = old ? &w->setup.ladder_before : &w->setup.ladder;
    const struct ladder *other = old ? &w->setup.ladder : &w->setup.ladder_before;
    bool reads_both = !old || w->setup.levels_foretold;
    int retired_n = reads_both ? retired_levels(p->ladder, other, p->retired_ms) : 0;
    p->slots = 1 + p->ladder->n + retired_n;
    for (int i = 0; i < p->ladder->n; i++)
        p->topic_of_slot[1 + i] = broker_topic(&w->broker, p->ladder->level_ms[i]);
    for (int i = 0; i < retired_n; i++)
        p->topic_of_slot[1 + p->ladder->n + i] = broker_topic(&w->broker, p->retired_ms[i]);
    return (struct bridge_config){.ladder = *p->ladder,
                                  .hold_ms = w->setup.hold_ms,
                                  .retired_ms = p->retired_ms,
                                  .retired_n = retired_n,
                                  .lanes = w->setup.lanes,
                                  .rules = w->rules,
                                  .max_attempts = w->setup.max_attempts,
                                  .target_rules = operators_rules(w),
                                  .memory_bytes = w->setup.memory_bytes,
                                  .bulk_bytes = w->setup.bulk_bytes,
                                  .large_bytes = w->setup.large_bytes,
                                  .cancel_memory = w->setup.cancel_memory,
                                  .limited_max = w->setup.limited_max,
                                  .hash_seed = w->seed,
                                  .seal_ms = w->setup.seal_ms,
                                  .events = w->setup.events,
                                  .events_lossy = w->setup.events_lossy,
                                  .event_source = "sim",
                                  .commit_text_max = w->setup.commit_text_max,
                                  .commit_again_ms = w->setup.commit_again_ms,
                                  .record_max_bytes = bug_record_max(w),
                                  .exactly_once = w->setup.exactly_once,
                                  .txn_records_max = w->setup.txn_records_max,
                                  .txn_bytes_max = w->setup.txn_bytes_max,
                                  .control = w->setup.control,
                                  .skip_unreadable = w->setup.skip_unreadable,
                                  .session_ms = w->setup.session_ms,
                                  .target_labels = {1, 2, 3, 4, 5, 6, 7, 8}};
}

void process_start(struct world *w, int id)
{
    struct process *p = &w->processes[id];
    int64_t wall_ahead_ms = p->wall_ahead_ms, drift_ppm = p->drift_ppm;
    *p = (struct process){.world = w,
                          .id = id,
                          .life = ++w->lives,
                          .up = true,
                          .born_ms = w->now_ms,
                          .wall_ahead_ms = wall_ahead_ms,
                          .drift_ppm = drift_ppm,
                          .turn_at = INT64_MAX};
    p->reports_end = &p->reports;
    clients_start(p);
    p->clock = p->now = process_clock(p);
    p->turned_mono_ms = p->now.mono_ms;
    struct bridge_config config = configure(p);
    struct port port = recorder_port(p, bug_port(p, port_of(p)));
    trace(w, p, "starts");
    p->bridge = bridge_new(&config, &port, &p->stats, bug_now(p, p->now));
    assert(p->bridge != NULL && bridge_queues_per_lane(p->bridge) == p->slots);
    operators_process_starts(p);
    process_turn_by(p, w->now_ms);
    member_join(p);
}

void process_free(struct process *p)
{
    if (!p->dead) /* else its last refusals were not reported */
        oracle_counters(p);
    p->dead = true;
    for (int lane = 0; lane < p->world->setup.lanes; lane++)
        bug_forget(p, lane);
    bridge_free(p->bridge);
    stats_sum(&p->world->totals, &p->stats);
    p->bridge = NULL;
    p->up = false;
    if (p->outstanding != 0)
        world_fail(p->world, "%zu records were not returned", p->outstanding);
}

/* kill -9: its memory is lost. Its requests may still arrive. */
void process_crash(struct process *p)
{
    struct world *w = p->world;
    trace(w, p, "crashes");
    w->crashes++;
    oracle_process_ends(p);
    clients_died(p, false);
    process_free(p);
    member_gone(p, rng_chance(&w->rng, 5000));
}

void process_before(struct process *p)
{
    p->clock = process_clock(p);
    p->now = bug_now(p, p->clock);
    p->calls_at_turn = p->calls;
}

bool process_after(struct process *p)
{
    struct world *w = p->world;
    if (p->dead) {
        process_crash(p);
        return false;
    }
    bool worked = p->calls != p->calls_at_turn;
    if (w->strict || w->step % (worked ? 4 : 64) == 0)
        bridge_check(p->bridge);
    oracle_process_bounds(p);
    if (worked)
        failure_strikes(p);
    return true;
}

bool process_is_away(const struct process *p)
{
    return !p->up || p->stalled;
}

static void unstall(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)arg;
    (void)n;
    if (w->now_ms < p->stalled_until)
        return;
    p->stalled = false;
    trace(w, p, "wakes");
    process_turn_by(p, w->now_ms);
}

void process_stall(struct process *p, int64_t for_ms)
{
    struct world *w = p->world;
    trace(w, p, "is stalled for %lld ms", (long long)for_ms);
    p->stalled = true;
    p->stalled_until = w->now_ms + for_ms;
    world_at(w, p->stalled_until, p, unstall, NULL, 0);
    member_silent(p, for_ms);
}

/* Notices a long pause, after which the process may have been fenced. It must not forward a record
   before a commit, sent after the pause, has succeeded. With at-least-once, a process without
   committed offsets and read records has nothing to commit. It may deliver records again. */
static void notice_pause(struct process *p)
{
    bool owns = false, knows = false;
    for (int lane = 0; lane < LANES_MAX; lane++) {
        owns |= p->lanes[lane].owned;
        knows |= p->lanes[lane].owned && p->lanes[lane].has_base;
    }
    if (p->clock.mono_ms - p->turned_mono_ms > p->world->setup.session_ms / 2) {
        p->unproven |= knows;
        p->woke_step = p->world->step;
        p->world->unprovable |= owns && !knows;
    }
    p->turned_mono_ms = p->clock.mono_ms;
}

/* Fails if the bridge repeatedly requests an immediate turn and then does nothing: it would use up
   a core. */
static void watch_spin(struct process *p, int64_t wait_ms)
{
    if (wait_ms > 0 || p->calls != p->calls_at_turn)
        p->idle_turns = 0;
    else if (++p->idle_turns > IDLE_TURNS_MAX)
        world_fail(p->world, "p%d spins: %d immediate turns without any work", p->id,
                   p->idle_turns);
}

/* Begins a turn. A turn takes time, so its clock may be older than now, but not older than the last
   call. */
static void begin_turn(struct process *p)
{
    const struct knobs *knobs = &p->world->knobs;
    int64_t last_ms = p->clock.mono_ms;
    process_before(p);
    int64_t passed_ms = p->clock.mono_ms - last_ms;
    int64_t age_ms = knobs->turn_age_ms < passed_ms ? knobs->turn_age_ms : passed_ms;
    p->clock.mono_ms -= age_ms;
    p->clock.wall_ms -= age_ms + knobs->turn_step_ms;
    p->now = bug_now(p, p->clock);
}

/* Returns the time until the next turn of an idle process. A leap would keep records in memory for
   a minute, although they are due within a second. If they fill the memory, each leap would admit
   only a few requests. */
static int64_t leap_ms(const struct process *p)
{
    const struct setup *setup = &p->world->setup;
    bool crowded = p->outstanding > 0 && setup->memory_bytes <= LITTLE_MEMORY;
    return crowded ? BRIDGE_WAIT_MAX_MS : setup->leap_ms;
}

static void turn(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)arg;
    (void)n;
    if (p->turn_at != w->now_ms)
        return;
    p->turn_at = INT64_MAX;
    if (p->stalled || p->member == MEMBER_REVOKING ||
        w->knobs.hold_turns) /* revoke starts turns again */
        return;
    if (bridge_must_reread(p->bridge) && rng_chance(&w->rng, 7000)) /* or in a later turn */
        member_reread(p);
    if (!p->up)
        return;
    begin_turn(p);
    notice_pause(p);
    p->may_act = true;
    int64_t wait_ms = bridge_turn(p->bridge, p->now);
    p->may_act = false;
    if (!process_after(p))
        return;
    if (wait_ms < 0 || wait_ms > BRIDGE_WAIT_MAX_MS)
        world_fail(w, "p%d requests its next turn in %lld ms", p->id, (long long)wait_ms);
    watch_spin(p, wait_ms);
    if (wait_ms == BRIDGE_WAIT_MAX_MS)
        wait_ms = leap_ms(p);
    process_turn_by(p, w->now_ms + wait_ms + world_delay(w, w->knobs.turn_ms));
}

void process_turn_by(struct process *p, int64_t at_ms)
{
    if (at_ms < p->world->now_ms)
        at_ms = p->world->now_ms;
    if (at_ms >= p->turn_at)
        return;
    p->turn_at = at_ms;
    world_at(p->world, at_ms, p, turn, NULL, 0);
}
