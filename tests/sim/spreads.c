/* SPDX-License-Identifier: Apache-2.0 */
/* Requests with dlb-spread. */
#include "tests/sim/spreads.h"

struct request *spreads_random(struct world *w, int64_t most_ms)
{
    static const char *const keys[] = {"k", "order-17", "spread"};
    struct rng *rng = &w->retry_rng;
    struct ask ask = {.lane = rng_int(rng, 0, w->setup.lanes - 1),
                      .op = rng_chance(rng, 1500) && w->setup.cancel_memory > 0 ? REQUEST_REPLACE
                                                                                : REQUEST_SCHEDULE,
                      .target = rng_int(rng, TARGET_DEFAULT, TARGET_B),
                      .key = keys[rng_int(rng, 0, 2)],
                      .delay_ms = rng_between(rng, 0, most_ms),
                      .absolute = rng_chance(rng, 5000),
                      .spread_ms = rng_between(rng, 1, 1 << rng_int(rng, 1, 14)),
                      .has_value = true,
                      .value_len = (size_t)rng_int(rng, 0, 100)};
    if (ask.absolute && rng_chance(rng, 2000))
        ask.delay_ms = -rng_between(rng, 0, 20000);
    if (rng_chance(rng, 2000))
        ask.expires_in_ms = ask.delay_ms < 0 ? 60000 : 1 + rng_between(rng, 0, 30000);
    return workload_send(w, &ask);
}

void spreads_check(struct world *w, struct request *r, const struct stamp *stamp, int64_t due_ms)
{
    int64_t end_ms = due_ms + r->spread_ms < r->expires_ms ? due_ms + r->spread_ms : r->expires_ms;
    bool inside = stamp->due_ms >= due_ms && stamp->due_ms < end_ms;
    if (!inside && !(end_ms <= due_ms && stamp->due_ms == due_ms))
        world_fail(w, "request %d/%lld is due %lld ms after the begin of its spread of %lld ms",
                   r->lane, (long long)r->offset, (long long)(stamp->due_ms - due_ms),
                   (long long)r->spread_ms);
    if (r->chosen_ms != 0 && r->chosen_ms != stamp->due_ms)
        world_fail(w, "request %d/%lld has two due times", r->lane, (long long)r->offset);
    r->chosen_ms = stamp->due_ms;
}
