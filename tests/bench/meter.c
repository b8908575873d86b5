/* SPDX-License-Identifier: Apache-2.0 */
/* meter: measures the growth of --topic by --count records, and the CPU of the processes --pids. It
   measures between the first tenth (or the first --from records) and the last twentieth. So rate
   and CPU exclude start and end. Prints "ready" when it knows the present end of the topic. Ends
   after
   --timeout seconds at most. --base: the number of records before, if it is not the present one. */
#include "tests/bench/bench.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIDS_MAX = 8, STEP_MS = 10 };

struct sample {
    int64_t at_us, records;
    double cpu_us[PIDS_MAX];
};

struct meter {
    rd_kafka_t *rk;
    rd_kafka_topic_partition_list_t *list;
    const char *pids[PIDS_MAX];
    int pids_n;
};

/* Reads the CPU clock of the process, which includes all threads, in one call. */
static double cpu_us_of(const char *pid)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(atoi(pid), &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

static int64_t end_of(const struct meter *meter)
{
    int64_t sum = 0;
    for (int i = 0; i < meter->list->cnt; i++)
        meter->list->elems[i].offset = RD_KAFKA_OFFSET_END;
    if (rd_kafka_offsets_for_times(meter->rk, meter->list, 10000) != 0)
        return -1;
    for (int i = 0; i < meter->list->cnt; i++)
        sum += meter->list->elems[i].offset;
    return sum;
}

static struct sample take(const struct meter *meter, int64_t base)
{
    struct sample s = {.records = end_of(meter) - base, .at_us = mono_us()};
    for (int i = 0; i < meter->pids_n; i++)
        s.cpu_us[i] = cpu_us_of(meter->pids[i]);
    return s;
}

static void say(const struct meter *meter, const struct sample *from, const struct sample *to,
                const struct sample *last, int64_t start_us)
{
    double n = (double)(to->records - from->records);
    double seconds = (double)(to->at_us - from->at_us) / 1e6;
    printf("{\"records\": %" PRId64 ", \"per_second\": %.0f, \"seconds\": %.3f, \"cpu_us\": [",
           last->records, seconds > 0 ? n / seconds : 0, (double)(last->at_us - start_us) / 1e6);
    for (int i = 0; i < meter->pids_n; i++)
        printf("%s%.3f", i > 0 ? ", " : "", n > 0 ? (to->cpu_us[i] - from->cpu_us[i]) / n : 0);
    puts("]}");
}

int bench_meter(void)
{
    static const char *const settings[] = {"group.id", "bench.meter", NULL};
    static struct meter meter;
    char pids[256];
    snprintf(pids, sizeof pids, "%s", option("pids", ""));
    char *rest = NULL;
    for (char *pid = strtok_r(pids, ",", &rest); pid != NULL && meter.pids_n < PIDS_MAX;
         pid = strtok_r(NULL, ",", &rest))
        meter.pids[meter.pids_n++] = pid;
    meter.rk = client(RD_KAFKA_CONSUMER, NULL, settings);
    meter.list = partitions_of(meter.rk, option("topic", NULL), 0);
    int64_t count = option_int("count", 1000), base = option_int("base", -1), start_us = mono_us();
    int64_t until_us = start_us + option_int("timeout", 60) * 1000000;
    int64_t begin = option_int("from", count / 10);
    base = base >= 0 ? base : end_of(&meter);
    puts("ready");
    fflush(stdout);
    struct sample from = {0}, to = {0}, last = take(&meter, base);
    while (last.records < count && mono_us() < until_us) {
        poll(NULL, 0, STEP_MS);
        last = take(&meter, base);
        if (from.at_us == 0 && last.records >= begin)
            from = last;
        if (last.records <= count - count / 20)
            to = last;
    }
    if (to.records <= from.records)
        to = last;
    say(&meter, &from, &to, &last, start_us);
    return last.records >= count ? 0 : 1;
}
