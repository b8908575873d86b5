/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that compares the offsets of two handles, counts lanes, and notices the end of an
   outage. */
#include "bridge/service/watch.h"

#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/admin/open_records.h"
#include "consumer/client/client_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOK_EVERY_MS = 10 * 1000, ASK_MS = 1000, TICK_MS = 500 };

struct watch {
    struct watch_config config;
    struct open_records open;
    struct open_lane *before, *now; /* one allocation; lanes entries each */
    _Atomic int64_t records;        /* -1: not known yet */
    atomic_int unserved;
    pthread_t thread;
    pthread_mutex_t turn; /* guards stop */
    pthread_cond_t stopped;
    bool stop;
};

/* Counts and logs the lanes that were added since the start. The group learns of them later, after
   five minutes at most (topic.metadata.refresh.interval.ms). */
static void count_added(struct watch *w)
{
    const rd_kafka_metadata_t *metadata;
    rd_kafka_t *rk = w->config.committed;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, w->config.config->schedule, NULL);
    rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 0, topic, &metadata, ASK_MS);
    rd_kafka_topic_destroy(topic);
    if (err != 0)
        return;
    bool known = metadata->topic_cnt == 1 && metadata->topics[0].err == 0;
    int added = known ? metadata->topics[0].partition_cnt - w->config.lanes : 0;
    rd_kafka_metadata_destroy(metadata);
    if (known && atomic_exchange(&w->unserved, added > 0 ? added : 0) < added)
        log_error("lanes were added to the schedule topic, not served: run 'delaybridge topics "
                  "apply' and restart all processes",
                  F_TEXT("topic", w->config.config->schedule), F_INT("lanes", added));
}

static void look(struct watch *w)
{
    if (open_records_ask(&w->open, w->now, w->config.lanes, ASK_MS) != 0)
        return; /* the last number stays until a broker answers */
    int64_t records = 0;
    for (int i = 0; i < w->config.lanes; i++)
        records += open_records_lasting(&w->before[i], &w->now[i]);
    memcpy(w->before, w->now, (size_t)w->config.lanes * sizeof *w->now);
    atomic_store(&w->records, records);
}

/* Sends a request during an outage. Any broker may answer it: the lanes of a missing leader have
   their own messages. */
static void ask_if_back(const struct watch *w)
{
    const rd_kafka_metadata_t *metadata;
    int64_t since_mono_ms = client_log_away_since_mono_ms(), sent_mono_ms = clock_mono_ms();
    if (since_mono_ms == 0)
        return;
    bool answered = rd_kafka_metadata(w->config.committed, 0, NULL, &metadata, ASK_MS) == 0;
    if (answered)
        rd_kafka_metadata_destroy(metadata);
    client_log_asked(since_mono_ms, sent_mono_ms, answered, clock_mono_ms());
}

/* Waits. Returns true after TICK_MS, false as soon as the watch must stop. */
static bool wait_tick(struct watch *w)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TICK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&w->turn);
    if (!w->stop)
        pthread_cond_timedwait(&w->stopped, &w->turn, &until);
    bool stop = w->stop;
    pthread_mutex_unlock(&w->turn);
    return !stop;
}

static void *run(void *arg)
{
    struct watch *w = arg;
    int64_t next_mono_ms = clock_mono_ms();
    do {
        rd_kafka_poll(w->config.committed, 0);
        rd_kafka_poll(w->open.uncommitted, 0);
        client_log_lanes(w->config.owned(w->config.ctx));
        ask_if_back(w);
        if (clock_mono_ms() < next_mono_ms)
            continue;
        look(w);
        count_added(w);
        next_mono_ms = clock_mono_ms() + LOOK_EVERY_MS;
    } while (wait_tick(w));
    return NULL;
}

static void watch_free(struct watch *w)
{
    if (w->open.uncommitted != NULL)
        open_records_deinit(&w->open);
    pthread_cond_destroy(&w->stopped);
    pthread_mutex_destroy(&w->turn);
    free(w->before);
    free(w);
}

/* Makes the condition use the monotonic clock, so that a step of the wall clock does not stretch a
   tick. */
static void init_stopped(struct watch *w)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->stopped, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

struct watch *watch_start(const struct watch_config *config, struct error *error)
{
    struct watch *w = calloc(1, sizeof *w);
    struct open_lane *seen = calloc(2 * (size_t)config->lanes, sizeof *seen);
    if (w == NULL || seen == NULL) {
        (void)error_set(error, ERR_NO_MEMORY, "out of memory");
        free(seen);
        free(w);
        return NULL;
    }
    w->before = seen;
    w->now = seen + config->lanes;
    w->config = *config;
    atomic_store(&w->records, -1);
    pthread_mutex_init(&w->turn, NULL);
    init_stopped(w);
    if (open_records_init(&w->open, config->config, config->committed, error) != 0) {
        watch_free(w);
        return NULL;
    }
    if (pthread_create(&w->thread, NULL, run, w) != 0) {
        (void)error_set(error, ERR_NO_MEMORY, "no thread can be created");
        watch_free(w);
        return NULL;
    }
    return w;
}

struct watched watch_read(const struct watch *w)
{
    return (struct watched){atomic_load(&w->records), atomic_load(&w->unserved)};
}

void watch_stop(struct watch *w)
{
    pthread_mutex_lock(&w->turn);
    w->stop = true;
    pthread_cond_signal(&w->stopped);
    pthread_mutex_unlock(&w->turn);
    pthread_join(w->thread, NULL);
    watch_free(w);
}
