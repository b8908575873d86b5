/* SPDX-License-Identifier: Apache-2.0 */
/* seals: the life of cancels. */
#include "levels/seals.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int seals_init(struct seals *seals, const int64_t *parts_ms, size_t parts_n)
{
    assert(parts_n > 0 && parts_ms[0] == SEAL_SCHEDULE);
    *seals = (struct seals){.parts_ms = parts_ms, .parts_n = parts_n, .last = -1};
    seals->ends = calloc(SEALS_MAX * parts_n, sizeof *seals->ends);
    return seals->ends == NULL ? ERR_NO_MEMORY : 0;
}

void seals_deinit(struct seals *seals)
{
    free(seals->ends);
    *seals = (struct seals){0};
}

void seals_forget(struct seals *seals)
{
    seals->n = 0;
}

int64_t seals_next(const struct seals *seals)
{
    return seals->last + 1;
}

int64_t seals_oldest_ms(const struct seals *seals)
{
    return seals->n == 0 ? 0 : seals->timestamps_ms[0];
}

static int64_t *ends_of(const struct seals *seals, size_t i)
{
    return &seals->ends[i * seals->parts_n];
}

/* Moves a seal to an earlier place. */
static void move(struct seals *seals, size_t to, size_t from)
{
    seals->numbers[to] = seals->numbers[from];
    seals->timestamps_ms[to] = seals->timestamps_ms[from];
    seals->cancels_ends[to] = seals->cancels_ends[from];
    seals->foreign[to] = seals->foreign[from];
    memmove(ends_of(seals, to), ends_of(seals, from), seals->parts_n * sizeof *seals->ends);
}

/* Drops the first, third and so on: the newest stays. */
static void thin(struct seals *seals)
{
    for (size_t i = 1; i < seals->n; i += 2)
        move(seals, i / 2, i);
    seals->n /= 2;
    seals->thinned++;
}

/* Returns the index of the partition, or parts_n. */
static size_t part_of(const struct seals *seals, int64_t level_ms)
{
    size_t i = 0;
    while (i < seals->parts_n && seals->parts_ms[i] != level_ms)
        i++;
    return i;
}

void seals_add(struct seals *seals, const struct cancel_seal *seal)
{
    if (seal->number <= seals->last)
        return;
    seals->last = seal->number;
    if (seals->n == SEALS_MAX)
        thin(seals);
    size_t at = seals->n++;
    seals->numbers[at] = seal->number;
    seals->timestamps_ms[at] = seal->timestamp_ms;
    seals->cancels_ends[at] = 0;
    seals->foreign[at] = false;
    for (size_t i = 0; i < seals->parts_n; i++)
        ends_of(seals, at)[i] = SEAL_UNNAMED;
    for (size_t i = 0; i < seal->n; i++) {
        size_t part = part_of(seals, seal->ends[i].level_ms);
        if (seal->ends[i].level_ms == SEAL_CANCELS)
            seals->cancels_ends[at] = seal->ends[i].end;
        else if (part < seals->parts_n)
            ends_of(seals, at)[part] = seal->ends[i].end;
        else
            seals->foreign[at] = true;
    }
}

static bool has_passed(const struct seals *seals, size_t at, const int64_t *passed)
{
    if (seals->foreign[at])
        return false;
    for (size_t i = 0; i < seals->parts_n; i++) {
        if (passed[i] < ends_of(seals, at)[i])
            return false;
    }
    return true;
}

/* Returns the index of the seal below which cancels are dead, or -1. */
static long floor_of(const struct seals *seals, const int64_t *passed)
{
    for (size_t i = seals->n; i > SEALS_FLOOR; i--) {
        if (has_passed(seals, i - 1, passed))
            return (long)(i - 1 - SEALS_FLOOR);
    }
    return -1;
}

bool seals_judge(const struct seals *seals, const int64_t *passed, int64_t *dead_below,
                 int64_t *trim_below)
{
    long at = floor_of(seals, passed);
    if (at < 0)
        return false;
    int64_t covered = ends_of(seals, (size_t)at)[0];
    /* The schedule topic may be read again from its committed base. */
    *dead_below = covered < passed[0] ? covered : passed[0];
    *trim_below = seals->cancels_ends[at];
    return true;
}

void seals_prune(struct seals *seals, const int64_t *passed)
{
    long at = floor_of(seals, passed);
    if (at <= 0)
        return;
    for (size_t i = (size_t)at; i < seals->n; i++)
        move(seals, i - (size_t)at, i);
    seals->n -= (size_t)at;
    if (seals->n < SEALS_FEW)
        seals->thinned = 0;
}
