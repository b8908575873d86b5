/* SPDX-License-Identifier: Apache-2.0 */
/* What clients say, and how often it is said. */
#include "consumer/client_log.h"

#include "bridge/clock.h"
#include "bridge/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

/* A broker that is away is news once, not for each connection attempt: of the same kind from the
   same client one line in REPEAT_MS is let through. Two kinds may share a slot: then both speak. */
enum { REPEAT_MS = 10000, KINDS = 64 };
static struct {
    pthread_mutex_t turn;
    struct {
        uint64_t kind;
        int64_t at_ms;
        uint64_t held_back;
    } slots[KINDS];
} repeats = {.turn = PTHREAD_MUTEX_INITIALIZER};

static uint64_t kind_of(const char *client, const char *what)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (; *client != '\0'; client++)
        hash = (hash ^ (unsigned char)*client) * 0x100000001b3;
    for (; *what != '\0'; what++)
        hash = (hash ^ (unsigned char)*what) * 0x100000001b3;
    return hash | 1;
}

/* Whether to say it now; *held_back: how many were not said since. */
static bool is_news(uint64_t kind, uint64_t *held_back)
{
    int64_t now_ms = clock_mono_ms();
    pthread_mutex_lock(&repeats.turn);
    size_t i = (size_t)((kind >> 32) % KINDS);
    bool same = repeats.slots[i].kind == kind;
    bool news = !same || now_ms - repeats.slots[i].at_ms >= REPEAT_MS;
    *held_back = same ? repeats.slots[i].held_back : 0;
    if (news) {
        repeats.slots[i].kind = kind;
        repeats.slots[i].at_ms = now_ms;
        repeats.slots[i].held_back = 0;
    } else {
        repeats.slots[i].held_back++;
    }
    pthread_mutex_unlock(&repeats.turn);
    return news;
}

void client_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    if (strcmp(facility, "CONFWARN") == 0)
        return; /* an operator's property goes to all handles: each takes what is its own */
    enum log_level ours = level <= 3 ? LOG_ERROR : level == 4 ? LOG_WARN : LOG_DEBUG;
    uint64_t held_back = 0;
    if (ours != LOG_DEBUG && !is_news(kind_of(rd_kafka_name(rk), facility), &held_back))
        return;
    char quoted[1024];
    log_line(ours, "librdkafka", "client=%s facility=%s text=%s held_back=%" PRIu64,
             rd_kafka_name(rk), facility, log_quote(text, quoted, sizeof quoted), held_back);
}

void client_log_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
    (void)opaque;
    const char *name = rd_kafka_err2name((rd_kafka_resp_err_t)err);
    uint64_t held_back;
    if (!is_news(kind_of(rd_kafka_name(rk), name), &held_back))
        return;
    char quoted[1024];
    log_warn("kafka", "client=%s error=%s text=%s held_back=%" PRIu64, rd_kafka_name(rk), name,
             log_quote(reason, quoted, sizeof quoted), held_back);
}
