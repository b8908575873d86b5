/* SPDX-License-Identifier: Apache-2.0 */
/* Who is who by its configuration, which is the client's own once it is made. */
#include "tests/faults/clients.h"

#include "bridge/base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { VALUE_MAX = 256 };

rd_kafka_t *__real_rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error,
                                size_t error_size);
rd_kafka_t *__wrap_rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error,
                                size_t error_size);
void __real_rd_kafka_destroy(rd_kafka_t *rk);
void __wrap_rd_kafka_destroy(rd_kafka_t *rk);
void __real_log_line(enum log_level level, const char *message, const struct log_field *fields);
void __wrap_log_line(enum log_level level, const char *message, const struct log_field *fields);

static const char reason[] = "broken for good";
static const rd_kafka_resp_err_t broken_by = RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* of the two */
static rd_kafka_t *clients[KINDS];
static int made[KINDS];
static atomic_int told_replaced, told_aborted;

static bool is_set(const rd_kafka_conf_t *conf, const char *name, const char *end)
{
    char value[VALUE_MAX];
    size_t size = sizeof value, end_n = strlen(end);
    if (rd_kafka_conf_get(conf, name, value, &size) != RD_KAFKA_CONF_OK || size <= end_n)
        return false;
    return strcmp(value + size - 1 - end_n, end) == 0;
}

static enum client_kind kind_of(const rd_kafka_conf_t *conf)
{
    if (is_set(conf, "client.id", "delaybridge-hops"))
        return KIND_HOPS;
    if (!is_set(conf, "client.id", "delaybridge-deliveries"))
        return KINDS;
    if (is_set(conf, "transactional.id", ":2"))
        return KIND_SECOND;
    if (is_set(conf, "transactional.id", ":3") || is_set(conf, "transactional.id", ":4"))
        return KINDS; /* they are started only while brokers hold the first two */
    if (is_set(conf, "transactional.id", ""))
        return KIND_FIRST;
    return is_set(conf, "batch.num.messages", "1") ? KIND_ALONE : KIND_DELIVERIES;
}

rd_kafka_t *__wrap_rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error,
                                size_t error_size)
{
    enum client_kind kind = kind_of(conf);
    rd_kafka_t *rk = __real_rd_kafka_new(type, conf, error, error_size);
    if (rk == NULL || kind == KINDS)
        return rk;
    pthread_mutex_lock(&turn);
    clients[kind] = rk;
    made[kind]++;
    pthread_mutex_unlock(&turn);
    return rk;
}

void __wrap_rd_kafka_destroy(rd_kafka_t *rk)
{
    pthread_mutex_lock(&turn);
    for (int kind = 0; kind < KINDS; kind++) {
        if (clients[kind] == rk)
            clients[kind] = NULL;
    }
    pthread_mutex_unlock(&turn);
    __real_rd_kafka_destroy(rk);
}

/* Returns whether a text field contains the phrase. */
static bool has_text(const struct log_field *fields, const char *phrase)
{
    for (; fields->type != LOG_FIELD_END; fields++)
        if (fields->type == LOG_FIELD_TEXT && strstr(fields->value.text, phrase) != NULL)
            return true;
    return false;
}

void __wrap_log_line(enum log_level level, const char *message, const struct log_field *fields)
{
    if (strstr(message, "fatal error of a producer, replacing it") != NULL)
        told_replaced += has_text(fields, reason);
    if (strstr(message, "transaction aborted, reading its records again") != NULL)
        told_aborted += has_text(fields, rd_kafka_err2str(broken_by));
    __real_log_line(level, message, fields);
}

int clients_made(enum client_kind kind)
{
    pthread_mutex_lock(&turn);
    int n = made[kind];
    pthread_mutex_unlock(&turn);
    return n;
}

bool clients_break(enum client_kind kind)
{
    pthread_mutex_lock(&turn);
    bool done =
        clients[kind] != NULL && rd_kafka_test_fatal_error(clients[kind], broken_by, reason) == 0;
    pthread_mutex_unlock(&turn);
    return done;
}

int clients_told_replaced(void)
{
    return told_replaced;
}

int clients_told_aborted(void)
{
    return told_aborted;
}
