/* SPDX-License-Identifier: Apache-2.0 */
/* redelivery: a record that its target did not accept waits for its next try. After the last try it
   becomes a dead letter. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_REDELIVERY_H
#define DELAYBRIDGE_BRIDGE_CORE_REDELIVERY_H

#include "bridge/core/state.h"
/* The failure of a delivery. why is valid during the call. */
struct failure {
    enum delivery_error error;
    const char *why;
};

/* Counts a failed attempt. The record waits for the next one, or becomes a dead letter. */
void redelivery_attempt_failed(struct bridge *b, struct parcel *p, struct failure failure);
/* Returns a record to a level without an attempt, because its target is down. */
void redelivery_defer(struct bridge *b, struct parcel *p, const struct target *t);
/* Returns a record to a level until next_try_ms, because its target is paused or limited. Returns
   false if memory is lacking: the record is tried again. */
bool redelivery_withhold(struct bridge *b, struct parcel *p, int64_t next_try_ms,
                         enum deferral why);
/* Makes a withheld record due now, because its target is no longer paused, or its limit is higher.
 */
void redelivery_release(struct bridge *b, struct parcel *p);
/* Sends a record again after RESEND_MS, because the client or the cluster failed. */
void redelivery_resend(struct bridge *b, struct parcel *p);

#endif
