/* SPDX-License-Identifier: Apache-2.0 */
/* story: the parts of the scenarios. In a story no call takes time and no fault happens, unless the
   story sets it. */
#ifndef DELAYBRIDGE_TESTS_SIM_STORY_H
#define DELAYBRIDGE_TESTS_SIM_STORY_H

#include "tests/sim/scenarios.h"
#include "tests/sim/workload.h"

#include <stddef.h>

/* Sets up one process, one lane, and levels of 1, 5 and 30 s. The story may change the setup before
   it calls story_open, which starts the broker and all processes. */
void story_begin(struct world *world);
void story_open(struct world *world);
/* Ends all faults. Every record must drain, and none may be forwarded again after a clean stop. */
void story_finish(struct world *world);

void story_pass(struct world *world, int64_t ms); /* lets time pass */
/* One step of a wait. Fails when the wait has lasted too long. */
void story_wait(struct world *world, int64_t since_ms, const char *what);
#define story_until(world, condition)                           \
    do {                                                        \
        for (int64_t since_ms = (world)->now_ms; !(condition);) \
            story_wait(world, since_ms, #condition);            \
    } while (0)
#define expect(world, condition)                                              \
    do {                                                                      \
        if (!(condition))                                                     \
            world_fail(world, "line %d: expected: %s", __LINE__, #condition); \
    } while (0)

/* Does the same as story_begin, in exactly-once mode. */
void story_begin_exactly_once(struct world *world);

struct request *story_ask(struct world *world, int target, int64_t delay_ms);
struct request *story_ask_lane(struct world *world, int lane, int target, int64_t delay_ms);
struct request *story_ask_large(struct world *world, int64_t delay_ms, size_t value_len);
struct request *story_ask_long_key(struct world *world, int64_t delay_ms, size_t key_len);

/* Records sent from here on are not stored until they are released. */
void story_hold_landings(struct world *world);
void story_let_land(struct world *world);

struct process *story_owner(struct world *world, int lane);
struct log *story_level(struct world *world, int level,
                        int lane); /* a level of the first process */
struct inbox *story_inbox(struct process *process, int lane, int slot);
/* Cuts the tail of a log, as an unclean leader election does. end 0: the topic is created again. */
void story_cut_log(struct world *world, struct log *log, int64_t end);
/* Sets the group's offset in lane 0, as an operator does. */
void story_reset_offset(struct world *world, int topic, int64_t offset);
/* Deletes a level topic with its records. Kafka then deletes the group's offsets of this topic,
   too. waiting: a request that waits there. */
void story_delete_level(struct world *world, int level, struct request *waiting);
const struct committed *story_committed(struct world *world, int level,
                                        int lane); /* level -1: the schedule topic */

/* Kills the first process. Its next life begins when the group no longer expects the old one. */
void story_crash(struct world *world);
/* Starts the first process again. Returns when lane 0 has its owner. */
void story_restart(struct world *world);

/* Returns the sum of a counter over all lives. */
uint64_t story_sum(const struct world *world, size_t counter);
#define COUNT(world, name) story_sum(world, offsetof(struct stats, name))

/* Forms the group again with the same members. Returns when lane 0 has its owner again. */
void story_regroup(struct world *world);

enum { STORY_EACH_S = 10 };

/* Sends n requests to target B, STORY_EACH_S a second, and half as many to target A: slow[i]
   repeats the one before for each odd i. */
void story_ask_both(struct world *world, struct request **slow, struct request **good, int n);
void story_expect_delivered(struct world *world, struct request **requests, int n); /* once each */

#endif
