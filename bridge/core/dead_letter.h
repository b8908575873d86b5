/* SPDX-License-Identifier: Apache-2.0 */
/* dead_letter: records that go to the dead-letter topic, each with its reason. A fixed pool holds
   the reasons. Each lane has a share of this pool, and a share of a quarter of the memory
   budget. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_DEAD_LETTER_H
#define DELAYBRIDGE_BRIDGE_CORE_DEAD_LETTER_H

#include "bridge/core/state.h"
/* The arguments of %.*s for a target's name, cut to the room in a reason. */
#define SHOWN(target) (target).len > 120 ? 120 : (int)(target).len, (const char *)(target).data

/* Returns whether the lane of this queue may have one more dead letter. */
bool dead_letter_available(const struct bridge *b, const struct queue *q);
/* Returns the largest content of the record that brokers accept. */
enum dead_letter_content dead_letter_content(const struct bridge *b, const struct record *record);
/* The parcel is for the dead-letter topic from here on. dead_letter_available must be true. */
void dead_letter_mark(struct bridge *b, struct parcel *p, const struct refusal *why);
/* Does the same with a formatted reason, and makes the parcel ready. Without room the parcel waits
   for RESEND_MS, and is then decided again. */
void dead_letter_record(struct bridge *b, struct parcel *p, enum code code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void dead_letter_too_large(struct bridge *b, struct parcel *p); /* too large for its target */
void dead_letter_too_large_for_level(struct bridge *b, struct parcel *p);

#endif
