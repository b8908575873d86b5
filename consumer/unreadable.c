/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the range of an unreadable batch, and writes and finds the dead letter that skips it. */
#include "consumer/unreadable.h"

#include "bridge/base/clock.h"
#include "levels/code.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    POLL_MS = 100,
    READ_MS = 20 * 1000, /* decompressing 200 MB takes a second */
    ASK_MS = 5000,
    LOOK_BACK_MS = 24 * 3600 * 1000,
    SOURCE_MAX = 320
};

bool unreadable_is(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__BAD_COMPRESSION || err == RD_KAFKA_RESP_ERR__BAD_MSG ||
           err == RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED || err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
}

void unreadable_conf(rd_kafka_conf_t *conf)
{
    static const char *const settings[][2] = {
        {"fetch.message.max.bytes", "1"},     {"queued.min.messages", "1"},
        {"queued.max.messages.kbytes", "1"},  {"enable.partition.eof", "true"},
        {"enable.auto.commit", "false"},      {"auto.offset.reset", "error"},
        {"isolation.level", "read_committed"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        rd_kafka_conf_set(conf, settings[i][0], settings[i][1], NULL, 0);
}

/* The result of a read at one offset. */
struct reading {
    bool readable;
    int64_t offset; /* of the record that was read, or of the unreadable batch */
};

static bool is_answer(const rd_kafka_message_t *message, const struct range *range, int64_t offset)
{
    bool decides = message->err == 0 || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    if (message->rkt == NULL || message->partition != range->partition ||
        strcmp(rd_kafka_topic_name(message->rkt), range->topic) != 0)
        return false;
    return (decides && message->offset >= offset) || unreadable_is(message->err);
}

static int assign_at(rd_kafka_t *rk, const struct range *range, int64_t offset)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, range->topic, range->partition)->offset = offset;
    rd_kafka_resp_err_t err = rd_kafka_assign(rk, one);
    rd_kafka_topic_partition_list_destroy(one);
    return err == 0 ? 0 : ERR_KAFKA;
}

static int read_at(rd_kafka_t *rk, const struct range *range, int64_t offset,
                   struct reading *reading)
{
    int64_t until_mono_ms = clock_mono_ms() + READ_MS;
    int err = assign_at(rk, range, offset);
    bool answered = false;
    while (err == 0 && !answered && clock_mono_ms() < until_mono_ms) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, POLL_MS);
        if (message == NULL)
            continue;
        answered = is_answer(message, range, offset);
        *reading = (struct reading){!unreadable_is(message->err), message->offset};
        rd_kafka_message_destroy(message);
    }
    rd_kafka_assign(rk, NULL);
    return answered ? 0 : ERR_KAFKA;
}

/* A binary search for the end of a batch. */
struct search {
    rd_kafka_t *rk;
    const struct range *range;
    int64_t base;       /* first offset of the batch, from the client's error */
    int64_t in, beyond; /* known offsets inside the batch and beyond it */
    int64_t next;       /* first readable offset, at `beyond` or later */
};

/* Reads at offset, and moves one bound there. */
static int narrow(struct search *s, int64_t offset)
{
    struct reading reading;
    if (read_at(s->rk, s->range, offset, &reading) != 0)
        return ERR_KAFKA;
    if (!reading.readable && reading.offset <= s->base) {
        s->in = offset;
    } else {
        s->beyond = offset;
        s->next = reading.offset < offset ? offset : reading.offset;
    }
    return 0;
}

static int search_end(struct search *s)
{
    int err = 0;
    int64_t log_end = s->beyond;
    for (int64_t step = 1; err == 0 && s->beyond == log_end; step *= 2) {
        int64_t offset = s->in + step;
        if (offset >= log_end)
            break;
        err = narrow(s, offset);
    }
    while (err == 0 && s->beyond - s->in > 1)
        err = narrow(s, s->in + (s->beyond - s->in) / 2);
    return err;
}

int unreadable_find(rd_kafka_t *rk, struct range *range)
{
    struct reading reading;
    int64_t low, high;
    if (read_at(rk, range, range->from, &reading) != 0)
        return ERR_KAFKA;
    range->end = range->from;
    if (reading.readable)
        return 0;
    if (rd_kafka_query_watermark_offsets(rk, range->topic, range->partition, &low, &high, ASK_MS) !=
        0)
        return ERR_KAFKA;
    if (reading.offset > range->from)
        range->from = reading.offset;
    struct search search = {.rk = rk,
                            .range = range,
                            .base = reading.offset,
                            .in = range->from,
                            .beyond = high,
                            .next = high};
    if (high <= range->from || search_end(&search) != 0)
        return ERR_KAFKA;
    range->end = search.next;
    return 0;
}

