/* SPDX-License-Identifier: Apache-2.0 */
/* The group with the eager protocol: every rebalance revokes all lanes of all members. Each member
   settles and commits, then the lanes are assigned again. A member that is silent for too long is
   removed, perhaps without its knowledge. */
#include "tests/sim/coordinator.h"
#include "tests/sim/loads.h"
#include "tests/sim/operators.h"
#include "tests/sim/oracle.h"
#include "tests/sim/voids.h"

enum { SETTLE_MS_MAX = 2000, COMMIT_WAIT_MS = 1000, STEP_MS = 5 };

static void notice(struct world *w, struct process *p, void *arg, int64_t n);
static void revoke(struct world *w, struct process *p, void *arg, int64_t n);
static void try_complete(struct world *w);
static void leave(struct process *p);

bool member_is_known(const struct process *p)
{
    return p->up && p->world->known_life[p->id] == p->life;
}

static void join(struct world *w, struct process *p, void *arg, int64_t n)
{
    if (p->member != MEMBER_OUT)
        return;
    if (p->isolated || world_coordinator_back(w) > w->now_ms) {
        world_at(w, w->now_ms + 100, p, join, arg, n);
        return;
    }
    trace(w, p, "joins");
    p->member = MEMBER_JOINING;
    w->known_life[p->id] = p->life;
    group_regroup(w);
}

void member_join(struct process *p)
{
    struct world *w = p->world;
    world_at(w, w->now_ms + world_delay(w, 2 * w->knobs.notice_ms), p, join, NULL, 0);
}

static void lose_lanes(struct process *p)
{
    for (int lane = 0; lane < p->world->setup.lanes; lane++) {
        if (!p->lanes[lane].owned)
            continue;
        process_before(p);
        bug_lane_lost(p, lane);
        loads_end(p, lane);
        for (int slot = 0; slot < p->slots; slot++)
            inbox_close(p, (struct queue_id){lane * p->slots + slot, lane, slot});
        p->lanes[lane].owned = false;
        if (!process_after(p))
            return;
    }
}

/* The client learns that it was removed from the group. It has no time to settle. */
static void lost(struct world *w, struct process *p, void *arg, int64_t n)
{
    if (p->member == MEMBER_OUT || member_is_known(p))
        return;
    if (p->stalled) {
        world_at(w, p->stalled_until + world_delay(w, 400), p, lost, arg, n);
        return;
    }
    trace(w, p, "has lost its membership");
    lose_lanes(p);
    if (!p->up)
        return;
    p->member = MEMBER_OUT;
    if (p->leaving) {
        leave(p);
        return;
    }
    process_turn_by(p, w->now_ms);
    member_join(p);
}

void member_expel(struct world *w, int id)
{
    struct process *p = &w->processes[id];
    trace(w, p, "is removed from the group");
    if (member_is_known(p))
        world_at(w, w->now_ms + world_delay(w, 800), p, lost, NULL, 0);
    w->known_life[id] = NO_LIFE;
}

/* Removes each member that has not joined again in time. */
static void regroup_timeout(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    (void)nobody;
    (void)arg;
    if (!w->regrouping || w->broker.generation != n)
        return;
    for (int id = 0; id < w->setup.processes; id++) {
        if (w->known_life[id] != NO_LIFE && w->processes[id].member != MEMBER_JOINING)
            member_expel(w, id);
    }
    try_complete(w);
}

void group_regroup(struct world *w)
{
    if (!w->regrouping) {
        trace(w, NULL, "the group is formed again");
        w->regrouping = true;
        for (int id = 0; id < w->setup.processes; id++) {
            if (member_is_known(&w->processes[id]))
                world_at(w, w->now_ms + world_delay(w, w->knobs.notice_ms), &w->processes[id],
                         notice, NULL, w->broker.generation);
        }
        world_at(w, w->now_ms + w->setup.session_ms + SETTLE_MS_MAX + COMMIT_WAIT_MS, NULL,
                 regroup_timeout, NULL, w->broker.generation);
    }
    try_complete(w);
}

static void regroup_later(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    (void)nobody;
    (void)arg;
    (void)n;
    group_regroup(w);
}

