/* SPDX-License-Identifier: Apache-2.0 */
/* ThreadSanitizer (gcc 12, clang 14) does not intercept glibc's C11 <threads.h>, which Debian's
   librdkafka uses, and crashes in the first such thread. Route them to the pthread calls that it
   does intercept. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>
_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t),
               "glibc layout");
static int rc(int e)
{
    return e == 0           ? thrd_success
           : e == EBUSY     ? thrd_busy
           : e == ETIMEDOUT ? thrd_timedout
           : e == ENOMEM    ? thrd_nomem
                            : thrd_error;
}
struct start {
    thrd_start_t fn;
    void *arg;
};
static void *tramp(void *p)
{
    struct start s = *(struct start *)p;
    free(p);
    return (void *)(intptr_t)s.fn(s.arg);
}
int thrd_create(thrd_t *t, thrd_start_t fn, void *arg)
{
    struct start *s = malloc(sizeof *s);
    if (!s)
        return thrd_nomem;
    s->fn = fn;
    s->arg = arg;
    int e = pthread_create((pthread_t *)t, NULL, tramp, s);
    if (e)
        free(s);
    return rc(e);
}
int thrd_join(thrd_t t, int *res)
{
    void *r;
    int e = pthread_join((pthread_t)t, &r);
    if (!e && res)
        *res = (int)(intptr_t)r;
    return rc(e);
}
int thrd_detach(thrd_t t)
{
    return rc(pthread_detach((pthread_t)t));
}
int mtx_init(mtx_t *m, int type)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    if (type & mtx_recursive)
        pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    int e = pthread_mutex_init((pthread_mutex_t *)m, &a);
    pthread_mutexattr_destroy(&a);
    return rc(e);
}
void mtx_destroy(mtx_t *m)
{
    pthread_mutex_destroy((pthread_mutex_t *)m);
}
int mtx_lock(mtx_t *m)
{
    return rc(pthread_mutex_lock((pthread_mutex_t *)m));
}
int mtx_trylock(mtx_t *m)
{
    return rc(pthread_mutex_trylock((pthread_mutex_t *)m));
}
int mtx_unlock(mtx_t *m)
{
    return rc(pthread_mutex_unlock((pthread_mutex_t *)m));
}
int cnd_init(cnd_t *c)
{
    return rc(pthread_cond_init((pthread_cond_t *)c, NULL));
}
void cnd_destroy(cnd_t *c)
{
    pthread_cond_destroy((pthread_cond_t *)c);
}
int cnd_signal(cnd_t *c)
{
    return rc(pthread_cond_signal((pthread_cond_t *)c));
}
int cnd_broadcast(cnd_t *c)
{
    return rc(pthread_cond_broadcast((pthread_cond_t *)c));
}
int cnd_wait(cnd_t *c, mtx_t *m)
{
    return rc(pthread_cond_wait((pthread_cond_t *)c, (pthread_mutex_t *)m));
}
int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict t)
{
    return rc(pthread_cond_timedwait((pthread_cond_t *)c, (pthread_mutex_t *)m, t));
}
