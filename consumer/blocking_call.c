/* SPDX-License-Identifier: Apache-2.0 */
/* The thread and the one call that it runs. */
#include "consumer/blocking_call.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct blocking_call {
    pthread_t thread;
    pthread_mutex_t turn;
    pthread_cond_t news;
    struct wakeup *wakeup;
    void (*call)(void *arg); /* guarded by turn; NULL: no call is running */
    void *arg;
    bool stop; /* guarded by turn */
};

static void *run(void *arg)
{
    struct blocking_call *b = arg;
    pthread_mutex_lock(&b->turn);
    while (!b->stop || b->call != NULL) {
        if (b->call == NULL) {
            pthread_cond_wait(&b->news, &b->turn);
            continue;
        }
        pthread_mutex_unlock(&b->turn);
        b->call(b->arg);
        pthread_mutex_lock(&b->turn);
        b->call = NULL;
        pthread_cond_broadcast(&b->news);
        wakeup_signal(b->wakeup, WAKEUP_REPORTS);
    }
    pthread_mutex_unlock(&b->turn);
    return NULL;
}

static void deinit(struct blocking_call *b)
{
    pthread_cond_destroy(&b->news);
    pthread_mutex_destroy(&b->turn);
    free(b);
}

struct blocking_call *blocking_call_new(struct wakeup *wakeup)
{
    struct blocking_call *b = calloc(1, sizeof *b);
    if (b == NULL)
        return NULL;
    b->wakeup = wakeup;
    pthread_mutex_init(&b->turn, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&b->news, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&b->thread, NULL, run, b) == 0)
        return b;
    deinit(b);
    return NULL;
}

void blocking_call_begin(struct blocking_call *b, void (*call)(void *arg), void *arg)
{
    pthread_mutex_lock(&b->turn);
    b->call = call;
    b->arg = arg;
    pthread_cond_broadcast(&b->news);
    pthread_mutex_unlock(&b->turn);
}

bool blocking_call_is_over(struct blocking_call *b)
{
    pthread_mutex_lock(&b->turn);
    bool over = b->call == NULL;
    pthread_mutex_unlock(&b->turn);
    return over;
}

bool blocking_call_wait(struct blocking_call *b, int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&b->turn);
    while (b->call != NULL && pthread_cond_timedwait(&b->news, &b->turn, &until) == 0)
        ;
    bool over = b->call == NULL;
    pthread_mutex_unlock(&b->turn);
    return over;
}

bool blocking_call_free(struct blocking_call *b, int timeout_ms)
{
    if (!blocking_call_wait(b, timeout_ms)) {
        pthread_detach(b->thread);
        return false;
    }
    pthread_mutex_lock(&b->turn);
    b->stop = true;
    pthread_cond_broadcast(&b->news);
    pthread_mutex_unlock(&b->turn);
    pthread_join(b->thread, NULL);
    deinit(b);
    return true;
}
