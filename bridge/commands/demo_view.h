/* SPDX-License-Identifier: Apache-2.0 */
/* demo_view: shows the demonstration live on a terminal, or as lines. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_DEMO_VIEW_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_DEMO_VIEW_H

#include "bridge/commands/demo_feed.h"
#include "levels/duration.h"
#include "levels/instant.h"

enum { DEMO_DELIVERIES = 10, DEMO_LEVELS_MAX = 8 };

/* A level now. next_ms: when its first record leaves; 0: it is empty. */
struct demo_level {
    char name[DURATION_TEXT_MAX];
    int64_t waiting;
    int64_t next_ms;
};

struct demo_picture {
    const char *bootstrap;
    const char *page; /* its address */
    int64_t elapsed_ms, now_ms;
    long sent, delivered;
    struct demo_level levels[DEMO_LEVELS_MAX];
    int levels_n;
    long buffered;                           /* in the wheel */
    struct demo_event last[DEMO_DELIVERIES]; /* newest first */
    int last_n;
};

void demo_view_draw(const struct demo_picture *picture);        /* terminal */
void demo_view_line(const struct demo_event *event);            /* a line for each event */
void demo_view_levels_line(const struct demo_picture *picture); /* one line of all levels */

#endif
