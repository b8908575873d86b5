/* SPDX-License-Identifier: Apache-2.0 */
/* One partition queue for each lane that loads. */
#include "consumer/loads.h"

#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/record.h"
#include "consumer/unreadable.h"

#include <stdlib.h>

enum {
    TURN_MS = 5,           /* records that are due wait for so long */
    TURN_RECORDS = 64,     /* between two reads of the clock */
    RECORD_OVERHEAD = 400, /* bytes that the client needs for a record in addition to its content */
    LOG_MS = 10000
};

/* The search for the end of an unreadable batch. The client reports only the first offset of the
   batch. So later offsets are read, with steps that double, until one is readable. The search then
   halves the rest. The first read repeats the one that failed, whose cause may have been short. */
struct search {
    bool is_on;
    int64_t base; /* the first offset of the batch */
    int64_t from; /* the first offset of it that the load needs */
    int64_t bad;  /* the last one that is known to be unreadable, or the one before `from` */
    int64_t end;  /* an offset that is not in the batch */
    int64_t at;   /* is read now */
    int64_t step;
};

struct lane_load {
    struct load load;
    rd_kafka_queue_t *queue;  /* NULL: no load */
    rd_kafka_message_t *kept; /* fetched, but memory was lacking; NULL: none */
    int64_t next;             /* the first offset that was not read */
    bool at_end;              /* of the log, or at the first record of an open transaction */
    struct search search;
    int64_t most_bytes;                  /* of the fetched records, as far as known */
    int64_t logged_next, logged_mono_ms; /* of the last message about the progress */
};

struct loads {
    struct loads_config config;
    struct lane_load *lanes;
    rd_kafka_topic_t *cancelled, *schedule;
    int n; /* loads that have not ended */
};

struct loads *loads_new(const struct loads_config *config)
{
    struct loads *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->config = *config;
    s->lanes = calloc((size_t)config->lanes, sizeof *s->lanes);
    if (s->lanes == NULL) {
        free(s);
        return NULL;
    }
    /* Queries the leaders now. Otherwise the first load waits for this query, half a second. */
    s->cancelled = rd_kafka_topic_new(config->levels, config->cancelled, NULL);
    s->schedule = rd_kafka_topic_new(config->levels, config->schedule, NULL);
    return s;
}

void loads_free(struct loads *s)
{
    loads_drop_all(s);
    if (s->cancelled != NULL)
        rd_kafka_topic_destroy(s->cancelled);
    if (s->schedule != NULL)
        rd_kafka_topic_destroy(s->schedule);
    free(s->lanes);
    free(s);
}

static const char *topic_of_load(const struct loads *s, const struct load *load)
{
    return load->log == LOAD_CANCELS ? s->config.cancelled : s->config.schedule;
}

/* The partition is new to the handle, or was removed from it. Errors are of the whole call: the
   handle is being closed. */
static void assign(struct loads *s, const struct load *load, int64_t offset, bool add)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, topic_of_load(s, load), load->lane)->offset = offset;
    rd_kafka_error_t *error = add ? rd_kafka_incremental_assign(s->config.levels, one)
                                  : rd_kafka_incremental_unassign(s->config.levels, one);
    rd_kafka_topic_partition_list_destroy(one);
    if (error == NULL)
        return;
    log_warn("cannot change the partitions that are read for cancels, their lanes wait: restart "
             "this process if this repeats",
             F_TEXT("topic", topic_of_load(s, load)), F_INT("lane", load->lane),
             F_TEXT("error", rd_kafka_error_name(error)));
    rd_kafka_error_destroy(error);
}

/* The queue is opened before the assignment, as in source_assign.c. */
static void start_at(struct loads *s, struct lane_load *l, int64_t offset)
{
    const char *topic = topic_of_load(s, &l->load);
    l->at_end = false;
    l->queue = rd_kafka_queue_get_partition(s->config.levels, topic, l->load.lane);
    rd_kafka_queue_forward(l->queue, NULL);
    wakeup_attach(s->config.wakeup, l->queue, WAKEUP_LOOP);
    assign(s, &l->load, offset, true);
}