/* Whether a log without a committed offset gets one at its start, and whether the process knows. */
enum placing { PLACES_TAKEN, PLACES_UNCOMMITTED, PLACES_UNKNOWN };

static bool is_placeless(const struct process *p)
{
    for (int lane = 0; lane < p->world->setup.lanes; lane++) {
        for (int slot = 0; slot < p->slots; slot++) {
            if ((p->assigned >> lane & 1) &&
                p->world->broker.committed[p->topic_of_slot[slot]][lane] == NULL)
                return true;
        }
    }
    return false;
}

static enum placing place_lanes(struct process *p)
{
    struct world *w = p->world;
    if (!is_placeless(p))
        return PLACES_TAKEN;
    if (w->knobs.no_places)
        return PLACES_UNKNOWN;
    int fails = w->knobs.commit_fails;
    if (!member_is_known(p) || (fails > 0 && rng_chance(&w->rng, fails)))
        return rng_chance(&w->rng, 5000) ? PLACES_UNCOMMITTED : PLACES_UNKNOWN;
    return PLACES_TAKEN;
}

static const struct committed *place(struct process *p, int topic, int lane)
{
    struct world *w = p->world;
    struct committed *first = arena_take(&w->arena, sizeof *first);
    *first = (struct committed){.base = w->broker.logs[topic][lane].start,
                                .text = bytes_text(""),
                                .life = p->life,
                                .epoch = p->lanes[lane].epoch,
                                .sent_step = w->step,
                                .cuts = w->broker.logs[topic][lane].cuts};
    offsets_count(w, &(struct offset_item){topic, lane, first}, 1, p->life);
    return first;
}

static void open_lane(struct process *p, int lane, enum placing placing, struct start *starts)
{
    struct world *w = p->world;
    struct held_lane *held = &p->lanes[lane];
    held->owned = true;
    held->has_base = false;
    held->epoch++;
    held->gained_step = w->step;
    for (int slot = 0; slot < p->slots; slot++) {
        int topic = p->topic_of_slot[slot];
        const struct committed *c = w->broker.committed[topic][lane];
        starts[slot] = (struct start){.offset = c ? c->base : WINDOW_UNSET,
                                      .text = c ? c->text : bytes_text(""),
                                      .witnesses = c ? c->witnesses : bytes_text("")};
        starts[slot].missing = w->missing[topic];
        if (c == NULL && placing != PLACES_UNKNOWN && !w->missing[topic])
            starts[slot] =
                (struct start){.offset = w->broker.logs[topic][lane].start, .fresh = true};
        if (c == NULL)
            held->fresh_epoch[topic] = held->epoch;
        if (c == NULL && placing == PLACES_TAKEN && !w->missing[topic])
            c = place(p, topic, lane);
        held->start[topic] = c;
        held->has_base |= starts[slot].offset != WINDOW_UNSET;
        bug_start(p, lane, slot, &starts[slot]);
        inbox_open(p, (struct queue_id){lane * p->slots + slot, lane, slot}, starts[slot].offset);
    }
}

/* Returns whether the offsets of its lanes are stable: no open transaction holds them. */
static bool is_stable(const struct process *p)
{
    for (int lane = 0; lane < p->world->setup.lanes; lane++) {
        for (int slot = 0; slot < p->slots; slot++) {
            if ((p->assigned >> lane & 1) &&
                p->world->broker.pending_offsets[p->topic_of_slot[slot]][lane] > 0)
                return false;
        }
    }
    return true;
}

