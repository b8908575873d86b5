/* SPDX-License-Identifier: Apache-2.0 */
/* One partition of the level handle, with a separate queue. */
#include "consumer/control_log.h"

#include "bridge/base/log.h"
#include "consumer/topic_lookup.h"

#include <stdlib.h>

enum {
    LOOK_AGAIN_MS = 30000, /* for a topic that does not exist */
    ASK_AGAIN_MS = 1000,   /* after a look-up without an answer */
    TURN_RECORDS = 256
};

struct control_log {
    struct control_log_config config;
    struct topic_lookup *lookup;
    rd_kafka_queue_t *queue; /* NULL: the topic is not read */
    bool is_known;           /* since the last begin */
    int64_t look_mono_ms;    /* earliest next look-up */
};

struct control_log *control_log_new(const struct control_log_config *config)
{
    struct control_log *log = calloc(1, sizeof *log);
    if (log == NULL)
        return NULL;
    log->config = *config;
    log->lookup = topic_lookup_new(config->wakeup);
    if (log->lookup == NULL) {
        free(log);
        return NULL;
    }
    return log;
}

/* Errors are of the whole call: the handle is being closed. */
static void assign(struct control_log *log, bool add)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, log->config.topic, 0)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_error_t *error = add ? rd_kafka_incremental_assign(log->config.levels, one)
                                  : rd_kafka_incremental_unassign(log->config.levels, one);
    rd_kafka_topic_partition_list_destroy(one);
    if (error == NULL)
        return;
    log_warn("cannot read the paused and limited targets, trying again",
             F_TEXT("topic", log->config.topic), F_TEXT("error", rd_kafka_error_name(error)));
    rd_kafka_error_destroy(error);
}

static void stop(struct control_log *log)
{
    if (log->queue == NULL)
        return;
    assign(log, false);
    rd_kafka_queue_destroy(log->queue);
    log->queue = NULL;
}

/* The queue is opened before the assignment, as in source_assign.c. */
static void start(struct control_log *log)
{
    log->queue = rd_kafka_queue_get_partition(log->config.levels, log->config.topic, 0);
    rd_kafka_queue_forward(log->queue, NULL);
    wakeup_attach(log->config.wakeup, log->queue, WAKEUP_LOOP);
    log->is_known = false;
    log->config.begun(log->config.ctx);
    assign(log, true);
}

bool control_log_free(struct control_log *log)
{
    stop(log);
    if (!topic_lookup_free(log->lookup))
        return false;
    free(log);
    return true;
}

static void note_known(struct control_log *log)
{
    if (!log->is_known)
        log->config.known(log->config.ctx);
    log->is_known = true;
}

/* The last known entries stay in force. */
static void give_up(struct control_log *log, int64_t now_mono_ms)
{
    stop(log);
    log->look_mono_ms = now_mono_ms + ASK_AGAIN_MS;
}

static void take_error(struct control_log *log, const rd_kafka_message_t *message,
                       int64_t now_mono_ms)
{
    rd_kafka_resp_err_t err = message->err;
    if (err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        note_known(log);
    } else if (err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
               err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE ||
               err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
               err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
        give_up(log, now_mono_ms);
    } else if (err != RD_KAFKA_RESP_ERR__TIMED_OUT && log->config.logs) {
        log_error("cannot read the paused and limited targets, keeping the last known ones: allow "
                  "Read on the topic",
                  F_TEXT("topic", log->config.topic), F_TEXT("error", rd_kafka_err2name(err)));
    }
}

static void take(struct control_log *log, const rd_kafka_message_t *message)
{
    struct error why;
    struct control_record record;
    struct bytes key = bytes_of(message->key, message->key_len);
    struct bytes value = bytes_of(message->payload, message->len);
    if (control_key_is_of_process(key))
        return;
    if (control_record_read(key, value, &record, &why) == 0)
        log->config.changed(log->config.ctx, &record);
    else if (log->config.logs)
        log_error("record of the topic of control is damaged or foreign, ignored: allow only "
                  "operators and the bridge to write there",
                  F_TEXT("topic", log->config.topic), F_OFFSET("offset", message->offset),
                  F_TEXT("reason", why.text));
}

/* Queries by the handle of the levels: a producer may be replaced during a look-up. A fetch that
   waits may delay the answer, and then the look-up is repeated. */
static void look(struct control_log *log, int64_t now_mono_ms)
{
    switch (topic_lookup_get(log->lookup, log->config.levels, log->config.topic)) {
    case LOOKUP_FOUND:
    case LOOKUP_UNWRITABLE:
    case LOOKUP_WHOLE:
        start(log);
        break;
    case LOOKUP_MISSING:
        note_known(log);
        log->look_mono_ms = now_mono_ms + LOOK_AGAIN_MS;
        break;
    case LOOKUP_UNKNOWN:
        log->look_mono_ms = now_mono_ms + ASK_AGAIN_MS;
        break;
    case LOOKUP_PENDING:
        break;
    }
}

void control_log_serve(struct control_log *log, int64_t now_mono_ms)
{
    rd_kafka_message_t *message;
    if (log->queue == NULL && now_mono_ms >= log->look_mono_ms)
        look(log, now_mono_ms);
    for (int n = 0; n < TURN_RECORDS && log->queue != NULL; n++) {
        message = rd_kafka_consume_queue(log->queue, 0);
        if (message == NULL)
            return;
        if (message->err != 0)
            take_error(log, message, now_mono_ms);
        else
            take(log, message);
        rd_kafka_message_destroy(message);
    }
    if (log->queue != NULL)
        wakeup_signal(log->config.wakeup, WAKEUP_LOOP);
}
