/* SPDX-License-Identifier: Apache-2.0 */
/* oracle: the required outcome of each request, in the simplest form (a list and the rule), and the
   acts that are forbidden to a bridge. It shares no code with the bridge, except that it reads
   level records with envelope_open. Every breach ends the seed through world_fail. */
#ifndef DELAYBRIDGE_TESTS_SIM_ORACLE_H
#define DELAYBRIDGE_TESTS_SIM_ORACLE_H

#include "tests/sim/world.h"

/* The largest records that topics take, in bytes of value. */
enum { TARGET_BYTES_MAX = 2000, LEVEL_BYTES_MAX = 4000, DEAD_BYTES_MAX = 6000 };
enum { REQUEST_BYTES_MAX = 7000 }; /* the largest request to a broker, in worlds with this limit */

/* The allowed lateness without faults, after a process has lanes and a producer. The bridge looks
   up one new target in each turn, and turns may be 100 ms apart. The other two are the longest time
   of a commit, and the longest pause between two attempts. */
enum {
    CALM_LATE_MS = 350,
    CALM_LATE_EXACTLY_ONCE_MS = 600,
    COMMIT_LAG_MS = 400,
    RETRY_MS_MAX = 30 * 60 * 1000
};

static inline int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The due time of a request without a timestamp, whose delay counts from its reading by the bridge.
 */
#define DUE_UNKNOWN INT64_MIN

struct request;

/* A request with dlb-retry (retries.h). */
struct retry_model {
    int policy;
    int number;                   /* of this retry, from 1; 0: no dlb-retry */
    int64_t first_ms;             /* epoch: the timestamp of the first retry */
    const struct request *origin; /* the first retry */
    bool sent_again;              /* its consumer has failed again */
};

struct request {
    struct request *next;
    int lane;
    int64_t offset, appended_ms;
    int64_t due_ms, delay_ms;
    int64_t spread_ms;  /* 0: none. Otherwise the bridge chooses a time from due_ms on */
    int64_t chosen_ms;  /* epoch: this time; 0: not seen yet */
    int64_t expires_ms; /* INT64_MAX: it never expires */
    const char *target;
    struct bytes key, value, id; /* key: of the delivered record */
    struct bytes record_key;
    const struct header *headers; /* user headers */
    size_t headers_n;
    enum code expect; /* CODE_OK: the request must be delivered, if its target can take it */
    int failures;     /* deliveries that were reported as failed */
    int delivered, dead;
    uint64_t letter_forward; /* world.forwards at its last dead letter */
    bool finished, excused;
    bool lost; /* its record was cut off the schedule topic, whose offsets are used again */
    int64_t finished_ms;
    struct retry_model retry;

    /* voids.c */
    struct request *next_cancel;
    const struct request *voided_by; /* the newest cancel that voids it; NULL: none */
    enum request_op op;
    int schedule;      /* as world.schedule_n when it was written */
    int number;        /* in the order of all requests */
    struct bytes name; /* null: it has none */
    bool named_by_id;
    bool voids;                      /* a cancel, or a replace of correct form */
    bool was_refused;                /* for lack of room */
    int applied_life, applied_epoch; /* the last owner that wrote its entry */
    bool came_later;                 /* it was not on the schedule topic when this owner got it */
    int64_t entry_offset;            /* of its last entry on the topic of cancels */
    int entries;                     /* that were stored */
    int accepted;                    /* cancels: entries that made it done */
    int voided;                      /* records of it that were dropped */

    /* facts.c */
    int told[EVENT_TYPES]; /* events that were stored */
    uint64_t told_tries;   /* the same of tries that failed: bit n of the n-th */
    int tries;             /* tries that failed, as its records on levels say */
    bool taken;            /* it became a waiting record, a delivery, or a dead letter of these */
    int letters[2];        /* dead letters: of other codes, and expired */
    int in_force;          /* a cancel: its entries */
    bool cut;              /* a record of it was deleted by retention */
    bool certain;          /* an event says that it was certainly not delivered */
};

enum attempt_state { ATTEMPT_FLYING, ATTEMPT_OK, ATTEMPT_FAILED, ATTEMPT_LOST };

/* One forward of one record, by one life of a process. */
struct attempt {
    struct attempt *next;
    struct attempt *before;              /* the previous one of the same producer */
    const struct transaction *stored_in; /* NULL: not stored, or without a transaction */
    int life;
    int64_t offset; /* offset of the record */
    enum attempt_state state;
    uint64_t sent_step;
    int sent_epoch; /* epoch of the lane when the record was forwarded */
    int told_epoch; /* the same at the report; -1: another process owned the lane */
    uint64_t told_step;
    int64_t told_ms;
};

/* A forwarded record, as the port understood it. */
struct forwarded {
    const struct forward *forward;
    struct entry *input;
    struct request *request; /* NULL: a foreign record */
};

/* Checks a forward before the port takes it. Returns the attempt that receives its later events. */
struct attempt *oracle_forwarded(struct process *p, struct forwarded *f);
void oracle_told(struct process *p, struct attempt *attempt, struct queue_id from,
                 struct request *request, enum forward_kind kind, enum report report);
void oracle_finished(struct world *world, struct request *request, enum forward_kind kind);

/* Checks a new record of a level log. life: the life of its writer. */
void oracle_level_appended(struct world *world, struct log *log, const struct entry *entry,
                           const struct ladder *ladder, int life);

void oracle_target_failed(struct world *world, const char *name);

/* Check progress before its commit, a trim, a look-up, an event. */
void oracle_claim(struct process *p, const struct progress *progress);
void oracle_trim(struct process *p, struct queue_id queue, int64_t base);
enum lookup oracle_lookup(struct process *p, const struct target_id *target);
void oracle_notice(struct process *p, const struct notice *notice);

/* Checks n metadata texts that the bridge ignored at the start of a lane, although the simulator
   can parse them. */
void oracle_unusable(struct process *p, int lane, int n);

/* Checks the memory that a process uses, after each call into the bridge. */
void oracle_process_bounds(struct process *p);
/* Checks that the counters of all targets add up to those of the worker. They only grow, so a wrong
   one is found at the end of the life. */
void oracle_counters(const struct process *p);
/* Checks a crashed process: reports older than the time of a commit must be committed. */
void oracle_process_ends(struct process *p);
/* Checks a process that stopped cleanly: every report must be committed. */
void oracle_clean_stop(struct process *p);

/* Cuts off the records of [log.start, start). They need not be forwarded. */
void oracle_truncate(struct world *world, int topic, int lane, int64_t start);

/* The schedule topic of a lane loses its records from `end` on, as after an unclean election. Those
   that were not done need no outcome. */
void oracle_cut(struct world *world, int lane, int64_t end);

/* Returns the time at which every request must have its outcome, and every log must be done and
   committed. */
int64_t oracle_limit_ms(const struct world *world);
bool oracle_all_committed(const struct world *world);
void oracle_final(struct world *world);

#endif
