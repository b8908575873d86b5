/* SPDX-License-Identifier: Apache-2.0 */
/* outlet: a partition that a lane's hops, dead letters, entries of cancels or events go to. An
   unwritable outlet stops its lane only. With at-least-once, an outlet accepts every record. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_OUTLET_H
#define DELAYBRIDGE_BRIDGE_CORE_OUTLET_H

#include "bridge/core/state.h"
/* Returns whether a record may go to the outlet. With exactly-once, looks up a doubted outlet
   first. */
bool outlet_takes(struct bridge *b, const struct parcel *p, enum forward_kind kind, int slot);
/* The parcel counts for the outlet until it is acknowledged. After a failure it counts until its
   next try. */
void outlet_sent(struct bridge *b, struct parcel *p);
void outlet_acked(struct bridge *b, struct parcel *p);
/* Returns whether the lane must read no requests, because their hops could only wait in memory. */
bool outlets_stop_intake(const struct bridge *b, int lane);
/* Returns whether the outlet is down, or the records that it has not acknowledged take the lane's
   share of memory. At-least-once, it is not silent without such a record: the next one finds out
   whether it is back. */
bool outlet_is_silent(const struct bridge *b, int lane, enum forward_kind kind);
/* At-least-once: returns whether both are true. */
bool outlet_is_flooded(const struct bridge *b, int lane, enum forward_kind kind);
/* Exactly-once: the outlet refused a record. Its lane waits, and tries again after a while. */
void outlet_refused(struct bridge *b, const struct parcel *p, const char *why);
/* Exactly-once: the next record for the outlet of p looks it up first. Its topic may have been
   recreated with fewer partitions, and each record would break its transaction. */
void outlet_look_again(struct bridge *b, const struct parcel *p);
void outlet_doubt(struct bridge *b, const struct parcel *p); /* after a timeout of p */
void outlets_doubt(struct bridge *b);                        /* doubts all until looked up */
void outlets_lane_lost(struct bridge *b, int lane);          /* they count as down no more */
void outlets_serve(struct bridge *b);                        /* looks up, or checks for silence */
/* Returns whether a record of this cost was too large for topics of this kind. */
bool outlet_is_suspect(const struct bridge *b, const struct parcel *p, enum forward_kind kind);
/* Learns from a report which cost is too large. A success shows that the limit was raised. */
void outlet_learn_size(struct bridge *b, const struct parcel *p, enum report report);

#endif
