/* SPDX-License-Identifier: Apache-2.0 */
/* Replacement of a producer, in exactly-once mode. When a transaction breaks, the bridge gives its
   producer up. The next producer fences the old one, which takes time, and then the lanes are read
   again. If the old one was never requested to commit, another producer continues at once and
   fences it later. */
#include "tests/sim/coordinator.h"
#include "tests/sim/oracle.h"

enum { POLL_MS = 5 };

static bool hears_nobody(const struct world *w, const struct process *p)
{
    return p->stalled || p->isolated || world_coordinator_back(w) > w->now_ms;
}

static void again(struct process *p, void (*run)(struct world *, struct process *, void *, int64_t),
                  void *arg)
{
    world_at(p->world, p->world->now_ms + POLL_MS, p, run, arg, 0);
}

/* Returns whether the coordinator has ended the transaction of the old one, which it does before it
   answers. */
static bool has_fenced(struct world *w, struct process *p, struct producer *old)
{
    if (hears_nobody(w, p) || w->knobs.hold_fences)
        return false;
    if (w->bug != BUG_NOT_FENCED)
        coordinator_fence(old);
    return !coordinator_is_busy(old) && !coordinator_is_held(old);
}

/* The new producer is ready. Usually all records of the old one have been reported by then. */
static void restarted(struct world *w, struct process *p, void *arg, int64_t n)
{
    struct producer *old = arg;
    (void)n;
    if (p->stalled || (old->unreported > 0 && rng_chance(&w->rng, 9500))) {
        process_turn_by(p, w->now_ms);
        again(p, restarted, arg);
        return;
    }
    trace(w, p, "has a new producer");
    p->producer = producer_new(p);
    p->commit_line = NULL;
    p->restarting = false;
    p->ready_ms = w->now_ms;
    process_before(p);
    bridge_restarted(p->bridge);
    if (!process_after(p))
        return;
    process_turn_by(p, w->now_ms);
    if (p->rereads)
        member_regain(p);
}

static void fence_later(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)n;
    if (has_fenced(w, p, arg))
        p->fencing--;
    else
        again(p, fence_later, arg);
}

static void fence(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)n;
    if (has_fenced(w, p, arg))
        world_at(w, w->now_ms + world_delay(w, w->knobs.restart_ms), p, restarted, arg, 0);
    else
        again(p, fence, arg);
}

static void lose_for_reread(struct world *w, struct process *p, void *arg, int64_t n)
{
    if (p->stalled) {
        world_at(w, p->stalled_until, p, lose_for_reread, arg, n);
        return;
    }
    if (w->bug == BUG_ABORT_KEEPS_LANES)
        return;
    member_reread(p);
    if (w->bug == BUG_REREAD_TOO_SOON && p->up)
        member_regain(p);
}

void port_abort(void *ctx, bool reread)
{
    struct process *p = ctx;
    struct world *w = p->world;
    if (!port_enter(p))
        return;
    trace(w, p, "replaces its producer%s", reread ? ", and reads again" : "");
    if (p->restarting)
        world_fail(w, "p%d replaces a producer that it does not have", p->id);
    p->restarting = true;
    p->announced = NULL;
    producer_give_up(p->producer);
    if (reread)
        world_at(w, w->now_ms, p, lose_for_reread, NULL, 0);
    bool at_once = !p->producer->asked && rng_chance(&w->rng, w->knobs.restarts_at_once);
    int64_t fence_ms = w->now_ms + rng_between(&w->rng, 0, w->knobs.restart_ms / 4);
    p->fencing += at_once;
    if (at_once)
        world_at(w, w->now_ms, p, restarted, p->producer, 0);
    world_at(w, fence_ms, p, at_once ? fence_later : fence, p->producer, 0);
}

bool port_spare(void *ctx)
{
    const struct process *p = ctx;
    return p->fencing == 0 || p->world->bug == BUG_LEADERLESS_IS_WHOLE;
}

/* Starts the first producer of a life. It first fences an earlier producer of the same name. */
static void first(struct world *w, struct process *p, void *arg, int64_t n)
{
    struct producer *old = arg;
    (void)n;
    if (old != NULL && hears_nobody(w, p)) {
        again(p, first, arg);
        return;
    }
    if (old != NULL)
        coordinator_fence(old);
    if (old != NULL && (coordinator_is_busy(old) || coordinator_is_held(old))) {
        again(p, first, arg);
        return;
    }
    p->restarting = false;
    member_join(p);
}

void process_join(struct process *p)
{
    struct world *w = p->world;
    struct producer *old = w->setup.producers_have_names ? w->named[p->id] : NULL;
    p->producer = producer_new(p);
    p->announced = NULL;
    p->fencing = 0;
    if (!w->setup.exactly_once) {
        member_join(p);
        return;
    }
    p->restarting = true;
    world_at(w, w->now_ms + world_delay(w, w->knobs.restart_ms), p, first, old, 0);
}

void process_aborted(struct process *p, enum abort_cause cause, const char *why)
{
    trace(p->world, p, "gets the report that its transaction is aborted: %s", why);
    process_before(p);
    bug_aborted(p, cause, why);
    if (process_after(p))
        process_turn_by(p, p->world->now_ms);
}

static void torn(struct world *w, struct process *p, void *arg, int64_t n)
{
    struct producer *producer = arg;
    if (p->stalled)
        world_at(w, p->stalled_until, p, torn, arg, n);
    else if (!producer->given_up)
        process_aborted(p, producer->cause, "the transaction cannot be committed");
}

void process_torn(struct process *p)
{
    struct world *w = p->world;
    struct producer *producer = p->producer;
    if (producer->told_torn)
        return;
    producer->told_torn = true;
    world_at(w, w->now_ms + world_delay(w, w->knobs.turn_ms), p, torn, producer, 0);
}
