/* SPDX-License-Identifier: Apache-2.0 */
/* world: virtual time, the processes that live in it, and the faults that may happen.

   A process is one bridge with a port (port.c, lending.c, produce.c), its own clock and a
   membership in the group (member.c). Everything that happens is an event at a time. Random delays
   put the events in an order that the seed repeats. A wait costs no time: the clock leaps to the
   next event.

     broker   the truth: stored records, committed offsets, owners
     oracle   the required outcome of each request, and the records that may be forwarded twice
     knobs    how likely each fault is; all 0 is a fair world
     bugs     a layer between bridge and port that lies on purpose (bugs.c) */
#ifndef DELAYBRIDGE_TESTS_SIM_WORLD_H
#define DELAYBRIDGE_TESTS_SIM_WORLD_H

#include "bridge/core/bridge.h"
#include "tests/sim/broker.h"
#include "tests/sim/bugs.h"
#include "tests/sim/failures.h"
#include "tests/sim/rng.h"

#include <setjmp.h>

enum { SKIPS_MAX = 4 };
enum { PROCESSES_MAX = 4, TARGETS_N = 5, TARGET_PARTITIONS = 3 };
enum { QUEUES_MAX = LANES_MAX * TOPICS_MAX };
/* A chain: a place in which one producer's records stay in order. It is a level partition, a lane's
   dead letters or events, or a partition of a target. */
enum { CHAINS_DEAD = QUEUES_MAX, CHAINS_TARGETS = CHAINS_DEAD + LANES_MAX };
enum { CHAINS_EVENTS = CHAINS_TARGETS + TARGETS_N * TARGET_PARTITIONS };
enum { CHAINS_N = CHAINS_EVENTS + LANES_MAX };

/* Delivery mode of a seed. MODE_OF_SEED: the seed chooses. */
enum mode { MODE_OF_SEED, MODE_AT_LEAST_ONCE, MODE_EXACTLY_ONCE };

#define EPOCH_MS 1700000000000 /* the true wall clock when virtual time is 0 */

struct world;
struct process;
struct producer;

/* How likely and how long faults are. Probabilities are out of ten thousand. Times are maxima in
   ms, and most delays take an eighth of them. */
struct knobs {
    int64_t fetch_ms, land_ms, report_ms, commit_ms, turn_ms, notice_ms;
    int64_t mark_ms, restart_ms; /* the markers of a transaction; a new producer */
    int starts_fail;             /* an initialization of a client, or rarely its begin */
    int late_wake, never_wake;   /* the wakeup of a queue with records is late, or missing */
    int take_nothing;            /* take returns no record, although one is at hand */
    int stale_after_seek;        /* records before the position are handed out again */
    int ahead_after_seek;        /* records beyond the new position, fetched earlier, come first */
    int skip_once;               /* a fetch jumps over records of a level */
    int full, no_memory;         /* errors of forward and make */
    int timed_out, not_sent,
        batch; /* outcomes of a forward; batch: TOO_LARGE if the record is not alone */
    int commit_fails, commit_silent; /* commit_silent: no answer, and it may be stored or not */
    int commit_partly; /* at-least-once: stored for some partitions, and reported as failed */
    int lookup_unknown, lookup_pending;
    int ends_lost;   /* a query for the ends of logs has no answer */
    bool no_places;  /* scenarios: at an assignment, offsets without a commit stay unknown */
    bool trims_fail; /* scenarios: no records are deleted */
    int64_t cancels_mark_ms; /* scenarios: delay of markers of the topic of cancels */
    bool lose_answers;       /* scenarios: commits take effect without an answer */
    int fetch_n;             /* scenarios: entries in a fetch; 0: any number */
    int64_t turn_age_ms;     /* scenarios: age of a turn's clock when the turn forwards */
    int64_t turn_step_ms;    /* scenarios: step of the wall clock since then */
    bool hold_landings, hold_reports, hold_commits, hold_fetches, hold_turns, hold_fences,
        hold_marks, hold_control; /* scenarios: these events wait */
};

