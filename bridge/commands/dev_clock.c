/* SPDX-License-Identifier: Apache-2.0 */
/* The moves by their beginning, the oldest first. */
#include "bridge/commands/dev_clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* From real_ms on, the clock is ahead by ahead_ms. */
struct move {
    int64_t real_ms, ahead_ms;
};

struct dev_clock {
    struct clock functions;
    void (*wait)(void *ctx);
    void *wait_ctx;
    atomic_ullong read_n;
    pthread_mutex_t mutex; /* of the members below */
    struct move moves[DEV_CLOCK_MOVES];
    int moves_n;
    int64_t oldest_ahead_ms; /* before moves[0] */
};

static int64_t ahead_at(struct dev_clock *c, int64_t real_ms)
{
    int i = c->moves_n;
    while (i > 0 && c->moves[i - 1].real_ms > real_ms)
        i--;
    return i > 0 ? c->moves[i - 1].ahead_ms : c->oldest_ahead_ms;
}

int64_t dev_clock_of_real_ms(struct dev_clock *c, int64_t real_ms)
{
    pthread_mutex_lock(&c->mutex);
    int64_t ahead_ms = ahead_at(c, real_ms);
    pthread_mutex_unlock(&c->mutex);
    return real_ms + ahead_ms;
}

static int64_t of_real_ms(void *ctx, int64_t real_ms)
{
    struct dev_clock *c = ctx;
    atomic_fetch_add(&c->read_n, 1);
    return dev_clock_of_real_ms(c, real_ms);
}

static int64_t wall_us(void *ctx)
{
    int64_t real_us = clock_us(CLOCK_REALTIME), real_ms = real_us / 1000;
    return real_us + 1000 * (dev_clock_of_real_ms(ctx, real_ms) - real_ms);
}

struct dev_clock *dev_clock_new(void)
{
    struct dev_clock *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->functions = (struct clock){.wall_us = wall_us, .of_real_ms = of_real_ms, .ctx = c};
    pthread_mutex_init(&c->mutex, NULL);
    return c;
}

void dev_clock_free(struct dev_clock *c)
{
    if (c == NULL)
        return;
    pthread_mutex_destroy(&c->mutex);
    free(c);
}

void dev_clock_wait_with(struct dev_clock *c, void (*wait)(void *ctx), void *ctx)
{
    c->wait = wait;
    c->wait_ctx = ctx;
}

uint64_t dev_clock_read_n(const struct dev_clock *c)
{
    return atomic_load(&c->read_n);
}

const struct clock *dev_clock_functions(const struct dev_clock *c)
{
    return &c->functions;
}

static void forget_oldest(struct dev_clock *c)
{
    c->oldest_ahead_ms = c->moves[0].ahead_ms;
    memmove(c->moves, c->moves + 1, (size_t)--c->moves_n * sizeof *c->moves);
}

int dev_clock_forward(struct dev_clock *c, int64_t ms)
{
    if (c->wait != NULL)
        c->wait(c->wait_ctx);
    pthread_mutex_lock(&c->mutex);
    const struct move *last = c->moves_n > 0 ? &c->moves[c->moves_n - 1] : NULL;
    int64_t ahead_ms = last != NULL ? last->ahead_ms : c->oldest_ahead_ms;
    int64_t begins_ms = clock_wall_ms() + 1; /* a record of this millisecond is before the move */
    if (last != NULL && begins_ms < last->real_ms)
        begins_ms = last->real_ms; /* the system's clock was set back */
    bool possible = ms <= DEV_CLOCK_AHEAD_MAX_MS - ahead_ms;
    if (possible) {
        if (c->moves_n == DEV_CLOCK_MOVES)
            forget_oldest(c);
        c->moves[c->moves_n++] = (struct move){begins_ms, ahead_ms + ms};
    }
    pthread_mutex_unlock(&c->mutex);
    if (!possible)
        return ERR_DATA;
    const struct timespec begins = {.tv_sec = begins_ms / 1000,
                                    .tv_nsec = begins_ms % 1000 * 1000000};
    (void)clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &begins, NULL);
    return 0;
}
