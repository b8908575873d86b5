/* SPDX-License-Identifier: Apache-2.0 */
/* The committed progress, then the two topics on which the answer is. */
#include "consumer/admin/cancel_answer.h"

#include "bridge/base/clock.h"
#include "consumer/admin/browse.h"
#include "consumer/client/log_ends.h"
#include "levels/cancel_log.h"
#include "levels/decimal.h"
#include "levels/topic_name.h"
#include "levels/window.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { ASK_MS = 5000, ASK_AGAIN_MS = 50, BACK_MS = 60000 };

struct search {
    struct cancel_answer *answer;
    int64_t offset;                                /* of the cancel on the schedule topic */
    char source[TOPIC_TEXT_MAX + 2 * DECIMAL_MAX]; /* dlb-source of its dead letter */
};

/* Sets done to whether the group has committed the offset. Returns 0 or ERR_KAFKA. */
static int is_committed(rd_kafka_t *rk, const struct config *config, int lane, int64_t offset,
                        bool *done)
{
    struct window window;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *p = rd_kafka_topic_partition_list_add(list, config->schedule, lane);
    bool known = rd_kafka_committed(rk, list, ASK_MS) == 0 && p->err == 0;
    *done = known && p->offset >= 0 &&
            window_decode(&window, p->offset, bytes_of(p->metadata, p->metadata_size)) == 0 &&
            window_is_done(&window, offset);
    rd_kafka_topic_partition_list_destroy(list);
    return known ? 0 : ERR_KAFKA;
}

static bool match_entry(void *ctx, intptr_t tag, const rd_kafka_message_t *message)
{
    struct search *s = ctx;
    struct cancel_decoded decoded;
    (void)tag;
    if (cancel_record_decode(bytes_of(message->payload, message->len), &decoded) != 0 ||
        decoded.type != CANCEL_RECORD_ENTRY || decoded.is.entry.offset != s->offset)
        return true;
    s->answer->answer = ANSWER_IN_FORCE;
    s->answer->in_force_ms = decoded.is.entry.in_force_ms;
    return false;
}

static void copy_header(const rd_kafka_message_t *message, const char *name, char *out, size_t size)
{
    rd_kafka_headers_t *headers;
    const void *value = "";
    size_t len = 0;
    if (rd_kafka_message_headers(message, &headers) == 0)
        (void)rd_kafka_header_get_last(headers, name, &value, &len);
    snprintf(out, size, "%.*s", (int)len, (const char *)value);
}

static bool match_dead_letter(void *ctx, intptr_t tag, const rd_kafka_message_t *message)
{
    struct search *s = ctx;
    char source[sizeof s->source];
    (void)tag;
    copy_header(message, "dlb-source", source, sizeof source);
    if (strcmp(source, s->source) != 0)
        return true;
    s->answer->answer = ANSWER_REFUSED;
    copy_header(message, "dlb-error", s->answer->code, sizeof s->answer->code);
    copy_header(message, "dlb-reason", s->answer->reason, sizeof s->answer->reason);
    return false;
}

/* Reads the lane's partition of a topic from the first record that was written since_ms. */
static int read_since(rd_kafka_t *rk, const char *topic, int lane, int64_t since_ms,
                      struct browse *browse, struct error *error)
{
    rd_kafka_topic_partition_list_t *from = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *p = rd_kafka_topic_partition_list_add(from, topic, lane);
    p->offset = since_ms;
    rd_kafka_resp_err_t err = rd_kafka_offsets_for_times(rk, from, ASK_MS);
    if (err == 0)
        err = p->err;
    int code =
        err == 0 ? 0
                 : error_set(error, ERR_KAFKA, "cannot read %s: %s", topic, rd_kafka_err2str(err));
    if (code == 0 && p->offset >= 0)
        code = browse_read(browse, from, error);
    rd_kafka_topic_partition_list_destroy(from);
    return code;
}

static int find_answer(rd_kafka_t *rk, const struct config *config, int lane, int64_t since_ms,
                       struct search *search, struct error *error)
{
    char topic[TOPIC_TEXT_MAX];
    struct browse browse = {.rk = rk, .timeout_ms = ASK_MS, .each = match_entry, .ctx = search};
    int err =
        read_since(rk, topic_of_cancelled(config->schedule, topic), lane, since_ms, &browse, error);
    browse.each = match_dead_letter;
    if (err == 0 && search->answer->answer != ANSWER_IN_FORCE)
        err = read_since(rk, topic_of_dead_letter(config->schedule, topic), lane, since_ms, &browse,
                         error);
    return err;
}

int cancel_answer_await(rd_kafka_t *rk, const struct config *config, int lane, int64_t offset,
                        int64_t wait_ms, struct cancel_answer *answer, struct error *error)
{
    struct search search = {.answer = answer, .offset = offset};
    int64_t since_ms = clock_wall_ms() - BACK_MS, until_mono_ms = clock_mono_ms() + wait_ms;
    bool done = false;
    *answer = (struct cancel_answer){.answer = ANSWER_NONE};
    snprintf(search.source, sizeof search.source, "%s/%d/%" PRId64, config->schedule, lane, offset);
    while (!done) {
        if (is_committed(rk, config, lane, offset, &done) != 0)
            return error_set(error, ERR_KAFKA, "cannot read the committed offsets of group %s",
                             config->group);
        if (done || clock_mono_ms() >= until_mono_ms)
            break;
        poll(NULL, 0, ASK_AGAIN_MS);
    }
    if (!done)
        return 0;
    answer->answer = ANSWER_UNKNOWN;
    return find_answer(rk, config, lane, since_ms, &search, error);
}
