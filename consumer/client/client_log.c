/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of clients, and their rate limit. */
#include "consumer/client/client_log.h"

#include "bridge/base/clock.h"
#include "bridge/base/limit.h"
#include "bridge/base/log.h"

#include <pthread.h>
#include <string.h>

/* An unreachable broker is logged once, not for each connection attempt. */
enum { REPEAT_MS = 10000 };
static struct {
    pthread_mutex_t turn;
    struct limit limit;
} repeats = {.turn = PTHREAD_MUTEX_INITIALIZER, .limit = LIMIT_INIT(REPEAT_MS, 1)};

static struct {
    pthread_mutex_t turn;
    int64_t since_mono_ms; /* begin of the outage; 0: a broker answers */
    int lanes;
} away = {.turn = PTHREAD_MUTEX_INITIALIZER};

static bool may_pass(const char *client, const char *what, uint64_t *suppressed)
{
    uint64_t key = limit_key(limit_key(LIMIT_KEY, bytes_text(client)), bytes_text(what));
    pthread_mutex_lock(&repeats.turn);
    struct limit_kind kind = {.key = key};
    bool pass = limit_pass(&repeats.limit, kind, clock_mono_ms(), suppressed);
    pthread_mutex_unlock(&repeats.turn);
    return pass;
}

static void log_text(const rd_kafka_t *rk, enum log_level level, const char *facility,
                     const char *text)
{
    uint64_t suppressed = 0;
    if (level != LOG_DEBUG && !may_pass(rd_kafka_name(rk), facility, &suppressed))
        return;
    LOG_LINE(level, "message of librdkafka", F_TEXT("client", rd_kafka_name(rk)),
             F_TEXT("facility", facility), F_TEXT("reason", text),
             F_NONZERO("suppressed", suppressed), F_END);
}

static bool is_noise(const char *facility)
{
    /* The operator's properties go to all handles. A producer warns of those for consumers, and
       a consumer of those for producers. */
    return strcmp(facility, "CONFWARN") == 0;
}

static enum log_level level_of(int level)
{
    return level <= 3 ? LOG_ERROR : level == 4 ? LOG_WARN : LOG_DEBUG;
}

void client_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    if (!is_noise(facility))
        log_text(rk, level_of(level), facility, text);
}

void client_log_rest(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    bool is_reported = strcmp(facility, "FAIL") == 0;
    if (!is_noise(facility))
        log_text(rk, is_reported ? LOG_DEBUG : level_of(level), facility, text);
}

/* Returns whether a broker closed an idle connection. A stopped broker shows at the next connection
   attempt. */
static bool is_idle_disconnect(rd_kafka_resp_err_t err, const char *reason)
{
    const char *closed = strstr(reason, ": Disconnected (after ");
    return err == RD_KAFKA_RESP_ERR__TRANSPORT && closed != NULL &&
           strstr(closed, "ms in state UP") != NULL;
}

int64_t client_log_away_since_mono_ms(void)
{
    pthread_mutex_lock(&away.turn);
    int64_t since_mono_ms = away.since_mono_ms;
    pthread_mutex_unlock(&away.turn);
    return since_mono_ms;
}

void client_log_lanes(int lanes)
{
    pthread_mutex_lock(&away.turn);
    away.lanes = lanes;
    pthread_mutex_unlock(&away.turn);
}

void client_log_back(int64_t since_mono_ms)
{
    pthread_mutex_lock(&away.turn);
    bool ends = since_mono_ms != 0 && away.since_mono_ms == since_mono_ms;
    if (ends)
        away.since_mono_ms = 0;
    pthread_mutex_unlock(&away.turn);
    if (ends)
        log_info("Kafka answers again, forwarding continues",
                 F_MS("away_ms", clock_mono_ms() - since_mono_ms));
}

/* Notes the begin of an outage. Returns whether it begins now. */
static bool note_away(int *lanes)
{
    pthread_mutex_lock(&away.turn);
    bool begins = away.since_mono_ms == 0;
    if (begins)
        away.since_mono_ms = clock_mono_ms();
    *lanes = away.lanes;
    pthread_mutex_unlock(&away.turn);
    return begins;
}

/* Logs an outage. All clients share one line, which is repeated in a long outage. */
static void log_unreachable(const rd_kafka_t *rk, const char *reason)
{
    uint64_t suppressed = 0;
    int lanes;
    bool begins = note_away(&lanes), passes = may_pass("", "unreachable", &suppressed);
    if (!begins && !passes)
        return;
    log_error("Kafka unreachable, lanes wait until a broker answers: run 'delaybridge check'",
              F_INT("lanes", lanes), F_TEXT("client", rd_kafka_name(rk)), F_TEXT("reason", reason),
              F_NONZERO("suppressed", suppressed));
}

void client_log_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
    (void)opaque;
    if (err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
        log_unreachable(rk, reason);
        return;
    }
    if (is_idle_disconnect((rd_kafka_resp_err_t)err, reason)) {
        log_text(rk, LOG_DEBUG, "DISCONNECT", reason);
        return;
    }
    const char *name = rd_kafka_err2name((rd_kafka_resp_err_t)err);
    uint64_t suppressed;
    if (!may_pass(rd_kafka_name(rk), name, &suppressed))
        return;
    log_warn("client error, the client tries again", F_TEXT("client", rd_kafka_name(rk)),
             F_TEXT("error", name), F_TEXT("reason", reason), F_NONZERO("suppressed", suppressed));
}
