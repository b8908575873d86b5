/* SPDX-License-Identifier: Apache-2.0 */
#include "consumer/errand.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct errand {
    pthread_t thread;
    pthread_mutex_t turn;
    pthread_cond_t news;
    struct wakeup *wakeup;
    void (*call)(void *arg); /* under turn; NULL: none is under way */
    void *arg;
    bool stop; /* under turn */
};

static void *run(void *arg)
{
    struct errand *e = arg;
    pthread_mutex_lock(&e->turn);
    while (!e->stop || e->call != NULL) {
        if (e->call == NULL) {
            pthread_cond_wait(&e->news, &e->turn);
            continue;
        }
        pthread_mutex_unlock(&e->turn);
        e->call(e->arg);
        pthread_mutex_lock(&e->turn);
        e->call = NULL;
        pthread_cond_broadcast(&e->news);
        wakeup_signal(e->wakeup, WAKEUP_REPORTS);
    }
    pthread_mutex_unlock(&e->turn);
    return NULL;
}

static void deinit(struct errand *e)
{
    pthread_cond_destroy(&e->news);
    pthread_mutex_destroy(&e->turn);
    free(e);
}

struct errand *errand_new(struct wakeup *wakeup)
{
    struct errand *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->wakeup = wakeup;
    pthread_mutex_init(&e->turn, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->news, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&e->thread, NULL, run, e) == 0)
        return e;
    deinit(e);
    return NULL;
}

void errand_begin(struct errand *e, void (*call)(void *arg), void *arg)
{
    pthread_mutex_lock(&e->turn);
    e->call = call;
    e->arg = arg;
    pthread_cond_broadcast(&e->news);
    pthread_mutex_unlock(&e->turn);
}

bool errand_is_over(struct errand *e)
{
    pthread_mutex_lock(&e->turn);
    bool over = e->call == NULL;
    pthread_mutex_unlock(&e->turn);
    return over;
}

bool errand_wait(struct errand *e, int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&e->turn);
    while (e->call != NULL && pthread_cond_timedwait(&e->news, &e->turn, &until) == 0)
        ;
    bool over = e->call == NULL;
    pthread_mutex_unlock(&e->turn);
    return over;
}

bool errand_free(struct errand *e, int timeout_ms)
{
    if (!errand_wait(e, timeout_ms)) {
        pthread_detach(e->thread);
        return false;
    }
    pthread_mutex_lock(&e->turn);
    e->stop = true;
    pthread_cond_broadcast(&e->news);
    pthread_mutex_unlock(&e->turn);
    pthread_join(e->thread, NULL);
    deinit(e);
    return true;
}
