/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of clients, and their rate limit. */
#include "consumer/client/client_log.h"

#include "bridge/base/clock.h"
#include "bridge/base/limit.h"
#include "bridge/base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* An unreachable broker is logged once, not for each connection attempt. */
enum { REPEAT_MS = 10000 };
/* An outage that is shorter is not logged. A client also reports one when the only connection was
   idle, or too old for connections.max.reauth.ms, and connects again at once. */
enum { LASTS_MS = 2000 };
/* A broker that stops closes its connections one after another, and may still answer on one. */
enum { STOPS_MS = 1000 };
enum { REASON_MAX = 256 };
static struct {
    pthread_mutex_t turn;
    struct limit limit;
} repeats = {.turn = PTHREAD_MUTEX_INITIALIZER, .limit = LIMIT_INIT(REPEAT_MS, 1)};

static struct {
    pthread_mutex_t turn;
    int64_t since_mono_ms; /* begin of the outage; 0: a broker answers */
    bool logged;
    int lanes;
    char reason[REASON_MAX]; /* the latest failure */
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

/* Returns whether a connection has failed. */
static bool is_failure(const char *facility)
{
    return strcmp(facility, "FAIL") == 0;
}

void client_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    enum log_level ours = level_of(level);
    if (!is_noise(facility))
        log_text(rk, is_failure(facility) && ours == LOG_ERROR ? LOG_WARN : ours, facility, text);
}

void client_log_rest(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    if (!is_noise(facility))
        log_text(rk, is_failure(facility) ? LOG_DEBUG : level_of(level), facility, text);
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

void client_log_asked(int64_t since_mono_ms, int64_t sent_mono_ms, bool answered,
                      int64_t now_mono_ms)
{
    char reason[REASON_MAX];
    pthread_mutex_lock(&away.turn);
    bool under_way = since_mono_ms != 0 && away.since_mono_ms == since_mono_ms;
    bool ends = under_way && answered && sent_mono_ms - since_mono_ms >= STOPS_MS;
    bool lasts = under_way && !answered && now_mono_ms - since_mono_ms >= LASTS_MS;
    bool was_logged = away.logged;
    away.logged = (was_logged || lasts) && !ends;
    away.since_mono_ms = ends ? 0 : away.since_mono_ms;
    int lanes = away.lanes;
    memcpy(reason, away.reason, sizeof reason);
    pthread_mutex_unlock(&away.turn);
    if (lasts && !was_logged)
        log_error("Kafka unreachable, lanes wait until a broker answers: run 'delaybridge check'",
                  F_INT("lanes", lanes), F_MS("away_ms", now_mono_ms - since_mono_ms),
                  F_TEXT("reason", reason));
    if (ends && was_logged)
        log_info("Kafka answers again, forwarding continues",
                 F_MS("away_ms", now_mono_ms - since_mono_ms));
}

/* Notes the begin of an outage, or the latest failure in one. */
static void note_failure(rd_kafka_resp_err_t err, const char *reason)
{
    pthread_mutex_lock(&away.turn);
    bool begins = away.since_mono_ms == 0 && err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
    if (begins)
        away.since_mono_ms = clock_mono_ms();
    if (begins || err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        snprintf(away.reason, sizeof away.reason, "%s", reason);
    pthread_mutex_unlock(&away.turn);
}

void client_log_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
    (void)opaque;
    if (is_idle_disconnect((rd_kafka_resp_err_t)err, reason)) {
        log_text(rk, LOG_DEBUG, "DISCONNECT", reason);
        return;
    }
    note_failure((rd_kafka_resp_err_t)err, reason);
    if (err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        return;
    const char *name = rd_kafka_err2name((rd_kafka_resp_err_t)err);
    uint64_t suppressed;
    if (!may_pass(rd_kafka_name(rk), name, &suppressed))
        return;
    log_warn("client error, the client tries again", F_TEXT("client", rd_kafka_name(rk)),
             F_TEXT("error", name), F_TEXT("reason", reason), F_NONZERO("suppressed", suppressed));
}
