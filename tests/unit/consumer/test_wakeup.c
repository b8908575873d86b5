/* SPDX-License-Identifier: Apache-2.0 */
/* wakeup: the end of a wait, and signals during a rest. */
#include "bridge/base/clock.h"
#include "consumer/wakeup.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>

enum { MS = 1000, LONG_MS = 5000 };

static struct wakeup wakeup;
static int32_t seen[8];
static int seen_n;

static void keep(void *ctx, int32_t number)
{
    (void)ctx;
    seen[seen_n++] = number;
}

/* Returns the ms that the wait took. */
static int64_t wait_for(int64_t rest_ms, int64_t wait_ms)
{
    int64_t begun_mono_ms = clock_mono_ms();
    seen_n = 0;
    wakeup_wait(&wakeup, rest_ms * MS, wait_ms * MS, keep, NULL);
    return clock_mono_ms() - begun_mono_ms;
}

static void *signal_later(void *number)
{
    poll(NULL, 0, 10);
    wakeup_signal(&wakeup, *(int32_t *)number);
    return NULL;
}

static void start(void)
{
    cr_assert_eq(wakeup_init(&wakeup), 0);
}

static void stop(void)
{
    wakeup_deinit(&wakeup);
}

TestSuite(wakeup, .init = start, .fini = stop);

Test(wakeup, signal_ends_a_wait_without_rest)
{
    wakeup_signal(&wakeup, 7);
    cr_expect_lt(wait_for(0, LONG_MS), LONG_MS / 2);
    cr_expect_eq(seen_n, 1);
    cr_expect_eq(seen[0], 7);
}

Test(wakeup, signals_of_the_rest_share_one_call)
{
    pthread_t thread;
    int32_t later = 8;
    wakeup_signal(&wakeup, 7);
    cr_assert_eq(pthread_create(&thread, NULL, signal_later, &later), 0);
    int64_t took_ms = wait_for(200, LONG_MS);
    pthread_join(thread, NULL);
    cr_expect_geq(took_ms, 199);
    cr_expect_lt(took_ms, LONG_MS / 2);
    cr_expect_eq(seen_n, 2);
    cr_expect_eq(seen[1], 8);
}

Test(wakeup, rest_is_no_longer_than_the_wait)
{
    cr_expect_lt(wait_for(LONG_MS, 1), LONG_MS / 2);
    cr_expect_eq(seen_n, 0);
}
