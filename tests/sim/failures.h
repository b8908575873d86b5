/* SPDX-License-Identifier: Apache-2.0 */
/* failures: a world in which one failure happens once, at its n-th opportunity. exhaustive.c tries
   each kind of failure, and each n until there is no n-th opportunity. */
#ifndef DELAYBRIDGE_TESTS_SIM_FAILURES_H
#define DELAYBRIDGE_TESTS_SIM_FAILURES_H

#include <stdbool.h>
#include <stdint.h>

#define FAILURE_TABLE(X)                                                                           \
    /* results of port calls, or their answers */                                                  \
    X(TAKE_NOTHING, "take returns no record, though one is at hand")                               \
    X(NEVER_WOKEN, "a queue that got records is not woken")                                        \
    X(WOKEN_LATE, "a queue that got records is woken late")                                        \
    X(FETCH_SKIPS, "a fetch jumps over records of a level")                                        \
    X(SEEK_REPEATS, "records from before the new position come after a seek")                      \
    X(SEEK_JUMPS, "records from beyond the new position come after a seek")                        \
    X(NO_MEMORY, "make finds no memory")                                                           \
    X(FULL, "forward finds the queue full")                                                        \
    X(NOT_SENT, "the client drops a record unsent")                                                \
    X(TIMED_OUT, "a record is not acknowledged, and not stored")                                   \
    X(TIMED_OUT_STORED, "a record is not acknowledged, though it is stored")                       \
    X(REFUSED, "a record is refused by its topic")                                                 \
    X(TOO_LARGE, "a delivery's batch is too large")                                                \
    X(UNFIT, "a delivery's batch has a record that the target does not take")                      \
    X(UNNAMED, "exactly-once: a target refuses a record, and the client does not name the target") \
    X(REPORT_LATE, "a report comes seconds later")                                                 \
    X(COMMIT_FAILED, "a commit fails, and has no effect")                                          \
    X(COMMIT_REFUSED, "a commit is refused by the coordinator")                                    \
    X(COMMIT_LOST, "a commit is never answered, and has no effect")                                \
    X(COMMIT_UNANSWERED, "a commit is never answered, though it has taken effect")                 \
    X(COMMIT_PARTLY, "at-least-once: a commit fails for some partitions")                          \
    X(COMMIT_LATE, "exactly-once: an end of a transaction arrives after its client gave up")       \
    X(COMMIT_TWICE, "exactly-once: a request of a commit arrives again, much later")               \
    X(LOOKUP_UNKNOWN, "a look-up has no answer")                                                   \
    X(LOOKUP_MISSING, "a look-up says that there is no such target")                               \
    X(ENDS_LOST, "a query for the ends of logs has no answer")                                     \
    /* events after a process has acted */                                                         \
    X(REGROUP, "the group is formed again")                                                        \
    X(EXPEL, "the process is removed from the group")                                              \
    X(ISOLATE, "the coordinator does not hear the process for longer than a session")              \
    X(STALL, "the process stalls for longer than a session")                                       \
    X(STALL_HALF, "the process stalls for more than half of a session")                            \
    X(STOP, "the process is requested to end")                                                     \
    X(CANCEL, "a cancel of all waiting records is written")                                        \
    X(REPLACE, "a replace of all waiting records is written")                                      \
    X(CANCEL_KILL, "a cancel of all waiting records is written, and the process dies")             \
    X(REPLACE_KILL, "a replace of all waiting records is written, and the process dies")           \
    X(OUTAGE, "the broker is away for four seconds")                                               \
    X(OUTAGE_LONG, "the broker is away for ten seconds")                                           \
    X(LEADERLESS, "no partition has a leader for three seconds")                                   \
    X(NO_COORDINATOR, "there is no coordinator for three seconds")                                 \
    X(CLOCK_BACK, "the clock steps back")                                                          \
    X(CLOCK_AHEAD, "the clock steps ahead")                                                        \
    X(FENCED, "exactly-once: the producer is fenced, and its client knows at once")                \
    X(FENCED_UNHEARD, "exactly-once: the producer is fenced, and its client does not know")

#define FAILURE_ENUM(id, text) FAILURE_##id,
enum failure { FAILURE_NONE, FAILURE_TABLE(FAILURE_ENUM) FAILURE_N };
#undef FAILURE_ENUM

/* at: the opportunity at which the failure happens, from 1 on. seen: the last opportunity so far,
   at most at. here, before: hashes of all draws up to the last opportunity, and up to the one
   before it. Two runs with equal hashes have been equal so far. */
struct failing {
    enum failure kind;
    int dying_life; /* the life that dies in a port call; 0: none */
    uint64_t at, seen;
    uint64_t before, here;
};

struct world;
struct process;

const char *failure_text(enum failure kind);
/* Returns whether the failure is a cancel or a replace. */
bool failure_is_cancel(enum failure kind);

/* Counts an opportunity. Returns whether the failure happens now. */
bool fails(struct world *world, enum failure kind);
bool dies(const struct process *process);

/* Lets an event happen after the process has acted, if this is its opportunity. */
void failure_strikes(struct process *process);

#endif
