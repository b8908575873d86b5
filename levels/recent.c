/* SPDX-License-Identifier: Apache-2.0 */
/* recent: each fingerprint has one slot. */
#include "levels/recent.h"

#include <stdlib.h>

int recent_init(struct recent *recent)
{
    recent->slots = calloc(RECENT_SLOTS, sizeof *recent->slots);
    return recent->slots == NULL ? ERR_NO_MEMORY : 0;
}

void recent_deinit(struct recent *recent)
{
    free(recent->slots);
}

static struct recent_slot *slot_of(const struct recent *recent, int lane, struct cancel_print print)
{
    return &recent->slots[(print.high + (uint64_t)lane * 0x9e3779b97f4a7c15u) % RECENT_SLOTS];
}

void recent_put(struct recent *recent, int lane, struct cancel_print print, int64_t offset,
                int64_t mono_ms)
{
    *slot_of(recent, lane, print) = (struct recent_slot){.high = print.high,
                                                         .low = print.low,
                                                         .lane = (uint16_t)lane,
                                                         .offset = offset,
                                                         .mono_ms = mono_ms,
                                                         .used = true};
}

int64_t recent_find(const struct recent *recent, int lane, struct cancel_print print,
                    int64_t before, int64_t mono_ms)
{
    const struct recent_slot *s = slot_of(recent, lane, print);
    bool same = s->used && s->high == print.high && s->low == print.low && s->lane == lane;
    return same && s->offset < before && mono_ms - s->mono_ms <= RECENT_MS ? s->offset : -1;
}

void recent_forget(struct recent *recent)
{
    memset(recent->slots, 0, RECENT_SLOTS * sizeof *recent->slots);
}
