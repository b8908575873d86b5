/* SPDX-License-Identifier: Apache-2.0 */
/* One partition of the level handle, with a separate queue. */
#include "consumer/control_log.h"

#include "bridge/base/log.h"
#include "consumer/topic_lookup.h"

#include <stdlib.h>

enum {
    LOOK_AGAIN_MS = 30000, /* for a topic that was deleted, or created */
    ASK_AGAIN_MS = 1000,   /* after a look-up without an answer */
    DENIED_AGAIN_MS = 5000,
    DENIED_MIN = 6,    /* refused look-ups, after which the lanes are open */
    SILENT_MS = 60000, /* each process writes its summary more often */
    SILENT_MAX_MS = 3600000,
    AGAIN_MS = 3600000, /* between two readings of the whole topic */
    REST_MS = 400,      /* less than the second in which a pause must be effective */
    MISSES_MIN = 3,     /* look-ups that do not find the topic, before it counts as missing */
    TURN_RECORDS = 256
};

struct control_log {
    struct control_log_config config;
    struct topic_lookup *lookup;
    rd_kafka_queue_t *queue; /* NULL: the topic is not read */
    bool has_begun;          /* the topic was found once */
    bool is_known;           /* since the last begin */
    bool is_lost;            /* the topic must be read again when it is found */
    int denied;              /* look-ups in a row for which the login may not see the topic */
    bool is_partial;         /* an entry was not taken: there was no room */
    int misses;              /* look-ups that did not find the topic, before has_begun */
    int64_t look_mono_ms;    /* earliest next look-up */
    int64_t begun_mono_ms;   /* last begin */
    int64_t heard_mono_ms;   /* last summary of a process; 0: none since the last begin */
    int64_t silent_ms;       /* time without a summary after which the topic is read again */
    int64_t next_offset;     /* where reading continues after a rest */
    int64_t read_mono_ms;    /* end of the rest; 0: the partition is being read */
};

struct control_log *control_log_new(const struct control_log_config *config)
{
    struct control_log *log = calloc(1, sizeof *log);
    if (log == NULL)
        return NULL;
    log->config = *config;
    log->silent_ms = SILENT_MS;
    log->lookup = topic_lookup_new(config->wakeup);
    if (log->lookup == NULL) {
        free(log);
        return NULL;
    }
    topic_lookup_ask_rights(log->lookup);
    return log;
}

static rd_kafka_topic_partition_list_t *list_from(const struct control_log *log, int64_t offset)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, log->config.topic, 0)->offset = offset;
    return one;
}

/* Returns false on an error, which is of the whole call. */
static bool assign(struct control_log *log, bool add)
{
    rd_kafka_topic_partition_list_t *one = list_from(log, RD_KAFKA_OFFSET_BEGINNING);
    rd_kafka_error_t *error = add ? rd_kafka_incremental_assign(log->config.levels, one)
                                  : rd_kafka_incremental_unassign(log->config.levels, one);
    rd_kafka_topic_partition_list_destroy(one);
    if (error == NULL)
        return true;
    if (log->config.logs)
        log_warn("cannot read the paused and limited targets, trying again",
                 F_TEXT("topic", log->config.topic), F_TEXT("error", rd_kafka_error_name(error)));
    rd_kafka_error_destroy(error);
    return false;
}

static void close_queue(struct control_log *log)
{
    rd_kafka_queue_destroy(log->queue);
    log->queue = NULL;
}

/* The levels are often paused, and then this partition would be fetched alone, 30 times a second.
   So it rests whenever its end was reached. */
static void rest(struct control_log *log, int64_t now_mono_ms)
{
    rd_kafka_topic_partition_list_t *one = list_from(log, log->next_offset);
    rd_kafka_pause_partitions(log->config.levels, one);
    rd_kafka_topic_partition_list_destroy(one);
    log->read_mono_ms = now_mono_ms + REST_MS;
}

/* After a seek the client reports the end again. If the seek fails, the partition does not rest
   until it has another record. */
