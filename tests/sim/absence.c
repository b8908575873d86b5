/* SPDX-License-Identifier: Apache-2.0 */
/* Members without heartbeats. The coordinator removes a member that is silent for longer than a
   session. */
#include "tests/sim/world.h"

static void silence_expires(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)arg;
    (void)n;
    if (!member_is_known(p))
        return;
    member_expel(w, p->id);
    group_regroup(w);
}

void member_silent(struct process *p, int64_t for_ms)
{
    struct world *w = p->world;
    if (for_ms > w->setup.session_ms && member_is_known(p))
        world_at(w, w->now_ms + w->setup.session_ms, p, silence_expires, NULL, 0);
}

static void isolation_ends(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)arg;
    (void)n;
    trace(w, p, "is heard again");
    p->isolated = false;
    if (w->regrouping)
        member_notice(p);
}

void member_isolate(struct process *p, int64_t for_ms)
{
    struct world *w = p->world;
    trace(w, p, "is not heard by the coordinator for %lld ms", (long long)for_ms);
    p->isolated = true;
    world_at(w, w->now_ms + for_ms, p, isolation_ends, NULL, 0);
    member_silent(p, for_ms);
}
