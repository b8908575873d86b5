/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions about paused and limited targets. A worker decides about a target again when an entry
   changes. It queries the bucket of a limit for each record. */
#include "levels/control.h"
#include "tests/bench/core_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { NOW_MS = 1000000 };

static int64_t sink;

static void decide(void *ctx, int64_t n)
{
    const struct controls *all = ctx;
    for (int64_t i = 0; i < n; i++)
        sink += controls_decide(all, bytes_text("orders.timeout"), NOW_MS + i).state;
}

static void measure_entries(int n, int64_t rounds)
{
    char name[64];
    struct controls all;
    if (controls_init(&all) != 0)
        exit(70);
    for (int i = 0; i < n; i++) {
        struct control c = {.op = CONTROL_PAUSE, .until_wall_ms = CONTROL_ENDLESS};
        snprintf(c.pattern, sizeof c.pattern, "orders.%d*", i);
        if (controls_put(&all, &c, NOW_MS) != 0)
            exit(70);
    }
    snprintf(name, sizeof name, "control: decide about a target, %d entries", n);
    core_measure(name, rounds, decide, &all);
    controls_deinit(&all);
}

/* A record each ms at a limit of 2,000 a second. */
static void pass(void *ctx, int64_t n)
{
    struct bucket *bucket = ctx;
    int64_t now_ms = bucket->at_mono_ms;
    for (int64_t i = 0; i < n; i++)
        if (bucket_is_open(bucket, false, ++now_ms))
            bucket_take(bucket);
}

static void give(void *ctx, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sink += bucket_give_slot(ctx, NOW_MS + n);
}

void core_control(void)
{
    struct bucket bucket;
    bucket_start(&bucket, 2, NOW_MS);
    measure_entries(1, 1000000);
    measure_entries(CONTROLS_MAX, 10000);
    core_measure("limit: a record within it", 1000000, pass, &bucket);
    bucket_start(&bucket, 2, NOW_MS);
    core_measure("limit: a slot for a record above it", 1000000, give, &bucket);
}
