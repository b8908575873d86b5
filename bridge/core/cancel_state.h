/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_state: the structures of cancels, as a part of state.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_CANCEL_STATE_H
#define DELAYBRIDGE_BRIDGE_CORE_CANCEL_STATE_H

#include "bridge/core/port.h"
#include "levels/cancels.h"
#include "levels/seals.h"

enum {
    SEAL_EVERY_MS = 60000,
    ENDS_LOST_MS = 5000,      /* a query for ends without an answer is repeated */
    CANCELS_CLEAR_SLOTS = 64, /* slots that a turn checks for dead entries */
    CANCELS_SWEEP_MS = 1000   /* least time between two sweeps of a full table */
};

/* The record for the topic of cancels that a parcel sends first, or the record of no input that it
   is. */
enum entry_kind {
    ENTRY_NONE,
    ENTRY_CANCEL,  /* of a cancel: its offset is done when the entry is acknowledged */
    ENTRY_REPLACE, /* of a replace: then its request follows */
    ENTRY_SEAL,    /* of no record: marks no offset */
    ENTRY_BARRIER, /* the same */
    ENTRY_EVENT    /* an event of another parcel: the same (event.h) */
};

/* A lane opens when its cancels are in force again (restore.h). */
enum loading {
    LOADING_NONE,     /* it is open, or not ours */
    LOADING_LOG_END,  /* waits for the end of the topic of cancels */
    LOADING_LOG,      /* reads the topic of cancels */
    LOADING_ENDS,     /* waits for the ends of the schedule topic */
    LOADING_WITNESS,  /* reads the record of the newest entry, to recognize the schedule topic */
    LOADING_BARRIER,  /* the schedule topic was recreated: writes a barrier */
    LOADING_REQUESTS, /* reads the requests that are not done */
    LOADING_BLOCKED   /* an entry of a newer program */
};

/* The newest entry of the topic of cancels. */
struct witness {
    int64_t offset; /* of its cancel on the schedule topic; -1: none */
    int64_t timestamp_ms;
    struct cancel_print print;
    bool seen; /* the record is where it was */
};

/* The cancels of one lane. */
struct lane_cancels {
    int id;      /* in the table; -1: none */
    bool is_any; /* an entry may be in force */

    /* The restore (restore.h). */
    enum loading loading;
    bool complete;         /* the last restore has ended, and the table was kept since */
    bool fresh;            /* the group had no offset of the schedule topic */
    bool requests_loaded;  /* the port has moved the position of the schedule queue */
    bool barrier_in_doubt; /* exactly once: its transaction may be aborted */
    struct load load;      /* under way */
    int64_t load_next;     /* the first offset that it has not read */
    int64_t loading_mono_ms;
    int64_t log_next;       /* the table has all entries of the topic of cancels below this */
    int64_t requests_next;  /* and all cancels of the schedule topic below this; -1: unknown */
    int64_t start_offset;   /* of the schedule topic: committed, at the assignment */
    int64_t requests_start; /* start of its log, at the last query */
    int64_t requests_end;   /* its last stable offset then */
    struct witness witness;

    /* Seals (seal.h). */
    struct seals seals;
    int64_t number;          /* of the next seal or barrier, or below the one that seals say */
    bool queried;            /* the query for the ends of a seal is pending */
    bool seal_out;           /* a seal or barrier is not acknowledged yet */
    int64_t queried_mono_ms; /* last query for ends, or the end of the restore */
    int64_t covered_offset;  /* at this query: cancels of the schedule topic below were in force */
    struct cancel_seal seal; /* not acknowledged yet */
    int64_t *passed;         /* by slot: the base that was committed at the last query */

    /* The topic of cancels, as far as known. */
    int64_t log_start, log_end;
    int64_t entries_out;     /* entries that are not acknowledged yet */
    int64_t trim_below;      /* records below are to be deleted */
    int64_t trimmed_mono_ms; /* last call of port.trim_cancels */
};

struct cancel_state {
    struct cancels table;
    size_t share;           /* slots that a lane may use */
    int64_t swept_mono_ms;  /* the table was last swept */
    int64_t *parts_ms;      /* by slot: as a seal names it */
    bool barriers_in_doubt; /* those of some lanes */
    bool is_on;
};

#endif
