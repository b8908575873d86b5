/* SPDX-License-Identifier: Apache-2.0 */
/* event_state: the structures of events, as a part of state.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_EVENT_STATE_H
#define DELAYBRIDGE_BRIDGE_CORE_EVENT_STATE_H

#include "levels/event.h"
#include "levels/list.h"
#include "levels/recent.h"

enum {
    EVENT_RETRIES_MAX = 8, /* failed deliveries of a record whose events are not written yet */
    EVENTS_RECORD_MAX = EVENT_TYPES + EVENT_RETRIES_MAX /* events of one record */
};

/* The facts about a record that its events report (event.h). */
struct event_facts {
    uint16_t types;  /* EVENT_BIT of each that is not written yet */
    uint8_t retried; /* number of such events, for the last attempts (EVENT_DELIVERY_RETRIED) */
    bool certain;    /* EVENT_CANCELLED */
    bool stored;     /* EVENT_DELIVERED: the place of the delivery is known */
    int16_t key_len; /* of a cancel: bytes of its record key, which follow its entry (cancel.h) */
    int32_t partition;
    int64_t stored_offset;    /* EVENT_DELIVERED: with partition, this place */
    int64_t in_force_wall_ms; /* EVENT_CANCEL_ACCEPTED, EVENT_REPLACED */
    uint64_t proof_seq;       /* the last commit that had begun at in_force_wall_ms */
    int64_t by_offset;        /* EVENT_CANCELLED */
    int64_t late_offset;      /* EVENT_TOO_LATE */
};

struct event_state {
    unsigned wanted;      /* EVENT_BIT of each type that is to be written */
    struct list ready;    /* parcels of ENTRY_EVENT */
    struct list unproven; /* parcels whose next event waits for a commit */
    size_t owing;         /* number of settled parcels (struct parcel) */
    struct recent recent; /* names that were delivered */
};

#endif
