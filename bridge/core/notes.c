/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: facts about records that broke a transaction, for the next reading of these records. */
#include "bridge/core/notes.h"
#include "bridge/core/state.h"

void notes_add(struct bridge *b, const struct parcel *p, enum note_flag flag)
{
    struct note *found = NULL;
    for (int i = 0; i < NOTES_MAX && found == NULL; i++) {
        if (b->notes.all[i].queue == p->queue && b->notes.all[i].offset == p->offset)
            found = &b->notes.all[i];
    }
    if (found == NULL) {
        found = &b->notes.all[b->notes.hand];
        b->notes.hand = (b->notes.hand + 1) % NOTES_MAX;
        b->notes.n += found->queue == NULL;
        *found = (struct note){.queue = p->queue, .offset = p->offset};
    }
    found->flags |= (unsigned)flag;
}

void notes_recall(struct bridge *b, struct parcel *p)
{
    for (int i = 0; b->notes.n > 0 && i < NOTES_MAX; i++) {
        struct note *note = &b->notes.all[i];
        if (note->queue != p->queue || note->offset != p->offset)
            continue;
        p->alone = (note->flags & NOTE_ALONE) != 0;
        p->without_level = (note->flags & NOTE_WITHOUT_LEVEL) != 0;
        p->too_large = (note->flags & NOTE_TOO_LARGE) != 0;
        return;
    }
}

/* Records that are done are not read again, and records of lost lanes are read by others. */
void notes_forget(struct bridge *b)
{
    for (int i = 0; b->notes.n > 0 && i < NOTES_MAX; i++) {
        const struct queue *q = b->notes.all[i].queue;
        if (q == NULL ||
            (q->state != QUEUE_OFF && !window_is_done(&q->window, b->notes.all[i].offset)))
            continue;
        b->notes.all[i] = (struct note){0};
        b->notes.n--;
    }
}
