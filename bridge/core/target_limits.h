/* SPDX-License-Identifier: Apache-2.0 */
/* target_limits: records that a target was shown not to take. A limit that a record alone has
   proven holds for PROVEN_MS. A limit that any record of a batch may have met only makes records
   suspect. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_TARGET_LIMITS_H
#define DELAYBRIDGE_BRIDGE_CORE_TARGET_LIMITS_H

#include "bridge/core/state.h"
/* Whether a record may break a transaction that it shares with others. */
bool target_is_suspect(const struct target *t, const struct parcel *p);
/* Whether a record of this kind is to be tried alone: the target refused one a moment ago. */
bool target_may_be_unfit(const struct bridge *b, const struct target *t, const struct parcel *p,
                         int attempts);
bool target_refuses_keyless(const struct bridge *b, const struct target *t);
bool target_is_too_small(const struct bridge *b, const struct target *t, const struct parcel *p);

/* A report said so of p. alone: no other record can be the cause. */
void target_note_unfit(const struct bridge *b, struct target *t, const struct parcel *p,
                       bool alone);
void target_note_too_large(const struct bridge *b, struct target *t, const struct parcel *p,
                           bool alone);
void target_note_fits(struct target *t, const struct parcel *p);

#endif
