/* SPDX-License-Identifier: Apache-2.0 */
/* seal: writes the seals of a lane, and ends its cancels (levels/seals.h). The brokers answer a
   query with the log ends for the seal. The seal also has the offset below which all cancels were
   in force before this query. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_SEAL_H
#define DELAYBRIDGE_BRIDGE_CORE_SEAL_H

#include "bridge/core/state.h"
/* Queries ends when it is time. Call it each turn. */
void seal_serve(struct bridge *b);
/* Ends cancels and writes a seal, by the brokers' answer. ends, whole: as in bridge_ends. */
void seal_ends(struct bridge *b, int lane, const struct log_ends *ends, bool whole);
/* Adds a seal that was read from the topic of cancels or stored there. */
void seal_add(struct bridge *b, int lane, const struct cancel_seal *seal);
/* Adds the seal of this parcel, which was acknowledged. */
void seal_stored(struct bridge *b, struct parcel *p);
/* Notes that this process owned its lanes at proof_mono_ms: the coordinator accepted a commit that
   was sent then. So no other owner wrote before the seals that were stored earlier. A lane that
   comes back reads the topic of cancels from the last one. */
void seal_proved(struct bridge *b, int64_t proof_mono_ms);
/* Forgets the seal of this parcel, which was not stored. */
void seal_failed(struct bridge *b, struct parcel *p);
/* Lets the next query wait for a full period, and forgets a pending one. */
void seal_restart(struct bridge *b, int lane);

#endif
