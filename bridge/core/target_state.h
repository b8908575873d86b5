/* SPDX-License-Identifier: Apache-2.0 */
/* target_state: the structures of targets, as a part of state.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_TARGET_STATE_H
#define DELAYBRIDGE_BRIDGE_CORE_TARGET_STATE_H

#include "bridge/core/port.h"
#include "levels/control.h"
#include "levels/list.h"

enum {
    DOWN_MS = 5000, /* a target that failed is not tried for this time */
    STALLS_MAX = 4, /* stalls that count; each after the first doubles DOWN_MS */
    STALLS_FORGOTTEN_MS = DOWN_MS << STALLS_MAX, /* without a stall for so long, the count is 0 */
    STALL_GAP_MS = 10000,    /* exactly-once: least time between stalls that stop all targets */
    MISSING_MS = 2000,       /* a missing target is not looked up for this time */
    LOOK_UP_AGAIN_MS = 2000, /* after a look-up without an answer */
    PARK_MS = 1000,          /* longest time of a record behind an unavailable target */
    PROVEN_MS = 60000,       /* a size that was too large is not tried again for this time */
    TARGETS_MAX = 1024
};

enum target_state {
    TARGET_UNKNOWN, /* to be looked up */
    TARGET_UP,
    TARGET_PROBING, /* after a failure, or doubted: one record at a time */
    TARGET_DOWN     /* not tried until recheck_mono_ms */
};

struct target {
    struct target_id id;
    struct link link; /* in its bucket of the table */
    enum target_state state;
    bool expected;       /* was looked up before its first record was due */
    bool doubted;        /* exactly-once: probed before others share a transaction with it */
    bool failed;         /* since the last success */
    bool costs_attempt;  /* DOWN: a record that is not tried uses up an attempt */
    bool in_transaction; /* the open transaction has records to it */
    bool is_slow;        /* exactly-once: it delays the other targets (slowness.h) */
    uint8_t label;       /* index in stats.targets */
    struct list parked;  /* parcels */
    size_t in_flight, in_flight_bytes;
    int64_t recheck_mono_ms;
    int64_t whole_mono_ms;    /* brokers last reported leaders of all partitions; 0: never */
    int64_t doubted_mono_ms;  /* a record to it was last not answered */
    int64_t took_mono_ms;     /* last success */
    int64_t answered_mono_ms; /* last report, or the start of the first record in flight */
    int64_t ack_us;           /* average time of acknowledgements; -1: none since the first look */
    int64_t looked_mono_ms;   /* first look that found it slow; 0: none since the last change */
    int64_t judged_mono_ms;   /* is_slow last changed; 0: never */
    int stalls;               /* exactly-once: how often it stopped all others lately */

    /* Records that it does not accept (target_limits.h). Instants are 0 for never. */
    size_t large_bytes;          /* a record of this cost may have been too large; 0: none */
    size_t proven_bytes;         /* a record of this cost was too large alone */
    int64_t proven_mono_ms;      /* last time */
    bool keyless_in_transaction; /* the open transaction has a record without a key to it */
    bool keyless_suspect;        /* exactly-once: a record without a key is tried alone */
    int64_t keyless_mono_ms;     /* last time that it refused a lone record without a key */
    int64_t unfit_mono_ms;       /* last time that it refused a lone record with a key */

    /* The last failure. */
    enum delivery_error error;
    char why[96];

    /* Pauses and limits (withhold.h). */
    struct verdict verdict;
    uint64_t verdict_version; /* of the entries that decided it; 0: none */
    int64_t verdict_wall_ms;  /* decided then; a clock before that needs another verdict */
};

struct target_table {
    struct target *all; /* room for TARGETS_MAX; the first n are in use */
    size_t n;
    struct list *buckets;
    size_t hand;               /* index of the next one to replace, once all are in use */
    size_t parked;             /* parcels */
    size_t looked_up_last;     /* index of the last one that was looked up */
    struct target *looking_up; /* its look-up is pending; NULL: none is */
    bool lookup_awaited;       /* a record waits for the pending look-up */
    bool in_transaction;       /* the open transaction has records to some of them */
    int64_t slowness_mono_ms;  /* exactly-once: they were last judged (slowness.h) */
};

#endif