/* KEYED: it refuses each record without a key, as a compacted topic does. UNKEYED: it refuses each
   record with a key, as the validation of a schema may do. Only stories have it. */
enum target_mood {
    TARGET_FINE,
    TARGET_AWAY,
    TARGET_REFUSES,
    TARGET_SLOW,
    TARGET_KEYED,
    TARGET_UNKEYED
};

struct setup {
    int processes, lanes;
    struct ladder ladder, ladder_before; /* before: of processes that start before switch_ms */
    int64_t hold_ms;                     /* at most ladder.hold_ms: no record is kept (hold.h) */
    int64_t switch_ms;
    bool levels_foretold; /* processes with the old ladder read the new levels, too */
    int64_t memory_bytes, bulk_bytes, large_bytes, session_ms, leap_ms;
    size_t commit_text_max;  /* limit of the broker; 0: the default */
    int64_t commit_again_ms; /* 0: the default */
    size_t cancel_memory;    /* of each process; 0: there are no cancels */
    unsigned compat;         /* foreign formats that the processes translate */
    int64_t seal_ms;
    unsigned events; /* one bit for each type that is written; 0: none */
    bool events_lossy;
    size_t txn_records_max, txn_bytes_max; /* 0: the defaults */
    size_t request_max_bytes; /* brokers close the connection on a larger request; 0: no limit */
    int max_attempts;
    bool default_target;
    bool exactly_once;
    bool control;       /* there is a topic of control */
    size_t limited_max; /* limited targets with a bucket */
    bool skip_unreadable;
    bool retries;
    bool cuts; /* the schedule topic loses its tail; timestamps are those of an append */
    bool producers_have_names; /* a new life fences the producer of the previous life */
    bool order_is_exact;     /* equal clocks and one ladder, so no breach of the order is allowed */
    bool commits_are_prompt; /* no fault delays commits */
    bool floods;             /* bursts of large records, and little memory */
    bool is_calm;            /* no fault at all, so no record may be late */
};

/* One input partition at one client. */
struct inbox {
    int64_t next; /* position after the last record handed out; < 0: the log's start */
    bool open, paused, fetching;
    bool hidden; /* records are at hand, but take returns none */
    bool from_start, was_read, sought;
    int version;     /* answers to an older fetch are dropped */
    int64_t at;      /* index of the next record to hand out */
    int64_t fetched; /* end of the records at hand */
    int64_t skipped_at, skipped_to;
    int stale;                /* number of records before `at` that are handed out again */
    int64_t ahead, ahead_end; /* records fetched before the seek that are still handed out */
    uint64_t bulk_step;       /* step of the last read with much at hand */
};

enum member { MEMBER_OUT, MEMBER_STABLE, MEMBER_REVOKING, MEMBER_JOINING, MEMBER_ASSIGNED };

struct held_lane {
    bool owned, has_base; /* has_base: the lane has a commit or a read record */
    int epoch;            /* number of assignments */
    uint64_t gained_step;
    const struct committed
        *start[TOPICS_MAX];      /* by topic: the committed offset at the assignment */
    int fresh_epoch[TOPICS_MAX]; /* epoch of the last assignment without a committed offset */
    int away_epoch;              /* first epoch after another member owned the lane */
    int loaded_epoch;            /* epoch when its cancels were last loaded */
    int64_t schedule_end;        /* last stable offset of the schedule topic at that assignment */
};

/* A query for the ends of logs, or a load, of one lane (loads.c). */
struct load_model {
    int version; /* answers to older ones are void */
    bool is_on;  /* it loads */
    struct load load;
    int64_t at;
    int64_t bytes; /* of all records of the load: the client may fetch them at once */
};

/* The records that a process sent to a limited target (operators.c). */
struct pace {
    const struct act *limit; /* NULL: none yet */
    struct pass *last;
};

struct flight;
struct commit; /* commits.c */
struct late_fact;

