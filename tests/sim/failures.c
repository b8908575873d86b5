/* SPDX-License-Identifier: Apache-2.0 */
/* Opportunities, and the events of a process between two calls. */
#include "tests/sim/coordinator.h"
#include "tests/sim/workload.h"

enum { OUTAGE_MS = 4000, OUTAGE_LONG_MS = 10000, LEADERLESS_MS = 3000, STEP_MS = 2500 };

#define FAILURE_TEXT(id, text) text,
static const char *const texts[] = {"nothing", FAILURE_TABLE(FAILURE_TEXT)};

const char *failure_text(enum failure kind)
{
    return texts[kind];
}

bool failure_is_cancel(enum failure kind)
{
    return kind == FAILURE_CANCEL || kind == FAILURE_REPLACE || kind == FAILURE_CANCEL_KILL ||
           kind == FAILURE_REPLACE_KILL;
}

static bool is_taken(struct world *w)
{
    struct failing *f = &w->failing;
    if (f->at > 0 && f->seen == f->at)
        return false;
    struct rng all = {f->here ^ w->rng.state};
    f->before = f->here;
    f->here = rng_next(&all) + w->step;
    return ++f->seen == f->at;
}

bool fails(struct world *w, enum failure kind)
{
    if (w->failing.kind != kind || !is_taken(w))
        return false;
    trace(w, NULL, "now: %s", texts[kind]);
    return true;
}

bool dies(const struct process *p)
{
    return p->life == p->world->failing.dying_life && is_taken(p->world);
}

static void strike_member(struct world *w, struct process *p, enum failure kind)
{
    int64_t session_ms = w->setup.session_ms;
    switch (kind) {
    case FAILURE_REGROUP:
        group_regroup(w);
        break;
    case FAILURE_EXPEL:
        member_expel(w, p->id);
        group_regroup(w);
        break;
    case FAILURE_ISOLATE:
        member_isolate(p, session_ms + session_ms / 2);
        break;
    case FAILURE_STALL:
        process_stall(p, session_ms + session_ms / 2);
        break;
    case FAILURE_STALL_HALF:
        process_stall(p, session_ms / 2 + session_ms / 4);
        break;
    default:
        member_stop(p);
        break;
    }
}

static void cancel_all(struct world *w, enum request_op op)
{
    for (int lane = 0; lane < w->setup.lanes; lane++) {
        struct ask ask = {.lane = lane, .op = op, .target = TARGET_A, .key = "k", .delay_ms = 2000};
        workload_send(w, &ask);
    }
}

/* The process dies before it reads the cancel. */
static void strike_by_cancel(struct world *w, struct process *p, enum failure kind)
{
    bool is_cancel = kind == FAILURE_CANCEL || kind == FAILURE_CANCEL_KILL;
    cancel_all(w, is_cancel ? REQUEST_CANCEL : REQUEST_REPLACE);
    if (kind == FAILURE_CANCEL_KILL || kind == FAILURE_REPLACE_KILL)
        process_crash(p);
}

static void strike(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)arg;
    enum failure kind = (enum failure)n;
    if (w->ending && failure_is_cancel(kind))
        return; /* it was chosen in the last step before the end */
    switch (kind) {
    case FAILURE_CANCEL:
    case FAILURE_REPLACE:
    case FAILURE_CANCEL_KILL:
    case FAILURE_REPLACE_KILL:
        strike_by_cancel(w, p, kind);
        break;
    case FAILURE_OUTAGE:
        w->outage_until = w->now_ms + OUTAGE_MS;
        break;
    case FAILURE_OUTAGE_LONG:
        w->outage_until = w->now_ms + OUTAGE_LONG_MS;
        break;
    case FAILURE_LEADERLESS:
        for (int i = 0; i < CHAINS_N; i++)
            world_take_leader(w, i, w->now_ms + LEADERLESS_MS);
        break;
    case FAILURE_NO_COORDINATOR:
        w->coordinator_until = w->now_ms + LEADERLESS_MS;
        break;
    case FAILURE_CLOCK_BACK:
        process_step_clock(p, -STEP_MS);
        break;
    case FAILURE_CLOCK_AHEAD:
        process_step_clock(p, STEP_MS);
        break;
    case FAILURE_FENCED:
        coordinator_fence(p->producer);
        if (clients_may_break(p))
            producer_break(p->producer);
        break;
    case FAILURE_FENCED_UNHEARD:
        coordinator_fence(p->producer);
        break;
    default:
        if (!process_is_away(p) && !p->leaving)
            strike_member(w, p, kind);
        break;
    }
}

/* Strikes after a call, because within a call only time passes. */
void failure_strikes(struct process *p)
{
    struct world *w = p->world;
    enum failure kind = w->failing.kind;
    bool transactional = kind == FAILURE_FENCED || kind == FAILURE_FENCED_UNHEARD;
    if (w->ending && failure_is_cancel(kind))
        return; /* nothing may be left to do */
    if (kind >= FAILURE_REGROUP && (w->setup.exactly_once || !transactional) && fails(w, kind))
        world_at(w, w->now_ms, p, strike, NULL, (int64_t)kind);
}
