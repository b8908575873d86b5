/* SPDX-License-Identifier: Apache-2.0 */
/* Figures from /proc/self. */
#include "bridge/service/process.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Reads a field of /proc/self/stat with its number in proc(5). Searches from the end of the second
   field, which may contain spaces. */
static bool stat_field(int number, double *value)
{
    char line[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL)
        return false;
    size_t n = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[n] = '\0';
    char *at = strrchr(line, ')');
    for (int field = 2; at != NULL && field < number; field++)
        at = strchr(at + 1, ' ');
    if (at != NULL)
        *value = strtod(at, NULL);
    return at != NULL;
}

static bool cpu_s(double *value)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return false;
    *value = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return true;
}

/* Returns the start time, computed from field 22, which is in clock ticks since boot. It is
   computed once, because the difference of the two clocks varies. Two threads may compute it at
   once. */
static bool start_s(double *value)
{
    static _Atomic double known;
    struct timespec wall, boot;
    double ticks, start = atomic_load(&known);
    if (start == 0) {
        if (!stat_field(22, &ticks) || clock_gettime(CLOCK_REALTIME, &wall) != 0 ||
            clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
            return false;
        start = (double)(wall.tv_sec - boot.tv_sec) + (double)(wall.tv_nsec - boot.tv_nsec) / 1e9 +
                ticks / (double)sysconf(_SC_CLK_TCK);
        atomic_store(&known, start);
    }
    *value = start;
    return true;
}

static bool fds(double *value)
{
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return false;
    int n = -3; /* ., .. and the descriptor of dir */
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    *value = n;
    return true;
}

bool process_figure(enum process_figure figure, double *value)
{
    struct rlimit limit;
    switch (figure) {
    case PROCESS_CPU_S:
        return cpu_s(value);
    case PROCESS_RSS_BYTES:
        if (!stat_field(24, value))
            return false;
        *value *= (double)sysconf(_SC_PAGESIZE);
        return true;
    case PROCESS_START_S:
        return start_s(value);
    case PROCESS_FDS:
        return fds(value);
    case PROCESS_FDS_MAX:
        if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
            return false;
        *value = (double)limit.rlim_cur;
        return true;
    }
    return false;
}
