/* SPDX-License-Identifier: Apache-2.0 */
/* failures: one thing goes wrong once, at its n-th opportunity, in a world in which nothing else
   does. exhaustive.c takes each kind in turn, and each n until there is no n-th opportunity. */
#ifndef DELAYBRIDGE_TESTS_SIM_FAILURES_H
#define DELAYBRIDGE_TESTS_SIM_FAILURES_H

#include <stdbool.h>
#include <stdint.h>

#define FAILURE_TABLE(X)                                                                      \
    /* what a port call, or its answer, comes to */                                           \
    X(TAKE_NOTHING, "take has nothing, though a record is at hand")                           \
    X(NEVER_WOKEN, "a queue that got records is not woken")                                   \
    X(WOKEN_LATE, "a queue that got records is woken late")                                   \
    X(FETCH_SKIPS, "a fetch jumps over records of a level")                                   \
    X(SEEK_REPEATS, "records from before the new position come after a seek")                 \
    X(SEEK_JUMPS, "records from beyond the new position come after a seek")                   \
    X(NO_MEMORY, "make has no memory")                                                        \
    X(FULL, "forward takes nothing")                                                          \
    X(NOT_SENT, "a record is given up by the client")                                         \
    X(TIMED_OUT, "a record is not acknowledged, and not stored")                              \
    X(TIMED_OUT_STORED, "a record is not acknowledged, though it is stored")                  \
    X(REFUSED, "a record is refused by its topic")                                            \
    X(TOO_LARGE, "a delivery's batch is too large")                                           \
    X(UNFIT, "a delivery's batch has something in it that is nothing the target takes")       \
    X(UNNAMED, "exactly once: a target refuses, and the client does not say which")           \
    X(REPORT_LATE, "a report comes seconds later")                                            \
    X(COMMIT_FAILED, "a commit fails, and has no effect")                                     \
    X(COMMIT_REFUSED, "a commit is refused by the coordinator")                               \
    X(COMMIT_LOST, "a commit is never answered, and has no effect")                           \
    X(COMMIT_UNANSWERED, "a commit is never answered, though it has taken effect")            \
    X(COMMIT_PARTLY, "at least once: a commit fails for some partitions")                     \
    X(COMMIT_LATE, "exactly once: an end of a transaction arrives after nobody waits for it") \
    X(LOOKUP_UNKNOWN, "a look-up has no answer")                                              \
    X(LOOKUP_MISSING, "a look-up says that there is no such target")                          \
    /* what befalls a process after it has done something */                                  \
    X(REGROUP, "the group is formed anew")                                                    \
    X(EXPEL, "the process is put out of the group")                                           \
    X(ISOLATE, "the coordinator does not hear the process for longer than a session")         \
    X(STALL, "the process stands still for longer than a session")                            \
    X(STALL_HALF, "the process stands still for a good half of a session")                    \
    X(STOP, "the process is asked to end")                                                    \
    X(OUTAGE, "the broker is away for four seconds")                                          \
    X(OUTAGE_LONG, "the broker is away for ten seconds")                                      \
    X(LEADERLESS, "no partition has a leader for three seconds")                              \
    X(NO_COORDINATOR, "there is no coordinator for three seconds")                            \
    X(CLOCK_BACK, "the clock steps back")                                                     \
    X(CLOCK_AHEAD, "the clock steps ahead")                                                   \
    X(FENCED, "exactly once: the producer is fenced, and its client hears of it at once")     \
    X(FENCED_UNHEARD, "exactly once: the producer is fenced, and its client does not know")

#define FAILURE_ENUM(id, text) FAILURE_##id,
enum failure { FAILURE_NONE, FAILURE_TABLE(FAILURE_ENUM) FAILURE_N };
#undef FAILURE_ENUM

/* at, seen: opportunities; at is the one that is taken, from 1 on, and nothing is seen after it.
   here and before stand for all that was drawn up to the last one seen, and to the one before it:
   runs that agree in them were the same run so far. */
struct failing {
    enum failure kind;
    int dying_life; /* that one dies, in a port call; 0: nobody */
    uint64_t at, seen;
    uint64_t before, here;
};

struct world;
struct process;

const char *failure_text(enum failure kind);

/* An opportunity: true if this is the one. */
bool fails(struct world *world, enum failure kind);
bool dies(const struct process *process);

/* The process has done something. */
void failure_strikes(struct process *process);

#endif