/* The query waits for offsets that are pending, and a client that was left has sent no commit. */
static void gain(struct world *w, struct process *p, void *arg, int64_t n)
{
    if (p->member != MEMBER_ASSIGNED || p->generation != n)
        return;
    if (p->stalled || world_coordinator_back(w) > w->now_ms) {
        int64_t at_ms = p->stalled ? p->stalled_until : world_coordinator_back(w);
        world_at(w, at_ms + world_delay(w, 20), p, gain, arg, n);
        return;
    }
    if (!bridge_may_gain(p->bridge) && w->bug != BUG_REREAD_TOO_SOON) {
        world_at(w, w->now_ms + STEP_MS, p, gain, arg, n);
        return;
    }
    for (int i = 0; i < TXN_CLIENTS && p->rereads; i++) {
        const struct client_model *c = &p->clients[i];
        bool is_open = c->handle != NULL && coordinator_is_open(c->handle);
        if (c->call == CALL_DESTROY && is_open && !c->was_left)
            world_fail(w, "p%d asks for offsets before client %d is destroyed", p->id, i);
    }
    p->unstable = !is_stable(p);
    if (p->unstable && !bug_reads_unstable(p)) {
        world_at(w, w->now_ms + STEP_MS, p, gain, arg, n);
        return;
    }
    bool rereads = p->rereads; /* in the same generation */
    enum placing placing = place_lanes(p);
    if (w->setup.exactly_once && placing != PLACES_TAKEN) {
        world_at(w, w->now_ms + STEP_MS, p, gain, arg, n);
        return;
    }
    p->member = MEMBER_STABLE;
    p->unproven = false;
    p->unstable = p->rereads = false;
    p->ready_ms = w->now_ms;
    for (int lane = 0; lane < w->setup.lanes; lane++) {
        if (!(p->assigned >> lane & 1)) {
            p->lanes[lane].away_epoch = p->lanes[lane].epoch + 1;
            continue;
        }
        trace(w, p, "gains lane %d", lane);
        struct start starts[TOPICS_MAX];
        open_lane(p, lane, placing, starts);
        starts[SLOT_SCHEDULE].kept = rereads;
        void_lane_gained(p, lane, rereads);
        process_before(p);
        int unusable = bridge_lane_assigned(p->bridge, lane, starts, p->now);
        if (!process_after(p))
            return;
        if (unusable > 0)
            oracle_unusable(p, lane, unusable);
    }
    bridge_lanes_settled(p->bridge);
    if (!rereads)
        operators_lanes_changed(p);
    process_turn_by(p, w->now_ms);
}

void member_reread(struct process *p)
{
    lose_lanes(p);
    if (!p->up || p->member != MEMBER_STABLE)
        return;
    p->member = MEMBER_ASSIGNED;
    p->rereads = true;
    world_at(p->world, p->world->now_ms + world_delay(p->world, 20), p, gain, NULL, p->generation);
}

static void try_complete(struct world *w)
{
    if (!w->regrouping)
        return;
    struct process *members[PROCESSES_MAX];
    int n = 0;
    for (int id = 0; id < w->setup.processes; id++) {
        if (w->known_life[id] == NO_LIFE)
            continue;
        if (w->processes[id].member != MEMBER_JOINING)
            return;
        members[n++] = &w->processes[id];
    }
    if (w->ghosts_until > w->now_ms) {
        world_at(w, w->ghosts_until, NULL, regroup_later, NULL, 0);
        return;
    }
    w->regrouping = false;
    w->broker.generation++;
    counter_add(&w->totals.rebalances, 1);
    trace(w, NULL, "generation %d with %d members", w->broker.generation, n);
    int first = rng_int(&w->rng, 0, PROCESSES_MAX);
    for (int i = 0; i < n; i++) {
        members[i]->member = MEMBER_ASSIGNED;
        members[i]->generation = w->broker.generation;
        members[i]->assigned = 0;
        members[i]->rereads = false;
        world_at(w, w->now_ms + world_delay(w, 40), members[i], gain, NULL, w->broker.generation);
    }
    for (int lane = 0; lane < w->setup.lanes; lane++) {
        struct process *owner = n > 0 ? members[(lane + first) % n] : NULL;
        w->broker.owner_life[lane] = owner ? owner->life : NO_LIFE;
        if (owner != NULL)
            owner->assigned |= 1u << lane;
    }
}

static void revoke_begin(struct process *p)
{
    struct world *w = p->world;
    trace(w, p, "releases its lanes");
    p->member = MEMBER_REVOKING;
    p->settled = false;
    p->deadline_ms = w->now_ms + rng_between(&w->rng, 0, SETTLE_MS_MAX);
    world_at(w, w->now_ms, p, revoke, NULL, 0);
}

/* Returns whether it must wait for pending offsets. It has no lanes meanwhile. */
static bool waits_for_offsets(const struct process *p)
{
    return p->member == MEMBER_ASSIGNED && (p->rereads || p->unstable);
}

