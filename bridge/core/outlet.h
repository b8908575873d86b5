/* SPDX-License-Identifier: Apache-2.0 */
/* outlet: a partition of our own topics that a lane's hops or dead letters go to. One that is
   unwritable stops its lane only. At least once it takes every record. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_OUTLET_H
#define DELAYBRIDGE_BRIDGE_CORE_OUTLET_H

#include "bridge/core/state.h"
bool outlet_takes(struct bridge *b, const struct parcel *p, enum forward_kind kind, int slot);
void outlet_sent(struct bridge *b, const struct parcel *p);
void outlet_reported(struct bridge *b, const struct parcel *p, enum report report);
/* Whether the lane is to take no requests: their hops could only wait in memory. */
bool outlets_stop_intake(const struct bridge *b, int lane);
void outlet_doubt(struct bridge *b, const struct parcel *p); /* not acknowledged in time */
void outlets_doubt(struct bridge *b);                        /* all, each until it is looked up */
void outlets_serve(struct bridge *b);                        /* looks up */
/* Whether a record of this cost was too large for our own topics of this kind. */
bool outlet_is_suspect(const struct bridge *b, const struct parcel *p, enum forward_kind kind);
/* A record that fits after all shows that the limit of the topics was raised. */
void outlet_learn_size(struct bridge *b, const struct parcel *p, enum report report);

#endif
