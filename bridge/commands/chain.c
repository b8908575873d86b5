/* SPDX-License-Identifier: Apache-2.0 */
/* The walk from stop to stop. */
#include "bridge/commands/chain.h"
#include "levels/duration.h"

#include <stddef.h>
#include <stdio.h>

/* A chain of more hops deserves longer levels. */
enum { HOPS_MANY = 10 };

/* With room, the chain ends as soon as the rest fits hold_ms. */
static void end_with_room(struct chain *chain, const struct ladder *ladder, int64_t hold_ms)
{
    int64_t at_ms = 0, waited_ms = 0;
    chain->with_room_hops = chain->hops;
    chain->with_room_in_memory_ms = chain->in_memory_ms;
    for (int i = 0; i < chain->shown; i++) {
        if (chain->delay_ms - at_ms <= hold_ms) {
            chain->with_room_hops = i;
            chain->with_room_in_memory_ms = chain->delay_ms - waited_ms;
            return;
        }
        at_ms = chain->end_ms[i];
        waited_ms += ladder->level_ms[chain->levels[i]];
    }
}

void chain_walk(struct chain *chain, const struct ladder *ladder, int64_t hold_ms, int64_t delay_ms)
{
    int64_t at_ms = 0, waited_ms = 0;
    int level = plan_level(ladder, delay_ms);
    chain->delay_ms = delay_ms;
    chain->shown = 0;
    chain->in_memory_ms = 0;
    while (level != PLAN_HOLD && chain->shown < CHAIN_MAX) {
        int64_t level_ms = ladder->level_ms[level];
        at_ms = plan_release_ms(ladder, level_ms, at_ms, delay_ms);
        waited_ms += level_ms;
        chain->levels[chain->shown] = level;
        chain->end_ms[chain->shown++] = at_ms;
        level = plan_level(ladder, delay_ms - at_ms);
    }
    chain->hops = chain->shown;
    if (level != PLAN_HOLD)
        chain->hops += plan_chain(ladder, delay_ms - at_ms, NULL, 0);
    else if (delay_ms > waited_ms) /* false if slack allowed a longer level */
        chain->in_memory_ms = delay_ms - waited_ms;
    end_with_room(chain, ladder, hold_ms);
}

void chain_longer_levels(const struct chain *chain, const struct ladder *ladder,
                         struct longer_levels *longer)
{
    static const int64_t HOUR_MS = 3600 * 1000;
    const int64_t wanted[] = {12 * HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS};
    struct ladder more = *ladder;
    *longer = (struct longer_levels){.hops = chain->hops};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0] && chain->hops > HOPS_MANY; i++) {
        if (wanted[i] <= ladder->level_ms[ladder->n - 1] || wanted[i] > chain->delay_ms ||
            more.n == LADDER_MAX)
            continue;
        longer->level_ms[longer->n++] = more.level_ms[more.n++] = wanted[i];
    }
    if (longer->n == 0)
        return;
    static struct chain shorter; /* large */
    chain_walk(&shorter, &more, more.hold_ms, chain->delay_ms);
    longer->hops = shorter.hops;
}

const char *longer_levels_text(const struct longer_levels *longer, char out[LONGER_TEXT_MAX])
{
    char text[DURATION_TEXT_MAX];
    int n = 0;
    out[0] = '\0';
    for (int i = 0; i < longer->n; i++)
        n += snprintf(out + n, (size_t)(LONGER_TEXT_MAX - n), "%s%s", i > 0 ? ", " : "",
                      duration_format(longer->level_ms[i], text));
    return out;
}

json_t *longer_levels_json(const struct longer_levels *longer)
{
    char text[DURATION_TEXT_MAX];
    if (longer->n == 0)
        return json_null();
    json_t *levels = json_array();
    for (int i = 0; i < longer->n; i++)
        json_array_append_new(levels, json_string(duration_format(longer->level_ms[i], text)));
    return json_pack("{s:o, s:I}", "levels", levels, "hops", (json_int_t)longer->hops);
}
