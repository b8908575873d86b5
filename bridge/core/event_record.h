/* SPDX-License-Identifier: Apache-2.0 */
/* event_record: the records of events (levels/event.h), made from the facts of a parcel. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_EVENT_RECORD_H
#define DELAYBRIDGE_BRIDGE_CORE_EVENT_RECORD_H

#include "bridge/core/state.h"
/* Returns a new record, with the name of the request as its key. attempt: number of the failed
   delivery, or -1 for that of the parcel. Returns NULL if there is no memory now. */
struct record *event_record(const struct bridge *b, const struct parcel *p, enum event_type type,
                            int attempt);
/* Returns a new record that says that this cancel has voided no request. Returns NULL if there is
   no memory now. */
struct record *event_record_unmatched(const struct bridge *b, int lane,
                                      const struct named_cancel *cancel);
/* Returns the number of failed deliveries of the parcel's record so far. */
int event_attempts(const struct parcel *p);

#endif
