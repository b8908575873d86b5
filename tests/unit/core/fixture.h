/* SPDX-License-Identifier: Apache-2.0 */
/* fixture: a step machine that owns lane 0 of two, and a port that answers as the test sets it and
   records the calls. The suites of bridge/core share it. The step machine is the real one.

   Its ladder has two levels. Each queue of lane 0 starts at the committed offset START. */
#ifndef DELAYBRIDGE_TESTS_UNIT_CORE_FIXTURE_H
#define DELAYBRIDGE_TESTS_UNIT_CORE_FIXTURE_H

#include "bridge/core/bridge.h"
#include "bridge/core/state.h"

enum { LEVEL = 1, LONG_LEVEL = 2, START = 100, NOTICES_MAX = 64, SHORT_MS = 1000, LONG_MS = 60000 };
#define BEGIN_WALL_MS ((int64_t)1790000000000)

struct fixture {
    struct bridge_config config; /* starts with defaults; fixture_again uses the changed one */
    struct bridge *b;
    struct stats stats;

    /* Answers of the port. */
    const char *target; /* target of the records that fixture_record makes */
    int64_t expires_ms;
    enum lookup lookup, outlet_lookup;
    bool is_full;       /* forward refuses records */
    bool is_broken;     /* begin fails */
    bool is_unassigned; /* send_offsets refuses */
    bool holds_calls;   /* calls of clients do not end by themselves */
    bool has_no_memory; /* make and keep fail */
    int64_t end_offset, drained_offset;
    struct record *offered; /* take returns it once, for this slot of lane 0 */
    int offered_slot;

    /* Calls of the port. */
    int records; /* records that are made but not released */
    int forwarded, lookups, outlet_lookups, seeks, pauses, commits, forgets, trims, queries, loads;
    int cancels_trims, begins, announces, finishes, purges, renews[TXN_CLIENTS];
    enum client_call running[TXN_CLIENTS]; /* calls of clients, but not commits */
    int committer, purged;                 /* the last clients that committed and were purged */
    bool was_left;                         /* argument of the last renew */
    struct load load;                      /* the last one */
    int64_t cancels_trim_below;
    struct forward sent; /* the last forward; its pointers are no longer valid */
    int64_t seek_offset, trim_base;
    uint64_t seq; /* number of the last commit */
    size_t progress_n;
    struct notice notices[NOTICES_MAX];
    char reasons[NOTICES_MAX][REASON_MAX], targets[NOTICES_MAX][TOPIC_NAME_MAX + 1];
    int notices_n; /* number of notices; the last NOTICES_MAX are kept */

    struct parcel *reported; /* reported by the next call of reports */
    enum report report;
    const char *why;
};
extern struct fixture fx;

/* The init and fini of a suite. fixture_stop fails if a record was not released. */
void fixture_start(void);
void fixture_start_exactly_once(void);
void fixture_again(void); /* makes a new step machine with fx.config */
void fixture_stop(void);

void fixture_pass(int64_t ms); /* advances both clocks, without a turn */
void fixture_turn(void);
struct queue *fixture_queue(int slot); /* a queue of lane 0 */

/* Returns a record that is not an envelope, with a value of n bytes. */
struct record *fixture_raw(int64_t offset, size_t n);
/* Returns a record of a level, for fx.target, due at due_ms. */
struct record *fixture_record(int64_t offset, int64_t due_ms);
/* Does the same, and admits the record to its queue. The parcel is in no list. */
struct parcel *fixture_parcel(int slot, int64_t offset, int64_t due_ms);
/* Does the same, and sends the record. The port must accept it. */
struct parcel *fixture_send(int slot, int64_t offset, int64_t due_ms);
/* Sends a record to the dead-letter topic. */
struct parcel *fixture_send_dead(int slot, int64_t offset);
void fixture_report(struct parcel *p, enum report report); /* reports from within port.reports */
void fixture_fact(struct client_fact fact);
void fixture_end(int client,
                 bool ok);    /* ends its running call; after CALL_DESTROY, CALL_INIT runs */
void fixture_committed(void); /* the commit of the transaction succeeded */
/* The transaction has failed, and its client is purged. All its records must be reported. */
void fixture_fail(enum blame blame, const char *why);
void fixture_hold_spares(void); /* no other client could begin a transaction */
struct target *fixture_target(const char *name);
void fixture_offer(int slot, struct record *record); /* makes the port have this record at hand */
void fixture_gain(int lane); /* assigns the lane; each queue starts at START */

int fixture_notices(enum notice_kind kind); /* number of events of this kind */
const struct notice *
fixture_notice(enum notice_kind kind); /* the last event of this kind; NULL: none */

#endif