static void end_rest(struct control_log *log)
{
    rd_kafka_topic_partition_list_t *one = list_from(log, log->next_offset);
    rd_kafka_resume_partitions(log->config.levels, one);
    rd_kafka_error_t *error = rd_kafka_seek_partitions(log->config.levels, one, 0);
    if (error != NULL)
        rd_kafka_error_destroy(error);
    rd_kafka_topic_partition_list_destroy(one);
    log->read_mono_ms = 0;
}

static void stop(struct control_log *log)
{
    if (log->queue == NULL)
        return;
    if (log->read_mono_ms != 0)
        end_rest(log);
    (void)assign(log, false);
    close_queue(log);
}

/* The queue is opened before the assignment, as in source_assign.c. */
static void start(struct control_log *log, int64_t now_mono_ms)
{
    log->queue = rd_kafka_queue_get_partition(log->config.levels, log->config.topic, 0);
    rd_kafka_queue_forward(log->queue, NULL);
    wakeup_attach(log->config.wakeup, log->queue, WAKEUP_LOOP);
    if (!assign(log, true)) {
        close_queue(log);
        log->look_mono_ms = now_mono_ms + ASK_AGAIN_MS;
        return;
    }
    log->has_begun = true;
    log->is_known = log->is_partial = log->is_lost = false;
    log->denied = 0;
    log->heard_mono_ms = log->read_mono_ms = 0;
    log->begun_mono_ms = now_mono_ms;
    log->config.begun(log->config.ctx);
}

/* The partition stays assigned, because the caller destroys the handle. */
bool control_log_free(struct control_log *log)
{
    if (!topic_lookup_free(log->lookup))
        return false;
    if (log->queue != NULL)
        rd_kafka_queue_destroy(log->queue);
    free(log);
    return true;
}

static void note_known(struct control_log *log)
{
    if (!log->is_known)
        log->config.known(log->config.ctx);
    log->is_known = true;
}

