/* SPDX-License-Identifier: Apache-2.0 */
/* What clients say, and how often it is said. */
#include "consumer/client_log.h"

#include "bridge/clock.h"
#include "bridge/limit.h"
#include "bridge/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

/* A broker that is away is one line, not one for each connection attempt. */
enum { REPEAT_MS = 10000 };
static struct {
    pthread_mutex_t turn;
    struct limit limit;
} repeats = {.turn = PTHREAD_MUTEX_INITIALIZER, .limit = LIMIT_INIT(REPEAT_MS, 1)};

static bool may_pass(const char *client, const char *what, uint64_t *suppressed)
{
    uint64_t key = limit_key(limit_key(LIMIT_KEY, bytes_text(client)), bytes_text(what));
    pthread_mutex_lock(&repeats.turn);
    bool pass = limit_pass(&repeats.limit, key, clock_mono_ms(), suppressed);
    pthread_mutex_unlock(&repeats.turn);
    return pass;
}

void client_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    if (strcmp(facility, "CONFWARN") == 0)
        return; /* an operator's property goes to all handles: each takes what is its own */
    enum log_level ours = level <= 3 ? LOG_ERROR : level == 4 ? LOG_WARN : LOG_DEBUG;
    uint64_t suppressed = 0;
    if (ours != LOG_DEBUG && !may_pass(rd_kafka_name(rk), facility, &suppressed))
        return;
    char quoted[1024];
    log_line(ours, "librdkafka", "client=%s facility=%s text=%s suppressed=%" PRIu64,
             rd_kafka_name(rk), facility, log_quote(text, quoted, sizeof quoted), suppressed);
}

void client_log_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
    (void)opaque;
    const char *name = rd_kafka_err2name((rd_kafka_resp_err_t)err);
    uint64_t suppressed;
    if (!may_pass(rd_kafka_name(rk), name, &suppressed))
        return;
    char quoted[1024];
    log_warn("kafka", "client=%s error=%s text=%s suppressed=%" PRIu64, rd_kafka_name(rk), name,
             log_quote(reason, quoted, sizeof quoted), suppressed);
}
