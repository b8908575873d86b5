/* SPDX-License-Identifier: Apache-2.0 */
/* parcel: one record in work. A parcel owns its record. It is in one place at a time: free, in the
   wheel, in a list of ready ones, parked behind its target, or in flight. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_PARCEL_H
#define DELAYBRIDGE_BRIDGE_CORE_PARCEL_H

#include "bridge/core/state.h"
bool parcel_available(const struct bridge *b);
/* Bytes that a record counts against the budget while it is in work. */
int64_t record_memory(const struct record *record, uint32_t headers_n);
int64_t parcel_memory(const struct parcel *p);
/* Takes over record: the head of q, or made of it. parcel_available must be true. */
struct parcel *parcel_new(struct bridge *b, struct queue *q, struct record *record);
void parcel_forget(struct bridge *b, struct parcel *p); /* not done: it will be read again */
void parcel_done(struct bridge *b, struct parcel *p);   /* acknowledged */
/* Marks it done before its report. If the report says no, all is read again. */
void parcel_foresee(struct parcel *p);
void parcel_wait(struct bridge *b, struct parcel *p, int64_t at_wall_ms); /* wall */
/* To the ready ones, or to the wheel if its time has not come. */
void parcel_ready(struct bridge *b, struct parcel *p);
void parcel_detach(struct bridge *b, struct parcel *p); /* from its list */
size_t lanes_owned(const struct bridge *b);             /* at least 1 */
/* A lane's share of the quarter of the budget that the trouble of one lane may take. */
int64_t lane_share_bytes(const struct bridge *b);
/* Releases its record, and takes over another. */
void parcel_replace(struct bridge *b, struct parcel *p, struct record *record);
/* Whether brokers take a record of this size with so many bytes more. */
bool parcel_fits(const struct bridge *b, size_t wire_size, size_t added);
/* The reason if not; its arguments are the size and the limit. */
#define PARCEL_TOO_LARGE                                                                 \
    "its %zu bytes of key, value and headers are more, uncompressed, than the %zu that " \
    "socket.request.max.bytes of the brokers allows"
/* The record's part of a notice: key, target, and where its request stands. */
struct notice parcel_notice(const struct bridge *b, const struct parcel *p, enum notice_kind kind);

#endif