static void stop(struct loads *s, struct lane_load *l)
{
    if (l->kept != NULL)
        rd_kafka_message_destroy(l->kept);
    l->kept = NULL;
    assign(s, &l->load, RD_KAFKA_OFFSET_INVALID, false);
    rd_kafka_queue_destroy(l->queue);
    l->queue = NULL;
}

void loads_begin(struct loads *s, const struct load *load)
{
    struct lane_load *l = &s->lanes[load->lane];
    loads_drop(s, load->lane);
    *l = (struct lane_load){.load = *load,
                            .next = load->from,
                            .logged_next = load->from,
                            .logged_mono_ms = clock_mono_ms()};
    s->n++;
    start_at(s, l, load->from);
    wakeup_signal(s->config.wakeup, WAKEUP_LOOP);
}

void loads_drop(struct loads *s, int lane)
{
    if (s->lanes[lane].queue == NULL)
        return;
    stop(s, &s->lanes[lane]);
    s->n--;
}

void loads_drop_all(struct loads *s)
{
    for (int lane = 0; lane < s->config.lanes; lane++)
        loads_drop(s, lane);
}

static void restart_at(struct loads *s, struct lane_load *l, int64_t offset)
{
    stop(s, l);
    start_at(s, l, offset);
}

/* Reads at the next offset, or behind the batch if its end is found. */
static void search_on(struct loads *s, struct lane_load *l)
{
    struct search *search = &l->search;
    int64_t left = search->end - search->bad;
    if (left > 1) {
        search->at = search->bad + (search->step < left ? search->step : left / 2);
        search->step *= 2;
        restart_at(s, l, search->at);
        return;
    }
    search->is_on = false;
    l->next = search->end;
    if (search->end > search->from)
        log_warn("batch is unreadable, its cancels are not in force: run 'delaybridge levels'",
                 F_TEXT("topic", topic_of_load(s, &l->load)), F_INT("lane", l->load.lane),
                 F_RANGE("range", search->from, search->end));
    if (l->next < l->load.end)
        restart_at(s, l, l->next);
}

/* Takes the result of the read at search.at. */
static void narrow(struct loads *s, struct lane_load *l, bool is_bad)
{
    *(is_bad ? &l->search.bad : &l->search.end) = l->search.at;
    search_on(s, l);
}

static void meet_unreadable(struct loads *s, struct lane_load *l, int64_t base)
{
    if (l->search.is_on) {
        narrow(s, l, base <= l->search.base);
        return;
    }
    int64_t from = base > l->next ? base : l->next;
    l->search = (struct search){.is_on = true,
                                .base = base,
                                .from = from,
                                .bad = from - 1,
                                .end = from < l->load.end ? l->load.end : from,
                                .step = 1};
    search_on(s, l);
}

static void take_error(struct loads *s, struct lane_load *l, const rd_kafka_message_t *message)
{
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        l->next = message->offset > l->next ? message->offset : l->next;
        l->at_end = true;
    } else if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
               message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
        l->search.is_on = false;
        restart_at(s, l, RD_KAFKA_OFFSET_BEGINNING);
    } else if (unreadable_is(message->err)) {
        meet_unreadable(s, l, message->offset);
    } else if (message->err != RD_KAFKA_RESP_ERR__TIMED_OUT) {
        log_warn("cannot read a partition, trying again",
                 F_TEXT("topic", topic_of_load(s, &l->load)), F_INT("lane", l->load.lane),
                 F_TEXT("error", rd_kafka_err2name(message->err)),
                 F_HINT(message->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
                            ? "allow Read on the topic"
                            : NULL));
    }
}