static void notice(struct world *w, struct process *p, void *arg, int64_t n)
{
    if (!w->regrouping || w->broker.generation != n || !member_is_known(p) || p->isolated)
        return;
    if (p->stalled)
        world_at(w, p->stalled_until + world_delay(w, 200), p, notice, arg, n);
    else if (p->member == MEMBER_STABLE || waits_for_offsets(p))
        revoke_begin(p);
    else if (p->member == MEMBER_ASSIGNED)
        world_at(w, w->now_ms + STEP_MS, p, notice, arg, n);
}

static void leave(struct process *p)
{
    struct world *w = p->world;
    trace(w, p, "ends");
    clients_died(p, true);
    process_free(p);
    w->known_life[p->id] = NO_LIFE;
    w->regrouping = false; /* the next round takes place without it */
    group_regroup(w);
}

static void revoke_end(struct process *p, bool committed)
{
    struct world *w = p->world;
    if (p->settled && committed)
        oracle_clean_stop(p);
    lose_lanes(p);
    if (!p->up)
        return;
    p->member = MEMBER_JOINING;
    if (p->leaving) {
        leave(p);
        return;
    }
    process_turn_by(p, w->now_ms);
    if (!member_is_known(p)) { /* it was removed meanwhile */
        p->member = MEMBER_OUT;
        member_join(p);
        return;
    }
    try_complete(w);
}

/* Revokes the lanes. Settles until no record is in flight or time is up, commits, waits for the
   answer and releases the lanes. n: whether it waits. */
static void revoke(struct world *w, struct process *p, void *arg, int64_t n)
{
    if (p->member != MEMBER_REVOKING)
        return;
    if (p->stalled) {
        world_at(w, p->stalled_until, p, revoke, arg, n);
        return;
    }
    if (n == 0) {
        process_before(p);
        p->settled = bridge_settle(p->bridge, p->now) == 0;
        if (!process_after(p))
            return;
        if (p->settled || w->now_ms >= p->deadline_ms) {
            uint64_t sent = p->commit_sent;
            process_before(p);
            bridge_commit(p->bridge, p->now);
            if (!process_after(p))
                return;
            if (p->commit_sent == sent && !w->setup.exactly_once) {
                revoke_end(p, true);
                return;
            }
            n = 1;
            p->deadline_ms = w->now_ms + COMMIT_WAIT_MS;
        }
    } else if (w->setup.exactly_once) {
        process_before(p);
        size_t left = bridge_settle(p->bridge, p->now);
        if (!process_after(p))
            return;
        if (left == 0 || w->now_ms >= p->deadline_ms) {
            bool broken = !bridge_may_gain(p->bridge);
            revoke_end(p, left == 0 && !broken && p->commit_answered == p->commit_sent);
            return;
        }
    } else if (p->commit_answered >= p->commit_sent || w->now_ms >= p->deadline_ms) {
        revoke_end(p, p->commit_answered >= p->commit_sent && p->commit_ok);
        return;
    }
    world_at(w, w->now_ms + STEP_MS, p, revoke, arg, n);
}

static void stop(struct world *w, struct process *p, void *arg, int64_t n)
{
    if (p->stalled || (p->member == MEMBER_ASSIGNED && !waits_for_offsets(p))) {
        world_at(w, w->now_ms + 4 * STEP_MS, p, stop, arg, n);
        return;
    }
    if (p->member == MEMBER_STABLE || p->member == MEMBER_ASSIGNED)
        revoke_begin(p);
    else if (p->member != MEMBER_REVOKING)
        leave(p);
}

void member_stop(struct process *p)
{
    trace(p->world, p, "is requested to end");
    p->leaving = true;
    stop(p->world, p, NULL, 0);
}

void member_gone(struct process *p, bool at_once)
{
    struct world *w = p->world;
    int64_t until = w->now_ms + (at_once ? 30 : w->setup.session_ms);
    if (w->known_life[p->id] == NO_LIFE)
        return;
    w->known_life[p->id] = NO_LIFE;
    if (until > w->ghosts_until)
        w->ghosts_until = until;
    world_at(w, until, NULL, regroup_later, NULL, 0);
}

void member_notice(struct process *p)
{
    notice(p->world, p, NULL, p->world->broker.generation);
}
