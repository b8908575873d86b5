/* SPDX-License-Identifier: Apache-2.0 */
/* story_cancel: the parts of stories with cancels. Seals are a second apart, and clients give up
   after two seconds. */
#ifndef DELAYBRIDGE_TESTS_SIM_STORY_CANCEL_H
#define DELAYBRIDGE_TESTS_SIM_STORY_CANCEL_H

#include "tests/sim/story.h"
#include "tests/sim/voids.h"

#include <stdio.h>

static inline void story_begin_cancels(struct world *w)
{
    story_begin(w);
    w->setup.cancel_memory = 1 << 14;
    w->setup.seal_ms = 1000;
}

static inline void story_begin_cancels_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    w->setup.cancel_memory = 1 << 14;
    w->setup.seal_ms = 1000;
}

/* All of these are in lane 0. */
static inline struct request *ask_named(struct world *w, const char *key, const char *id,
                                        int64_t delay_ms)
{
    struct ask ask = {.target = TARGET_A, .key = key, .id = id, .delay_ms = delay_ms};
    return workload_send(w, &ask);
}

static inline struct request *cancel_of(struct world *w, const char *key, const char *id)
{
    struct ask ask = {.op = REQUEST_CANCEL, .key = key, .id = id};
    return workload_send(w, &ask);
}

static inline struct request *replace_of(struct world *w, const char *key, const char *id,
                                         int64_t delay_ms, enum code fault)
{
    struct ask ask = {.op = REQUEST_REPLACE,
                      .target = TARGET_A,
                      .key = key,
                      .id = id,
                      .delay_ms = delay_ms,
                      .fault = fault};
    return workload_send(w, &ask);
}

static inline const char *name_of(struct world *w, int n)
{
    char *name = arena_take(&w->arena, 16);
    snprintf(name, 16, "order-%d", n);
    return name;
}

/* Empties the schedule topic of lane 0, with all that is committed of it. */
static inline void recreate_schedule(struct world *w)
{
    story_cut_log(w, &w->broker.logs[TOPIC_SCHEDULE][0], 0);
    w->broker.committed[TOPIC_SCHEDULE][0] = NULL;
    w->schedule_n++;
    w->recreated_ok = true;
}

static inline struct log *story_cancels(struct world *w)
{
    return &w->broker.logs[TOPIC_CANCELS][0];
}

#endif
