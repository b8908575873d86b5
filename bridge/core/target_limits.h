/* SPDX-License-Identifier: Apache-2.0 */
/* target_limits: records that a target does not accept. A record that failed alone proves a limit
   for PROVEN_MS. A failure of a batch only makes records suspect. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_TARGET_LIMITS_H
#define DELAYBRIDGE_BRIDGE_CORE_TARGET_LIMITS_H

#include "bridge/core/state.h"
/* Returns whether a record may break a transaction that it shares with others. */
bool target_is_suspect(const struct target *t, const struct parcel *p);
/* Returns whether a record must be tried alone, because the target refused one of its kind. */
bool target_may_be_unfit(const struct bridge *b, const struct target *t, const struct parcel *p,
                         int attempts);
/* Returns true if the target is proven to refuse records without a key. */
bool target_refuses_keyless(const struct bridge *b, const struct target *t);
/* Returns true if a record of this size or a smaller one is proven to be too large. */
bool target_is_too_small(const struct bridge *b, const struct target *t, const struct parcel *p);

/* Learn from the report of p. alone: no other record can be the cause. */
void target_note_unfit(const struct bridge *b, struct target *t, const struct parcel *p,
                       bool alone);
void target_note_too_large(const struct bridge *b, struct target *t, const struct parcel *p,
                           bool alone);
void target_note_fits(struct target *t, const struct parcel *p);

#endif
