/* SPDX-License-Identifier: Apache-2.0 */
/* force_marks: ascending marks. */
#include "levels/force_marks.h"

void force_marks_forget(struct force_marks *m)
{
    m->n = 0;
    m->apart_ms = FORCE_MARKS_APART_MS;
}

/* Keeps the later mark of each pair. */
static void thin(struct force_marks *m)
{
    for (int i = 0; i < FORCE_MARKS_MAX / 2; i++)
        m->marks[i] = m->marks[2 * i + 1];
    m->n = FORCE_MARKS_MAX / 2;
    m->apart_ms *= 2;
}

void force_marks_note(struct force_marks *m, int64_t offset, int64_t wall_ms)
{
    for (int i = m->n - 1; i >= 0 && m->marks[i].offset >= offset; i--) {
        if (m->marks[i].wall_ms < wall_ms)
            m->marks[i].wall_ms = wall_ms;
    }
    if (m->n > 0 && m->marks[m->n - 1].offset >= offset)
        return;
    if (m->n > 0 && wall_ms < m->marks[m->n - 1].wall_ms) /* the clock stepped back */
        wall_ms = m->marks[m->n - 1].wall_ms;
    bool joins = m->n > 1 && wall_ms - m->marks[m->n - 2].wall_ms < m->apart_ms;
    if (!joins && m->n == FORCE_MARKS_MAX)
        thin(m);
    int i = joins ? m->n - 1 : m->n++;
    m->marks[i].offset = offset;
    m->marks[i].wall_ms = wall_ms;
}

int64_t force_marks_bound(const struct force_marks *m, int64_t offset)
{
    for (int i = 0; i < m->n; i++) {
        if (m->marks[i].offset >= offset)
            return m->marks[i].wall_ms;
    }
    return INT64_MAX;
}
