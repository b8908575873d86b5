/* SPDX-License-Identifier: Apache-2.0 */
/* control: the targets that operators pause or limit. One entry for each pattern, as the topic
   S.control has it. Pure: the clock is a parameter.

   An entry is in force until its end. A target is paused if a pause in force matches it. Otherwise
   it is limited by the limit whose pattern has the longest literal beginning; of equal ones, by the
   latest. That is the rule of `targets`. */
#ifndef DELAYBRIDGE_LEVELS_CONTROL_H
#define DELAYBRIDGE_LEVELS_CONTROL_H

#include "levels/bytes.h"
#include "levels/err.h"
#include "levels/rate.h"
#include "levels/topic_name.h"

#include <stddef.h>
#include <stdint.h>

enum { CONTROLS_MAX = 1000 };
#define CONTROL_ENDLESS INT64_MAX

enum control_op { CONTROL_PAUSE, CONTROL_LIMIT };

struct control {
    char pattern[TOPIC_TEXT_MAX]; /* as in `targets` */
    enum control_op op;
    struct rate rate; /* CONTROL_LIMIT */
    int64_t at_wall_ms;
    int64_t until_wall_ms; /* CONTROL_ENDLESS: until it is removed */
    bool is_old;           /* it was not put since controls_begin */
};

/* The entries in force, in any order. `all` is owned. */
struct controls {
    struct control *all; /* CONTROLS_MAX */
    size_t n;
    uint64_t version; /* changes with each change of an entry; never 0 */
};

int controls_init(struct controls *controls) must_check;
void controls_deinit(struct controls *controls);

/* Adds an entry, or replaces the one with the same pattern. Returns 0, or ERR_FULL: CONTROLS_MAX
   others are in force at now_wall_ms, and nothing changes. */
int controls_put(struct controls *controls, const struct control *control,
                 int64_t now_wall_ms) must_check;

/* Returns whether another entry can be added. Removes those that have ended. */
bool controls_have_room(struct controls *controls, int64_t now_wall_ms);

/* Returns whether there is an entry equal to this one. */
bool controls_have(const struct controls *controls, const struct control *control);

/* Begins and ends a reading of all entries. Those that were not put in between are removed. */
void controls_begin(struct controls *controls);
void controls_end(struct controls *controls);

/* Removes the entry with exactly this pattern. Returns whether there was one. */
bool controls_remove(struct controls *controls, struct bytes pattern);

enum verdict_state { CONTROL_OPEN, CONTROL_PAUSED, CONTROL_LIMITED };

/* The decision for one target. It is valid until valid_wall_ms, and until an entry changes. */
struct verdict {
    enum verdict_state state;
    struct rate rate;      /* CONTROL_LIMITED */
    int64_t since_wall_ms; /* the first of its pauses began, or its limit was set */
    int64_t ends_wall_ms;  /* CONTROL_PAUSED: the last of its pauses ends */
    int64_t valid_wall_ms;
};

struct verdict controls_decide(const struct controls *controls, struct bytes target,
                               int64_t now_wall_ms);

/* Returns the lowest rate, in records a minute, that limits a target of this pattern. 0: none. A
   limit counts if a target can match both patterns. For a pattern without * the result is the rate
   of this target, and 0 if it is paused. */
int64_t controls_limit_per_minute(const struct controls *controls, const char *pattern,
                                  int64_t now_wall_ms);

/* How many targets of a pattern are paused. */
enum control_share { CONTROL_NONE, CONTROL_SOME, CONTROL_ALL };

/* Returns how many targets of this pattern are paused. ALL: the pattern of a pause matches this
   one. SOME: a target can match both. For a pattern without * never SOME. */
enum control_share controls_paused(const struct controls *controls, const char *pattern,
                                   int64_t now_wall_ms);

enum { PAUSE_WAIT_MIN_MS = 5000, PAUSE_WAIT_MAX_MS = 600000 };

/* Returns when a record of a paused target is tried again. It waits for a quarter of the time since
   the pause began, between the two bounds above. It is never after the end of the pause, and never
   beyond expires_ms plus 1. Always after now_wall_ms, if the record has not expired. */
int64_t pause_next_try_ms(const struct verdict *verdict, int64_t expires_ms, int64_t now_wall_ms);

/* Returns the longest wait of a record after a pause of this length has ended. */
int64_t pause_wait_ms(int64_t paused_ms);

#endif