/* A transactional client of a process (clients.c). */
struct client_model {
    struct producer *handle; /* NULL: it is destroyed */
    bool ready;              /* it was initialized */
    bool open;               /* its transaction began and has not ended */
    bool purging;
    bool was_left;                       /* its records were reported while a call of it ran */
    int64_t purged_ms;                   /* a purge ends at this time, or later */
    enum client_call call;               /* it runs */
    struct commit *commit;               /* of the open transaction; NULL: no offsets were sent */
    bool may_arrive, offsets_may_arrive; /* requests of this handle */
    bool in_doubt;                       /* offsets or a commit of this id may still arrive */
    bool produced_reported;
    int64_t register_ms; /* the coordinator answers its next request then */
};

struct process {
    struct world *world;
    int64_t ready_ms; /* since when it has lanes and a producer */
    int id, life;     /* life: unique in the world */
    bool up;
    bool dead;    /* crashed inside a call: its further calls have no effect */
    bool may_act; /* inside a turn: it may take and forward */
    int crash_in; /* number of port calls until it dies; 0: it does not die */
    struct bridge *bridge;
    struct stats stats;
    uint64_t refusals_told, failures_told;
    int slots, topic_of_slot[TOPICS_MAX];
    size_t pinned; /* records that it holds, each with the fetch that brought it */
    const struct ladder *ladder;
    int64_t retired_ms[TOPICS_MAX];

    int64_t born_ms, wall_ahead_ms, drift_ppm;
    struct now now;   /* the time that was passed to the bridge */
    struct now clock; /* the true time (a bug may pass another) */
    int64_t turn_at;
    uint64_t calls, calls_at_turn;
    int idle_turns;

    bool stalled;
    int64_t stalled_until;
    int64_t turned_mono_ms;
    bool unproven; /* it stalled: no record may be forwarded before a commit */
    uint64_t woke_step;
    uint64_t reread_step; /* its clock went back, and it reads all records again */

    enum member member;
    int generation;
    int64_t deadline_ms;                   /* end of the revocation */
    uint64_t commit_sent, commit_answered; /* numbers of the last commits */
    unsigned assigned;                     /* lanes, one bit each */
    int acts_read;                         /* of operators */
    bool isolated;                         /* the coordinator does not hear it */
    bool leaving, settled, commit_ok;
    bool rereads;       /* its lanes are assigned again when it may gain them */
    bool unstable;      /* its lanes wait until no open transaction has their offsets */
    bool control_known; /* it has read the topic of control once */
    struct held_lane lanes[LANES_MAX];
    struct inbox inboxes[QUEUES_MAX];
    struct load_model loads[LANES_MAX];
    int64_t entries_restored;     /* room for cancels after a restore of too many, or 0 */
    struct pace paces[TARGETS_N]; /* operators.c */
    struct producer *producer;    /* with exactly-once, of the last transaction */
    struct client_model clients[TXN_CLIENTS];
    struct late_fact *facts, **facts_end; /* clients.c */
    int64_t away_ms;                      /* an outage is reported again at this time */
    void *liar;                           /* bugs.c */
    struct flight *reports, **reports_end;
    int64_t timed_out_ms[CHAINS_N]; /* time of the last timeout reported for this chain; 0: none */
    struct commit_line *commit_line;
    const struct target_id *asked; /* the look-up without an answer so far; NULL: none */
    enum lookup answer;            /* its answer, decided at the query */
    size_t outstanding;            /* number of records lent to the bridge */
    int64_t outstanding_bytes, record_bytes_max;
};

struct happening {
    int64_t at;
    uint64_t order;
    struct process *process; /* NULL: an event of the world */
    int life;                /* life of the process; in another life the event does nothing */
    void (*run)(struct world *world, struct process *process, void *arg, int64_t n);
    void *arg;
    int64_t n;
};

struct target_model {
    const char *name;
    int64_t ack_ms; /* its acknowledgements take this much longer */
    enum target_mood mood;
    int failed; /* number of failed records */
    bool allowed;
    bool refuses_keyless; /* it was reported that the target refuses records without a key */
    bool unanswered;      /* stories: look-ups of the target have no answer */
};

