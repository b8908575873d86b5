/* SPDX-License-Identifier: Apache-2.0 */
/* dead_letter: records that go to the dead-letter topic, each with its reason. The reasons are a
   fixed pool, and each lane has its share of it and of a quarter of the budget. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_DEAD_LETTER_H
#define DELAYBRIDGE_BRIDGE_CORE_DEAD_LETTER_H

#include "bridge/core/state.h"
/* A target's name for %.*s, as much as a reason has room for. */
#define SHOWN(target) (target).len > 120 ? 120 : (int)(target).len, (const char *)(target).data

/* Whether the lane of this queue may have one more. */
bool dead_letter_available(const struct bridge *b, const struct queue *q);
/* Moves the record out of the batch that it was fetched in, which a long wait would pin. False: no
   memory now. */
bool dead_letter_keep(struct bridge *b, struct parcel *p) must_check;
/* The largest part of a record that brokers take. */
enum dead_letter_content dead_letter_content(const struct bridge *b, const struct record *record);
/* The parcel is for the dead-letter topic from here on. dead_letter_available must be true. */
void dead_letter_mark(struct bridge *b, struct parcel *p, const struct refusal *why);
/* The same, with a reason in words, and ready to be sent; without room it waits and comes again. */
void dead_letter_record(struct bridge *b, struct parcel *p, enum code code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void dead_letter_too_large(struct bridge *b, struct parcel *p); /* for its target */
void dead_letter_too_large_for_level(struct bridge *b, struct parcel *p);

#endif
