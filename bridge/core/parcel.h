/* SPDX-License-Identifier: Apache-2.0 */
/* parcel: one record in work. A parcel owns its record. It is in one place at a time: free, in the
   wheel, in a list of ready parcels, parked behind its target, or in flight. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_PARCEL_H
#define DELAYBRIDGE_BRIDGE_CORE_PARCEL_H

#include "bridge/core/state.h"
bool parcel_available(const struct bridge *b);
/* Return the bytes of a record in work, for the budget. */
int64_t record_memory(const struct record *record, uint32_t headers_n);
int64_t parcel_memory(const struct parcel *p);
/* Returns a parcel that owns record, which is the head of q or made from it. Requires
   parcel_available. */
struct parcel *parcel_new(struct bridge *b, struct queue *q, struct record *record);
void parcel_forget(struct bridge *b, struct parcel *p); /* its record is read again */
void parcel_done(struct bridge *b, struct parcel *p);   /* its record was acknowledged */
/* A cancel voids the record: it is done, and has no report. */
void parcel_void(struct bridge *b, struct parcel *p);
/* It is the entry of a cancel, or sends an entry first. Until then it has none. */
void parcel_has_entry(struct bridge *b, struct parcel *p, enum entry_kind kind);
void parcel_drop_entry(struct bridge *b, struct parcel *p); /* releases its entry */
/* It counts for no outlet any more (outlet.h). */
void parcel_leave_outlet(const struct bridge *b, struct parcel *p);
/* Marks the record as done before its report. If it fails, all lanes are read again. */
void parcel_foresee(struct parcel *p);
void parcel_wait(struct bridge *b, struct parcel *p, int64_t at_wall_ms); /* in the wheel */
/* A parcel that waits is kept in place of a level (hold.h), until it is detached or unkept. */
void parcel_keep(struct bridge *b, struct parcel *p);
void parcel_unkeep(struct bridge *b, struct parcel *p); /* even if it is not kept */
void parcel_detach(struct bridge *b, struct parcel *p); /* from its list */
size_t lanes_owned(const struct bridge *b);             /* at least 1 */
/* Returns a lane's share of the quarter of the budget that lanes in trouble may use. */
int64_t lane_share_bytes(const struct bridge *b);
/* Copies its record, which may pin the batch that it was fetched in. Returns false without memory.
 */
bool parcel_own(struct bridge *b, struct parcel *p) must_check;
/* Releases its record, and takes over another. */
void parcel_replace(struct bridge *b, struct parcel *p, struct record *record);
/* Returns whether brokers accept a record of this size with `added` more bytes. */
bool parcel_fits(const struct bridge *b, size_t wire_size, size_t added);
/* The format of the reason if they do not. Its arguments are the size and the limit. */
#define PARCEL_TOO_LARGE                                                                 \
    "its %zu bytes of key, value and headers are more, uncompressed, than the %zu that " \
    "socket.request.max.bytes of the brokers allows"
/* Returns a notice with the facts about a record: key, target, and where its request is stored. */
struct notice parcel_notice(const struct bridge *b, const struct parcel *p, enum notice_kind kind);

#endif