struct world {
    uint64_t seed;
    struct rng rng;
    struct arena arena;
    struct broker broker;
    struct setup setup;
    struct knobs knobs;
    struct process processes[PROCESSES_MAX];
    struct target_model targets[TARGETS_N];
    struct request_rules rules;
    enum bug bug;
    enum mode mode;
    struct digest *digest;  /* records the calls to all ports; NULL: no recording */
    struct failing failing; /* exhaustive.c: the one failure */

    struct happening *events;
    size_t events_n, events_capacity;
    uint64_t orders, step, forwards;
    int flying_n; /* records sent, and neither stored nor dropped */
    int64_t now_ms;
    int64_t quiet_ms;                   /* end of the faults; INT64_MAX: not known yet */
    int64_t outage_until;               /* end of an outage of the broker */
    int64_t coordinator_until;          /* until then no commit and no member is accepted */
    int64_t leaderless_until[CHAINS_N]; /* until then the chain's partition has no leader */
    bool refuses[CHAINS_N];             /* stories: the chain's partition refuses each record */
    bool ending;                        /* processes no longer start, except by a story */
    bool log_disordered;                /* writers overlapped, so level logs are out of order */
    bool unprovable; /* a process stalled and had no commit to prove its ownership */
    bool beyond_end_ok, newer_ok, replaced_ok,
        metadata_is_foreign;  /* faults that only scenarios cause */
    bool missing[TOPICS_MAX]; /* scenarios: topics that were deleted */
    int64_t leaderless_since[CHAINS_N];
    bool is_older[PROCESSES_MAX]; /* scenarios: knows only version 1 of the envelope */
    int64_t skip_to[SKIPS_MAX];   /* scenarios: targets of the jumps of the next fetches */
    int skip_n, skip_at;
    uint64_t notices[NOTICE_KINDS]; /* notices of all processes, by kind */
    int texts_ignored;
    int64_t skew_ms_max; /* the largest difference of any clock so far */
    int lives;
    bool regrouping;      /* a rebalance is under way */
    int64_t ghosts_until; /* until then the coordinator waits for a dead member */
    struct producer *named[PROCESSES_MAX][TXN_CLIENTS]; /* the last one of each transactional id */
    int known_life[PROCESSES_MAX]; /* members, as the coordinator sees them; NO_LIFE: none */

    struct request *requests, **requests_end;
    struct request *cancels; /* of these, cancels and replaces */
    int schedule_n;          /* how often the schedule topic was recreated */
    bool recreated_ok;       /* scenarios: it was */
    bool without_cancels;    /* digests: a seed has none */
    struct rng cancel_rng;   /* of all about cancels, so that a seed without them stays the same */
    struct rng retry_rng;    /* the same of retries */
    struct rng control_rng;  /* the same of pauses and limits */
    struct act *acts;        /* the topic of control; acts_n of them */
    int acts_n;
    const struct act *max_rate;         /* the limit in the configuration; NULL: none */
    struct target_rule target_rules[8]; /* the same, by pattern of rules */
    uint64_t voided_n, cancels_trimmed;
    size_t requests_n, open_n; /* requests_n: all; open_n: without an outcome so far */
    int64_t finish_by_ms;
    bool verbose;
    bool strict;         /* bridge_check after every call, which takes two thirds of the time */
    struct stats totals; /* sums over all lives */
    uint64_t crashes, repeats; /* repeats: records that were forwarded again */
    void *faults;              /* faults.c */
};

/* world.c. A failure leaves by a jump to world_trap, with the reason in world_failure. */
extern sigjmp_buf world_trap;
extern char world_failure[512];
void world_init(struct world *world, uint64_t seed);
void world_deinit(struct world *world);
void world_forget(struct world *world); /* frees the memory that its seeds shared */
/* Runs one seed from init to deinit. Returns false if it failed. */
bool world_passes(struct world *world, uint64_t seed, void (*run)(struct world *));
void world_at(struct world *world, int64_t at, struct process *process,
              void (*run)(struct world *, struct process *, void *, int64_t), void *arg, int64_t n);
bool world_step(struct world *world); /* runs the next event; false: none is left */
void world_run(struct world *world, int64_t until_ms);
int64_t world_delay(struct world *world,
                    int64_t most_ms); /* a random delay, mostly up to an eighth of most_ms */
