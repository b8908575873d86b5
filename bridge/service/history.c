/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of seconds. Each is the difference of two snapshots of the counters. */
#include "bridge/service/history.h"

#include <stdlib.h>
#include <string.h>

struct history *history_new(void)
{
    struct history *history = calloc(1, sizeof *history);
    if (history == NULL)
        return NULL;
    history->seconds = calloc(HISTORY_MAX, sizeof *history->seconds);
    if (history->seconds != NULL)
        return history;
    free(history);
    return NULL;
}

struct history *history_copy(const struct history *history)
{
    struct history *copy = history_new();
    if (copy == NULL)
        return NULL;
    memcpy(copy->seconds, history->seconds, HISTORY_MAX * sizeof *copy->seconds);
    copy->first = history->first;
    copy->n = history->n;
    return copy;
}

void history_free(struct history *history)
{
    if (history != NULL)
        free(history->seconds);
    free(history);
}

/* Returns the growth of a counter. A service that started again begins at 0. */
static uint64_t growth(const struct counter *now, const struct counter *before)
{
    uint64_t n = counter_read(now), last = counter_read(before);
    return n > last ? n - last : 0;
}

static uint64_t growth_of_dead(const struct stats *now, const struct stats *before)
{
    uint64_t n = 0;
    for (int code = 0; code < CODE_N; code++)
        n += growth(&now->dead[code], &before->dead[code]);
    return n;
}

static void add_lateness(struct history_second *second, const struct stats *now,
                         const struct stats *before)
{
    for (int slot = 0; slot < SLOTS_MAX; slot++)
        for (int i = 0; i < SPAN_BUCKETS; i++)
            second->lateness[i] += (uint32_t)growth(&now->slots[slot].lateness.n[i],
                                                    &before->slots[slot].lateness.n[i]);
    second->p50_ms = stats_quantile_ms(now, before, 0.5);
    second->p99_ms = stats_quantile_ms(now, before, 0.99);
    second->max_ms = stats_max_ms(now, before);
}

static uint64_t waiting(const struct stats *now)
{
    uint64_t n = 0, unread = counter_read(&now->schedule_unread);
    for (int slot = 0; slot < SLOTS_MAX; slot++)
        n += counter_read(&now->slots[slot].pending);
    return n > unread ? n - unread : 0;
}

static struct history_second *next(struct history *history)
{
    if (history->n < HISTORY_MAX)
        return &history->seconds[(history->first + history->n++) % HISTORY_MAX];
    struct history_second *oldest = &history->seconds[history->first];
    history->first = (history->first + 1) % HISTORY_MAX;
    return oldest;
}

void history_add(struct history *history, const struct stats *now, int64_t wall_ms, int64_t mono_ms)
{
    const struct stats *last = &history->last;
    if (history->started) {
        struct history_second *second = next(history);
        *second =
            (struct history_second){.wall_ms = wall_ms,
                                    .span_ms = mono_ms - history->last_mono_ms,
                                    .requests = growth(&now->requests, &last->requests),
                                    .hops = growth(&now->hops, &last->hops),
                                    .deliveries = growth(&now->deliveries, &last->deliveries),
                                    .cancelled = growth(&now->cancelled, &last->cancelled),
                                    .dead_letters = growth_of_dead(now, last),
                                    .redeliveries = growth(&now->redeliveries, &last->redeliveries),
                                    .deferrals = growth(&now->deferrals, &last->deferrals),
                                    .waiting = waiting(now),
                                    .backlog = counter_read(&now->schedule_unread)};
        add_lateness(second, now, last);
    }
    memcpy(&history->last, now, sizeof history->last);
    history->last_mono_ms = mono_ms;
    history->started = true;
}

const struct history_second *history_at(const struct history *history, int i)
{
    return &history->seconds[(history->first + i) % HISTORY_MAX];
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the smallest bound that a share q of the deliveries does not exceed, rounded up. It is
   max_ms if the bound exceeds max_ms. */
static int64_t quantile(const struct history_second *sum, double q)
{
    uint64_t all = 0, n = 0;
    for (int b = 0; b < SPAN_BUCKETS; b++)
        all += sum->lateness[b];
    for (int b = 0; all > 0 && b < SPAN_BUCKETS - 1; b++) {
        n += sum->lateness[b];
        if ((double)n >= q * (double)all)
            return smaller((int64_t)(SPAN_BOUNDS_MS[b] + 0.5), sum->max_ms);
    }
    return sum->max_ms;
}

struct history_second history_sum(const struct history *history, int seconds)
{
    struct history_second sum = {0};
    int from = history->n > seconds ? history->n - seconds : 0;
    for (int i = from; i < history->n; i++) {
        const struct history_second *s = history_at(history, i);
        sum.wall_ms = s->wall_ms;
        sum.span_ms += s->span_ms;
        sum.requests += s->requests;
        sum.hops += s->hops;
        sum.deliveries += s->deliveries;
        sum.cancelled += s->cancelled;
        sum.dead_letters += s->dead_letters;
        sum.redeliveries += s->redeliveries;
        sum.deferrals += s->deferrals;
        sum.waiting = s->waiting;
        sum.backlog = s->backlog;
        sum.max_ms = larger(sum.max_ms, s->max_ms);
        for (int b = 0; b < SPAN_BUCKETS; b++)
            sum.lateness[b] += s->lateness[b];
    }
    sum.p50_ms = quantile(&sum, 0.5);
    sum.p99_ms = quantile(&sum, 0.99);
    return sum;
}
