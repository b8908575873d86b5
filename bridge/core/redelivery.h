/* SPDX-License-Identifier: Apache-2.0 */
/* redelivery: a record that its target did not take waits for its next try, and after the last one
   is a dead letter. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_REDELIVERY_H
#define DELAYBRIDGE_BRIDGE_CORE_REDELIVERY_H

#include "bridge/core/state.h"
/* A delivery that failed. why must outlive the call only. */
struct failure {
    enum delivery_error error;
    const char *why;
};

/* Counts an attempt: the record waits for the next one, or is a dead letter after the last. */
void redelivery_attempt_failed(struct bridge *b, struct parcel *p, struct failure failure);
/* Back to a level without an attempt, because its target is down. */
void redelivery_defer(struct bridge *b, struct parcel *p, const struct target *t);
/* The same record again in a moment: the client or the cluster is the cause. */
void redelivery_resend(struct bridge *b, struct parcel *p);

#endif