int64_t world_coordinator_back(
    const struct world *world); /* time of its return; in the past: it is available */
int64_t world_leader_back(const struct world *world, int chain);
void world_take_leader(struct world *world, int chain, int64_t until_ms);
bool world_is_leaderless(const struct world *world, int chain);
_Noreturn __attribute__((format(printf, 2, 3))) void world_fail(struct world *world,
                                                                const char *format, ...);
__attribute__((format(printf, 3, 4))) void
world_note(struct world *world, const struct process *process, const char *format, ...);
#define trace(world, process, ...)                   \
    do {                                             \
        if ((world)->verbose)                        \
            world_note(world, process, __VA_ARGS__); \
    } while (0)

/* process.c: a life from birth to death, its clock, its turns. */
void process_start(struct world *world, int id);
void process_crash(struct process *process);
void process_free(struct process *process); /* kill -9; records in flight may still be stored */
void process_turn_by(struct process *process, int64_t at_ms);
struct now process_clock(const struct process *process);
void process_step_clock(struct process *process, int64_t by_ms);
void process_stall(struct process *process, int64_t for_ms);
bool process_is_away(const struct process *process); /* down, or stalled */
/* Surround each call into the bridge. process_after returns false if the process died inside. */
void process_before(struct process *process);
bool process_after(struct process *process);

/* port.c */
struct port port_of(struct process *process);
bool port_enter(struct process *process); /* false: the process is dead */
struct queue_id port_queue(const struct process *process, int lane, int topic, bool *found);
void inbox_open(struct process *process, struct queue_id queue, int64_t offset);
void inbox_close(struct process *process, struct queue_id queue);
void inbox_appended(struct world *world, int topic, int lane);

/* lending.c */
struct record *port_lend(struct process *process, const struct entry *entry, bool headers);
void port_release(void *ctx, struct record *record);
struct record *port_make(void *ctx, struct bytes key, size_t value_size);
struct record *port_keep(void *ctx, struct record *record);
bool port_pins_batch(const struct record *record);
/* Gives an envelope of version 2 a version that older programs do not know. */
void older_reads(uint8_t *envelope, size_t size);
/* Returns the envelope that an older program writes instead of this one. */
struct bytes older_writes(struct arena *arena, struct bytes envelope);

/* produce.c */
int port_forward(void *ctx, const struct forward *forward);
void port_reports(void *ctx);

/* member.c: the group. */
void member_join(struct process *process);
void member_gone(struct process *process, bool at_once);     /* crashed */
void member_stop(struct process *process);                   /* SIGTERM: settle, commit, leave */
void member_silent(struct process *process, int64_t for_ms); /* sends no heartbeats for this time */
void member_isolate(struct process *process, int64_t for_ms); /* from the coordinator alone */
void member_expel(struct world *world, int id);
bool member_is_known(const struct process *process);
void member_notice(struct process *process); /* the client learns of a rebalance */
void member_reread(struct process *process); /* releases its lanes until it may gain them */
void group_regroup(struct world *world);

/* commits.c */
void port_commit(void *ctx, uint64_t seq, const struct progress *progress, size_t n);
int port_send_offsets(void *ctx, int i, const struct progress *progress, size_t n);
void port_commit_transaction(void *ctx, int i);

/* clients.c: the transactional clients, in exactly-once mode. i: one of them. */
int port_begin(void *ctx, int i);
void port_purge(void *ctx, int i);
void port_renew(void *ctx, int i, bool was_left);
void clients_start(struct process *process);             /* in both modes */
void clients_report(struct process *process);            /* passes the facts that have arrived */
void clients_died(struct process *process, bool leaves); /* leaves: it perhaps aborts */
/* Returns whether the current client would learn now that it is fenced. */
bool clients_may_break(const struct process *process);
/* Returns the client of an order. Fails if it may not get this order. */
struct client_model *client_of(struct process *process, int i, const char *order);
void client_says(struct process *process, struct client_fact fact);
void client_ended(struct process *process, int i, bool ok); /* of its running call */

#endif
