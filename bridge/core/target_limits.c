/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of a target: records that were too large for it, or of a kind that it refuses. */
#include "bridge/core/target_limits.h"
#include "bridge/core/state.h"

bool target_is_suspect(const struct target *t, const struct parcel *p)
{
    return t->state == TARGET_PROBING ||
           (t->large_bytes > 0 && p->record->cost_bytes >= t->large_bytes);
}

bool target_is_too_small(const struct bridge *b, const struct target *t, const struct parcel *p)
{
    return b->config.exactly_once && t->proven_mono_ms > 0 &&
           b->now.mono_ms - t->proven_mono_ms < PROVEN_MS &&
           p->record->cost_bytes >= t->proven_bytes;
}

static bool is_recent(const struct bridge *b, int64_t at_mono_ms)
{
    return at_mono_ms > 0 && b->now.mono_ms - at_mono_ms < PROVEN_MS;
}

bool target_may_be_unfit(const struct bridge *b, const struct target *t, const struct parcel *p,
                         int attempts)
{
    return (p->keyless && t->keyless_suspect) || (attempts > 0 && is_recent(b, t->unfit_mono_ms));
}

bool target_refuses_keyless(const struct bridge *b, const struct target *t)
{
    return is_recent(b, t->keyless_mono_ms);
}

/* A compacted topic accepts no record without a key. In a batch any record may have been refused,
   so records without a key are suspected first. */
void target_note_unfit(const struct bridge *b, struct target *t, const struct parcel *p, bool alone)
{
    t->keyless_suspect |= t->keyless_in_transaction || p->keyless;
    if (alone && p->keyless)
        t->keyless_mono_ms = b->now.mono_ms;
    else if (alone)
        t->unfit_mono_ms = b->now.mono_ms;
}

/* In a batch, any record may be the one that was too large. A record that failed alone proves the
   limit. The proof holds for PROVEN_MS, and for records of the same or a larger size. */
void target_note_too_large(const struct bridge *b, struct target *t, const struct parcel *p,
                           bool alone)
{
    size_t cost_bytes = p->record->cost_bytes;
    if (t->large_bytes == 0 || cost_bytes < t->large_bytes)
        t->large_bytes = cost_bytes;
    if (!alone)
        return;
    bool old = t->proven_mono_ms == 0 || b->now.mono_ms - t->proven_mono_ms >= PROVEN_MS;
    if (old || cost_bytes < t->proven_bytes)
        t->proven_bytes = cost_bytes;
    t->proven_mono_ms = b->now.mono_ms;
}

/* A suspect record fits: another one of its batch was too large, or the limit was raised. Sizes a
   little below the proven one stay suspect, because similar records differ by little more than
   their keys. */
void target_note_fits(struct target *t, const struct parcel *p)
{
    if (p->record->cost_bytes >= t->proven_bytes)
        t->proven_mono_ms = 0;
    t->large_bytes = t->proven_mono_ms == 0 ? 0 : t->proven_bytes - t->proven_bytes / 8;
    if (t->large_bytes <= p->record->cost_bytes && t->proven_mono_ms != 0)
        t->large_bytes = p->record->cost_bytes + 1;
}
