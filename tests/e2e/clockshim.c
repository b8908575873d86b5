/* SPDX-License-Identifier: Apache-2.0 */
/* clockshim: a wall clock that a test can step. It is loaded by LD_PRELOAD. The first eight bytes
   of the file named by DELAYBRIDGE_TEST_CLOCK are the milliseconds (int64, host order) by which the
   clock is ahead. Timed waits do not change: their deadlines come from timespec_get, which is not
   replaced. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead_ms;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void clockshim_start(void)
{
    const char *path = getenv("DELAYBRIDGE_TEST_CLOCK");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        void *map = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED)
            ahead_ms = map;
        close(fd);
    }
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    if (real_clock_gettime == NULL)
        *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real_clock_gettime(clock, ts);
    if (result == 0 && ahead_ms != NULL &&
        (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = (int64_t)ts->tv_nsec + *ahead_ms % 1000 * 1000000;
        ts->tv_sec += *ahead_ms / 1000;
        if (ns < 0) {
            ns += 1000000000;
            ts->tv_sec--;
        } else if (ns >= 1000000000) {
            ns -= 1000000000;
            ts->tv_sec++;
        }
        ts->tv_nsec = (long)ns;
    }
    return result;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    (void)zone;
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    if (out != NULL)
        *out = ts.tv_sec;
    return ts.tv_sec;
}