/* A whole fetch arrives at once. Its size is known with its first record. */
static void note_bytes(struct lane_load *l, const struct record *record)
{
    size_t n = rd_kafka_queue_length(l->queue) + 1;
    int64_t bytes = (int64_t)(n * (record->cost_bytes + RECORD_OVERHEAD));
    if (bytes > l->most_bytes)
        l->most_bytes = bytes;
}

int64_t loads_unread(const struct loads *s, int lane)
{
    return s->lanes[lane].most_bytes;
}

/* Returns false if there is no message, or no memory for one. */
static bool take(struct loads *s, struct lane_load *l)
{
    rd_kafka_message_t *message = l->kept != NULL ? l->kept : rd_kafka_consume_queue(l->queue, 0);
    l->kept = NULL;
    if (message == NULL)
        return false;
    bool readable = message->err == 0 || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    if (l->search.is_on && readable) {
        narrow(s, l, false);
        rd_kafka_message_destroy(message);
        return true;
    }
    if (message->err != 0) {
        take_error(s, l, message);
        rd_kafka_message_destroy(message);
        return true;
    }
    l->at_end = false;
    if (message->offset >= l->load.end) /* behind the end: the log was read up to it */
        l->next = l->load.end;
    if (message->offset < l->next || message->offset >= l->load.end) {
        rd_kafka_message_destroy(message);
        return true;
    }
    struct record *record = record_of_message(message, l->load.log == LOAD_REQUESTS);
    if (record == NULL) {
        l->kept = message;
        return false;
    }
    l->next = message->offset + 1;
    note_bytes(l, record);
    s->config.loaded(s->config.ctx, l->load.lane, record);
    record_release(record);
    return true;
}

static void log_progress(struct loads *s, struct lane_load *l, int64_t now_mono_ms)
{
    int64_t span_ms = now_mono_ms - l->logged_mono_ms;
    if (span_ms < LOG_MS)
        return;
    log_info("reading cancels before the lane opens", F_TEXT("topic", topic_of_load(s, &l->load)),
             F_INT("lane", l->load.lane), F_INT("offset", l->next),
             F_INT("end_offset", l->load.end),
             F_INT("records_per_second", 1000 * (l->next - l->logged_next) / span_ms));
    l->logged_next = l->next;
    l->logged_mono_ms = now_mono_ms;
}

/* Returns whether the log has lost records, so that it ends below the load. The client knows the
   high watermark from the fetch that reached the end, or from a later one. */
static bool log_is_shorter(const struct loads *s, const struct lane_load *l)
{
    int64_t start, end;
    return l->at_end &&
           rd_kafka_get_watermark_offsets(s->config.levels, topic_of_load(s, &l->load),
                                          l->load.lane, &start, &end) == 0 &&
           end >= 0 && end < l->load.end;
}

/* Reads until the load ends, its queue is empty, or the turn is over. Returns whether the turn is
   over. */
static bool serve_lane(struct loads *s, struct lane_load *l, int64_t until_mono_ms)
{
    int n = 0;
    while (l->next < l->load.end && take(s, l)) {
        if (++n % TURN_RECORDS == 0 && clock_mono_ms() >= until_mono_ms)
            return true;
    }
    if (l->next < l->load.end && !log_is_shorter(s, l))
        return false;
    int lane = l->load.lane;
    int64_t next = l->next;
    loads_drop(s, lane);
    s->config.ended(s->config.ctx, lane, next);
    return false;
}

bool loads_serve(struct loads *s, int64_t now_mono_ms)
{
    int64_t until_mono_ms = clock_mono_ms() + TURN_MS;
    bool more = false;
    for (int lane = 0; s->n > 0 && lane < s->config.lanes; lane++) {
        struct lane_load *l = &s->lanes[lane];
        if (l->queue == NULL)
            continue;
        more |= serve_lane(s, l, until_mono_ms);
        if (l->queue != NULL)
            log_progress(s, l, now_mono_ms);
    }
    return more;
}
