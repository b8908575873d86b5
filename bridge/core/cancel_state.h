/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_state: the structures of cancels, as a part of state.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_CANCEL_STATE_H
#define DELAYBRIDGE_BRIDGE_CORE_CANCEL_STATE_H

#include "bridge/core/port.h"
#include "levels/cancel_names.h"
#include "levels/cancels.h"
#include "levels/eras.h"
#include "levels/same_log.h"
#include "levels/seals.h"

enum {
    SEAL_EVERY_MS = 60000,
    ENDS_LOST_MS = 5000,      /* a query for ends without an answer is repeated after this time */
    CANCELS_CLEAR_SLOTS = 64, /* slots that a turn checks for dead entries */
    CANCELS_SWEEP_MS = 1000   /* least time between two sweeps of a full table */
};

/* The record that a parcel sends before its own, or a record without an input record. */
enum entry_kind {
    ENTRY_NONE,
    ENTRY_CANCEL,   /* entry of a cancel, whose offset is done when it is acknowledged */
    ENTRY_REPLACE,  /* entry of a replace, whose request follows */
    ENTRY_SEAL,     /* marks no offset */
    ENTRY_CUT,      /* marks no offset */
    ENTRY_EVENT,    /* an event of another parcel (event.h): marks no offset */
    ENTRY_UNMATCHED /* the event of a cancel that dies (unmatched.h): marks no offset */
};

/* A lane opens when its cancels are in force again (restore.h). */
enum loading {
    LOADING_NONE,     /* the lane is open, or has another owner */
    LOADING_LOG_END,  /* waits for the end of the topic of cancels */
    LOADING_LOG,      /* reads the topic of cancels */
    LOADING_ENDS,     /* waits for the ends of the schedule topic */
    LOADING_SAME_LOG, /* reads records of the schedule topic, to recognize it (same_log.h) */
    LOADING_MOVE,     /* it was cut: waits for a commit of the place where it continues */
    LOADING_CUT,      /* writes that a new era of it begins */
    LOADING_REQUESTS, /* reads the requests that are not done */
    LOADING_CONTROL,  /* waits for the paused and limited targets (withhold.h) */
    LOADING_BLOCKED   /* found an entry of a newer program, or no memory for its cancels */
};

/* The cancels of one lane. */
struct lane_cancels {
    int id;      /* in the table; -1: none */
    bool is_any; /* an entry may be in force */

    /* The restore (restore.h). */
    enum loading loading;
    bool complete;         /* the last restore ended, and its table is still kept */
    bool fresh;            /* the group had no offset of the schedule topic */
    bool cut_in_doubt;     /* exactly once: its transaction may be aborted */
    struct load load;      /* under way */
    int64_t load_next;     /* the first offset that the load has not read */
    int64_t watched_next;  /* the same, when it last changed (bulk.h) */
    int64_t moved_mono_ms; /* last change */
    int64_t loading_mono_ms;
    int64_t log_next;       /* the table has all entries of the topic of cancels below this */
    int64_t requests_next;  /* it has all cancels of the schedule topic below this; -1: unknown */
    int64_t start_offset;   /* committed on the schedule topic at the assignment */
    int64_t requests_start; /* start of the schedule topic's log, at the last query */
    int64_t requests_end;   /* its last stable offset, at the same query */
    struct same_log same_log;
    int64_t short_since_mono_ms; /* the log ends below its newest witness; 0: it does not */
    uint64_t moved_at_change;    /* LOADING_MOVE: the change that must be committed */
    struct eras eras;            /* of the schedule topic */

    /* Seals (seal.h). */
    struct seals seals;
    int64_t number;          /* the next seal has this one, or that of seals_next */
    bool queried;            /* the query for the ends of a seal is pending */
    bool seal_out;           /* a seal or cut is not acknowledged yet */
    int64_t queried_mono_ms; /* last query for ends, or the end of the restore */
    int64_t covered_offset;  /* all cancels below were in force at this query */
    struct cancel_seal seal; /* the one that is written; added when it is acknowledged */
    int64_t *passed;         /* by slot: the base that was committed at the last query */
    int64_t sealed_next;     /* end of the topic of cancels in the last seal; 0: none. Another owner
                                may have written below, unless a commit proved that there is none */
    int64_t sealed_mono_ms;  /* the seal was acknowledged */

    /* Cancels that may turn out to be unmatched (unmatched.h). */
    struct cancel_names names;
    int64_t dead_below; /* a place: those below die when they were reported. INT64_MIN: none */

    /* The topic of cancels, as far as known. */
    int64_t log_start, log_end;
    int64_t entries_out;     /* entries that are not acknowledged yet */
    int64_t trim_below;      /* no record below is needed */
    int64_t trimmed_mono_ms; /* last call of port.trim_cancels */
};

struct cancel_state {
    struct cancels table;
    size_t share;          /* slots that a lane may use */
    int64_t swept_mono_ms; /* the table was last swept */
    int64_t *parts_ms;     /* by slot: as a seal names it */
    bool cuts_in_doubt;    /* those of some lanes */
    bool is_on;
};

#endif