static void log_failure(const struct control_log *log, rd_kafka_resp_err_t err)
{
    if (!log->config.logs)
        return;
    if (err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
        log_error("cannot read the paused and limited targets, keeping the last known ones: allow "
                  "Read on the topic",
                  F_TEXT("topic", log->config.topic), F_TEXT("error", rd_kafka_err2name(err)));
    else
        log_error("cannot read the paused and limited targets, keeping the last known ones: run "
                  "'delaybridge check'",
                  F_TEXT("topic", log->config.topic), F_TEXT("error", rd_kafka_err2name(err)));
}

static void take_end(struct control_log *log, int64_t end_offset, int64_t now_mono_ms)
{
    note_known(log);
    log->next_offset = end_offset;
    rest(log, now_mono_ms);
}

/* The last known entries stay in force, until a reading of the new topic ends. */
static void take_error(struct control_log *log, rd_kafka_resp_err_t err, int64_t now_mono_ms)
{
    if (err == RD_KAFKA_RESP_ERR__TIMED_OUT)
        return;
    log_failure(log, err);
    if (err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
        stop(log);
    log->look_mono_ms = now_mono_ms + ASK_AGAIN_MS;
}

static void take(struct control_log *log, const rd_kafka_message_t *message, int64_t now_mono_ms)
{
    struct error why;
    struct control_record record;
    struct bytes key = bytes_of(message->key, message->key_len);
    struct bytes value = bytes_of(message->payload, message->len);
    if (control_key_is_of_process(key)) {
        log->heard_mono_ms = now_mono_ms;
        if (log->is_known) /* else it may be an old one */
            log->silent_ms = SILENT_MS;
        return;
    }
    if (control_record_read(key, value, &record, &why) == 0)
        log->is_partial |= !log->config.changed(log->config.ctx, &record);
    else if (log->config.logs)
        log_error("record of the topic of control is damaged or foreign, ignored: allow only "
                  "operators and the bridge to write there",
                  F_TEXT("topic", log->config.topic), F_OFFSET("offset", message->offset),
                  F_TEXT("reason", why.text));
}

/* A broker that has just started may not know the topic yet. A topic that was deleted leaves the
   last known entries in force. */
static void note_missing(struct control_log *log, int64_t now_mono_ms)
{
    bool is_sure = log->has_begun || ++log->misses >= MISSES_MIN;
    log->look_mono_ms = now_mono_ms + (is_sure ? LOOK_AGAIN_MS : ASK_AGAIN_MS);
    if (is_sure && !log->has_begun)
        note_known(log);
}

/* The client reports a deleted topic to its error callback only, and may not read it again. The
   partition is removed when the topic exists again. If it were removed now, the client would never
   end. */
static void note_lost(struct control_log *log)
{
    if (log->queue != NULL && !log->is_lost)
        log_failure(log, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    log->is_lost = log->queue != NULL;
}

/* The topic may exist, and targets may be paused. So the lanes wait as if it could not be read. */
static void note_denied(struct control_log *log, int64_t now_mono_ms)
{
    if (log->denied == 0)
        log_failure(log, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    bool is_open = log->is_known || log->denied >= DENIED_MIN;
    log->denied += !is_open;
    log->is_lost = log->queue != NULL;
    log->look_mono_ms = now_mono_ms + (is_open ? LOOK_AGAIN_MS : DENIED_AGAIN_MS);
}

/* Returns whether the topic may have been deleted and created again since the last look-up. The
   client may then read nothing more, or read the new topic from the offset that it had reached. */
static bool is_silent(const struct control_log *log, int64_t now_mono_ms)
{
    return log->heard_mono_ms != 0 && now_mono_ms - log->heard_mono_ms >= log->silent_ms;
}

static void note_found(struct control_log *log, int64_t now_mono_ms)
{
    bool has_room = log->is_partial && log->config.has_room(log->config.ctx);
    bool silent = is_silent(log, now_mono_ms);
    /* A topic that was created again, and filled beyond our offset, looks like the old one. */
    bool is_old = now_mono_ms - log->begun_mono_ms >= AGAIN_MS;
    log->denied = 0;
    log->look_mono_ms = now_mono_ms + LOOK_AGAIN_MS;
    if (silent) /* perhaps no process may write a summary */
        log->silent_ms = 2 * log->silent_ms < SILENT_MAX_MS ? 2 * log->silent_ms : SILENT_MAX_MS;
    if (log->is_lost || has_room || silent || is_old)
        stop(log);
    if (log->queue == NULL)
        start(log, now_mono_ms);
}

/* Queries by the handle of the levels: a producer may be replaced during a look-up. A fetch that
   waits may delay the answer, and then the look-up is repeated. */
static void look(struct control_log *log, int64_t now_mono_ms)
{
    switch (topic_lookup_get(log->lookup, log->config.levels, log->config.topic)) {
    case LOOKUP_FOUND:
    case LOOKUP_UNWRITABLE:
    case LOOKUP_WHOLE:
        note_found(log, now_mono_ms);
        break;
    case LOOKUP_MISSING:
        if (topic_lookup_is_denied(log->lookup)) {
            note_denied(log, now_mono_ms);
            break;
        }
        note_lost(log);
        note_missing(log, now_mono_ms);
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
    if (now_mono_ms >= log->look_mono_ms)
        look(log, now_mono_ms);
    if (log->read_mono_ms != 0 && now_mono_ms >= log->read_mono_ms)
        end_rest(log);
    for (int n = 0; n < TURN_RECORDS && log->queue != NULL; n++) {
        message = rd_kafka_consume_queue(log->queue, 0);
        if (message == NULL)
            return;
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
            take_end(log, message->offset, now_mono_ms);
        else if (message->err != 0)
            take_error(log, message->err, now_mono_ms);
        else
            take(log, message, now_mono_ms);
        rd_kafka_message_destroy(message);
    }
    if (log->queue != NULL)
        wakeup_signal(log->config.wakeup, WAKEUP_LOOP);
}