static void name_source(const struct range *range, char out[SOURCE_MAX])
{
    snprintf(out, SOURCE_MAX, "%s/%d/%" PRId64, range->topic, range->partition, range->from);
}

static void name_range(const struct range *range, char out[SOURCE_MAX])
{
    snprintf(out, SOURCE_MAX, "%" PRId64 "-%" PRId64, range->from, range->end);
}

static bool has_header(rd_kafka_headers_t *headers, const char *name, const char *text)
{
    const void *value;
    size_t len;
    return rd_kafka_header_get_last(headers, name, &value, &len) == 0 && value != NULL &&
           len == strlen(text) && memcmp(value, text, len) == 0;
}

static bool is_dead_letter(const rd_kafka_message_t *message, const struct range *range)
{
    rd_kafka_headers_t *headers;
    char source[SOURCE_MAX], text[SOURCE_MAX];
    name_source(range, source);
    name_range(range, text);
    return rd_kafka_message_headers(message, &headers) == 0 &&
           has_header(headers, "dlb-error", code_name(CODE_UNREADABLE)) &&
           has_header(headers, "dlb-source", source) && has_header(headers, UNREADABLE_RANGE, text);
}

/* Returns the first offset of the last day, or a negative number if there is none or brokers do not
   answer. */
static int64_t first_of_the_day(rd_kafka_t *rk, const char *topic, int partition)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(one, topic, partition);
    at->offset = clock_wall_ms() - LOOK_BACK_MS;
    rd_kafka_resp_err_t err = rd_kafka_offsets_for_times(rk, one, ASK_MS);
    int64_t offset = err == 0 && at->err == 0 ? at->offset : -1;
    rd_kafka_topic_partition_list_destroy(one);
    return offset;
}

int unreadable_look(rd_kafka_t *rk, const char *dead_letter, const struct range *range, int64_t *at,
                    bool *found)
{
    const struct range dead_letters = {.topic = dead_letter, .partition = range->partition};
    int64_t low, high, from = *at;
    *found = false;
    if (rd_kafka_query_watermark_offsets(rk, dead_letter, range->partition, &low, &high, ASK_MS) !=
        0)
        return ERR_KAFKA;
    if (from < 0)
        from = first_of_the_day(rk, dead_letter, range->partition);
    if (from < 0 || from > high) /* the topic has no record of the last day */
        from = high;
    int64_t until_mono_ms = clock_mono_ms() + READ_MS;
    bool ended = from >= high || assign_at(rk, &dead_letters, from) != 0;
    while (!ended && !*found && clock_mono_ms() < until_mono_ms) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, POLL_MS);
        if (message == NULL)
            continue;
        if (is_answer(message, &dead_letters, from)) {
            ended = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
            *found = message->err == 0 && is_dead_letter(message, range);
            from = ended ? message->offset : message->offset + 1;
        }
        rd_kafka_message_destroy(message);
    }
    rd_kafka_assign(rk, NULL);
    *at = from;
    return 0;
}

rd_kafka_resp_err_t unreadable_write(struct writing *writing, const struct range *range)
{
    char source[SOURCE_MAX], text[SOURCE_MAX], failed_at[SOURCE_MAX], reason[REASON_MAX];
    name_source(range, source);
    name_range(range, text);
    snprintf(failed_at, sizeof failed_at, "%" PRId64, clock_wall_ms());
    snprintf(reason, sizeof reason,
             "the batch of offsets %" PRId64 " to %" PRId64
             " cannot be read, and was skipped by an operator",
             range->from, range->end - 1);
    writing->err = rd_kafka_producev(
        writing->rk, RD_KAFKA_V_TOPIC(writing->topic), RD_KAFKA_V_PARTITION(range->partition),
        RD_KAFKA_V_OPAQUE(writing), RD_KAFKA_V_HEADER("dlb-error", code_name(CODE_UNREADABLE), -1),
        RD_KAFKA_V_HEADER("dlb-reason", reason, -1), RD_KAFKA_V_HEADER("dlb-source", source, -1),
        RD_KAFKA_V_HEADER(UNREADABLE_RANGE, text, -1),
        RD_KAFKA_V_HEADER("dlb-failed-at", failed_at, -1),
        RD_KAFKA_V_HEADER("dlb-truncated", "all", -1), RD_KAFKA_V_END);
    return writing->err != 0 ? writing->err : writing_await(writing);
}
