/* SPDX-License-Identifier: Apache-2.0 */
/* oracle: the required outcome of each request, in the simplest form (a list and the rule), and the
   acts that are forbidden to a bridge. It shares no code with the bridge, except that it reads
   level records with envelope_open. Every breach ends the seed through world_fail. */
#ifndef DELAYBRIDGE_TESTS_SIM_ORACLE_H
#define DELAYBRIDGE_TESTS_SIM_ORACLE_H

#include "tests/sim/world.h"

/* The largest records that topics take, in bytes of value. */
enum { TARGET_BYTES_MAX = 2000, LEVEL_BYTES_MAX = 4000, DEAD_BYTES_MAX = 6000 };
enum { REQUEST_BYTES_MAX = 7000 }; /* of a request of any kind, in worlds that have such a limit */

/* The allowed lateness without faults, from the moment when a process has lanes and a producer. New
   targets are looked up one a turn, and turns may be 100 ms apart. Then the longest time of a
   commit, and the longest wait between two tries. */
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

/* The wall clock counts a delay from the moment when the bridge reads: due is not known before. */
#define DUE_UNKNOWN INT64_MIN

struct request {
    struct request *next;
    int lane;
    int64_t offset, appended_ms;
    int64_t due_ms, delay_ms;
    int64_t expires_ms; /* INT64_MAX: never */
    const char *target;
    struct bytes key, value, id;  /* key: of the delivered record */
    const struct header *headers; /* the business's own */
    size_t headers_n;
    enum code expect; /* CODE_OK: it is to be delivered, if anything can take it */
    int failures;     /* deliveries that were reported as failed */
    int delivered, dead;
    bool finished, excused;
    int64_t finished_ms;
};

enum attempt_state { ATTEMPT_FLYING, ATTEMPT_OK, ATTEMPT_FAILED, ATTEMPT_LOST };

/* One forward of one record, by one life of a process. */
struct attempt {
    struct attempt *next;
    struct attempt *before;              /* of the same producer */
    const struct transaction *stored_in; /* NULL: nowhere, or for good */
    int life;
    int64_t offset; /* the record's */
    enum attempt_state state;
    int sent_epoch; /* the lane's, when it was forwarded */
    int told_epoch; /* the lane's at the report; -1: not its lane then */
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

/* A level record was appended. life: of its writer. */
void oracle_level_appended(struct world *world, struct log *log, const struct entry *entry,
                           const struct ladder *ladder, int life);

void oracle_target_failed(struct world *world, const char *name);

/* Check progress before its commit, a trim, a look-up, an event. */
void oracle_claim(struct process *p, const struct progress *progress);
void oracle_trim(struct process *p, struct queue_id queue, int64_t base);
enum lookup oracle_lookup(struct process *p, const struct target_id *target);
void oracle_notice(struct process *p, const struct notice *notice);

/* So many texts of a lane's start were ignored, though the simulator can read them. */
void oracle_unusable(struct process *p, int lane, int n);

/* Checks memory and counters, after each call into the bridge. */
void oracle_process_bounds(struct process *p);
/* The process crashed: reports that are older than the time of a commit must be committed. */
void oracle_process_ends(struct process *p);
/* The process stopped cleanly: every report is committed. */
void oracle_clean_stop(struct process *p);

/* The records of [log.start, start) are cut off: they need not be forwarded. */
void oracle_truncate(struct world *world, int topic, int lane, int64_t start);

/* When the last request must be finished; every log must be done and committed then. */
int64_t oracle_limit_ms(const struct world *world);
bool oracle_all_committed(const struct world *world);
void oracle_final(struct world *world);

#endif
