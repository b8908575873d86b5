/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of the life of a cancel. */
#include "bridge/commands/cancel_life.h"

#include "levels/cancels.h"
#include "levels/seals.h"

#include <math.h>

/* One seal a minute. SEALS_FLOOR seals follow the first one after the cancel. A seal is judged by
   the bases of the query before, and both waits for a query are half a minute on average. */
enum { SEAL_MS = 60 * 1000, SEALING_MS = (SEALS_FLOOR + 2) * SEAL_MS };

enum { MEMORY_STEP = 16 << 20 };
static const double alert_share = 0.8; /* deploy/prometheus/alerts.yaml */

static struct cancel_life life_in(int64_t level_ms)
{
    return (struct cancel_life){.level_ms = level_ms, .kept_ms = level_ms + SEALING_MS};
}

/* The first stop of a chain is in its longest level. */
struct cancel_life cancel_life_of(const struct chain *chain, const struct ladder *ladder)
{
    return life_in(chain->shown == 0 ? 0 : ladder->level_ms[chain->levels[0]]);
}

struct cancel_life cancel_life_with(const struct longer_levels *longer)
{
    return life_in(longer->level_ms[longer->n - 1]);
}

double cancel_life_rate(const struct config *c, int64_t span_ms)
{
    int64_t slots = c->cancel_memory / c->workers / CANCELS_SLOT_BYTES;
    int64_t entries = CANCELS_LOAD(slots);
    return (double)entries / ((double)span_ms / 1000);
}

double cancel_life_memory(const struct config *c, double rate, int64_t span_ms)
{
    double slots = rate * (double)span_ms / 1000 / alert_share / CANCELS_LOAD(1.0);
    return ceil(slots * CANCELS_SLOT_BYTES * c->workers / MEMORY_STEP) * MEMORY_STEP;
}
