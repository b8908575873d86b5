/* SPDX-License-Identifier: Apache-2.0 */
/* oracle: what must become of each request, told as naively as possible (a list and the rule), and
   what a bridge may never do. It shares no code with the bridge; of a level record it looks only at
   what envelope_open shows. Every breach ends the seed through world_fail. */
#ifndef DELAYBRIDGE_TESTS_SIM_ORACLE_H
#define DELAYBRIDGE_TESTS_SIM_ORACLE_H

#include "tests/sim/world.h"

/* What takes a record of which size, in bytes of value. */
enum { TARGET_BYTES_MAX = 2000, LEVEL_BYTES_MAX = 4000, DEAD_BYTES_MAX = 6000 };
enum { REQUEST_BYTES_MAX = 7000 }; /* of a request of any kind, in worlds that have such a limit */

/* Lateness when nothing is wrong, and since a process has lanes and a producer (targets that are
   met for the first time are looked up one a turn, and turns may be 100 ms apart); how long a
   commit may take; the longest wait between two tries.
 */
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
    int failures;     /* deliveries that the bridge was told have failed */
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
    int told_epoch; /* the lane's, when the report reached the bridge; -1: not its lane then */
    uint64_t told_step;
    int64_t told_ms;
};

/* What was forwarded, as the port understood it. */
struct forwarded {
    const struct forward *forward;
    struct entry *input;
    struct request *request; /* NULL: a foreign record */
};

/* A forward is about to be taken. Fails, or returns the attempt to be told of the rest. */
struct attempt *oracle_forwarded(struct process *p, struct forwarded *f);
void oracle_told(struct process *p, struct attempt *attempt, struct queue_id from,
                 struct request *request, enum forward_kind kind, enum report report);
void oracle_finished(struct world *world, struct request *request, enum forward_kind kind);

/* A level record was appended. life: of its writer. */
void oracle_level_appended(struct world *world, struct log *log, const struct entry *entry,
                           const struct ladder *ladder, int life);

void oracle_target_failed(struct world *world, const char *name);

/* Progress that is about to be committed; a trim; a lookup; an event. */
void oracle_claim(struct process *p, const struct progress *progress);
void oracle_trim(struct process *p, struct queue_id queue, int64_t base);
enum lookup oracle_lookup(struct process *p, const struct target_id *target);
void oracle_event(struct process *p, const struct event *event);

/* So many texts of a lane's start were ignored, though the simulator can read them. */
void oracle_unusable(struct process *p, int lane, int n);

/* After each call into the bridge: memory, and what it counted. */
void oracle_process_bounds(struct process *p);
/* It crashed: what it was told longer ago than a commit takes must be committed. */
void oracle_process_ends(struct process *p);
/* It stopped cleanly: everything that it was told is committed. */
void oracle_clean_stop(struct process *p);

/* The records of [log.start, start) are cut off: nobody need do them. */
void oracle_truncate(struct world *world, int topic, int lane, int64_t start);

/* When the last request must be finished; every log must be done and committed then. */
int64_t oracle_limit_ms(const struct world *world);
bool oracle_all_committed(const struct world *world);
void oracle_final(struct world *world);

#endif
