/* SPDX-License-Identifier: Apache-2.0 */
/* eras: places of offsets. */
#include "levels/eras.h"

#include <string.h>

void eras_init(struct eras *eras)
{
    *eras = (struct eras){.n = 1, .eras[0].top = -1};
}

static const struct era *newest(const struct eras *eras)
{
    return &eras->eras[eras->n - 1];
}

bool eras_is_above(uint8_t number, uint8_t other)
{
    return number != other && (uint8_t)(number - other) < 128;
}

/* Returns the index of the era: the newest one that is not above this number, or the oldest. */
static size_t index_of(const struct eras *eras, uint8_t number)
{
    size_t i = eras->n - 1;
    while (i > 0 && eras_is_above(eras->eras[i].number, number))
        i--;
    return i;
}

/* An offset before the begin of its era is of a record that the eras before it have, too. */
static size_t index_at(const struct eras *eras, size_t i, int64_t offset)
{
    while (i > 0 && offset < eras->eras[i].at)
        i--;
    return i;
}

uint8_t eras_of(const struct eras *eras, int64_t offset)
{
    return eras->eras[index_at(eras, eras->n - 1, offset)].number;
}

/* The oldest era may have begun anywhere. */
bool eras_have_replaced(const struct eras *eras, uint8_t era, int64_t offset)
{
    size_t i = index_at(eras, eras->n - 1, offset);
    return i > 0 && eras_is_above(eras->eras[i].number, era);
}

int64_t eras_place(const struct eras *eras, uint8_t era, int64_t offset)
{
    size_t i = index_at(eras, index_of(eras, era), offset);
    const struct era *e = &eras->eras[i];
    int64_t place = offset + e->shift;
    return i + 1 < eras->n && place > e->top ? e->top : place;
}

int64_t eras_note(struct eras *eras, uint8_t era, int64_t offset)
{
    if (!eras->known || (eras->n == 1 && eras_is_above(era, eras->eras[0].number)))
        eras->eras[0].number = era;
    eras->known = true;
    int64_t place = eras_place(eras, era, offset);
    struct era *last = &eras->eras[eras->n - 1];
    if (place > last->top)
        last->top = place;
    return place;
}

int64_t eras_offset(const struct eras *eras, int64_t place)
{
    size_t i = eras->n - 1;
    while (i > 0 && place <= eras->eras[i - 1].top)
        i--;
    int64_t offset = place - eras->eras[i].shift;
    return offset < eras->eras[i].at ? -1 : offset;
}

uint8_t eras_next(const struct eras *eras)
{
    return (uint8_t)(newest(eras)->number + 1);
}

bool eras_begin(struct eras *eras, uint8_t number, int64_t at)
{
    if (!eras->known)
        eras->eras[0].number = (uint8_t)(number - 1);
    if (!eras_is_above(number, newest(eras)->number))
        return false;
    eras->known = true;
    if (eras->n == ERAS_MAX)
        memmove(eras->eras, eras->eras + 1, --eras->n * sizeof *eras->eras);
    struct era *before = &eras->eras[eras->n - 1];
    if (at - 1 + before->shift > before->top)
        before->top = at - 1 + before->shift;
    eras->eras[eras->n++] =
        (struct era){.number = number, .at = at, .shift = before->top + 1 - at, .top = before->top};
    return true;
}
