/* SPDX-License-Identifier: Apache-2.0 */
/* The committed progress, then the two topics on which the answers are. */
#include "consumer/admin/cancel_answer.h"

#include "bridge/base/clock.h"
#include "consumer/admin/browse.h"
#include "consumer/admin/committed.h"
#include "consumer/client/log_ends.h"
#include "levels/cancel_log.h"
#include "levels/topic_name.h"
#include "levels/window.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_AGAIN_MS = 50 };

/* The cancels of one call, sorted by lane and offset. */
struct search {
    struct cancel_answers *answers;
    struct cancel_asked *asked;
    size_t n;
    bool dead_letters; /* the topic that is read: the dead-letter topic, or that of cancels */
};

static bool is_denied(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
           code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
}

/* Sets a sentence such as "cannot read schedule.cancelled: ...: allow Read on it". */
static int refuse(struct error *error, const char *what, const char *name, rd_kafka_resp_err_t code)
{
    return error_set(error, is_denied(code) ? ERR_CONFIG : ERR_KAFKA, "cannot read %s%s: %s%s",
                     what, name, rd_kafka_err2str(code),
                     is_denied(code) ? ": allow Read on it" : "");
}

static const char *topic_of(const struct cancel_answers *answers, bool dead_letters,
                            char out[TOPIC_TEXT_MAX])
{
    const char *schedule = answers->config->schedule;
    return dead_letters ? topic_of_dead_letter(schedule, out) : topic_of_cancelled(schedule, out);
}

static int64_t *next_of(struct answer_lane *lane, bool dead_letters)
{
    return dead_letters ? &lane->dead_next : &lane->cancelled_next;
}

/* Notes the ends of a topic. */
static int note_ends(struct cancel_answers *answers, bool dead_letters, struct error *error)
{
    char topic[TOPIC_TEXT_MAX];
    topic_of(answers, dead_letters, topic);
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_new(answers->lanes_n);
    rd_kafka_topic_partition_list_add_range(ends, topic, 0, answers->lanes_n - 1);
    rd_kafka_resp_err_t code = log_ends_await(answers->rk, ends, LOG_END, answers->timeout_ms);
    for (int i = 0; i < ends->cnt; i++) {
        *next_of(&answers->lanes[i], dead_letters) = ends->elems[i].offset;
        code = is_denied(ends->elems[i].err) ? ends->elems[i].err : code;
    }
    rd_kafka_topic_partition_list_destroy(ends);
    return code == 0 ? 0 : refuse(error, "", topic, code);
}

int cancel_answers_open(struct cancel_answers *answers, struct error *error)
{
    answers->lanes = calloc((size_t)answers->lanes_n, sizeof *answers->lanes);
    if (answers->lanes == NULL)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    int err = note_ends(answers, false, error);
    return err != 0 ? err : note_ends(answers, true, error);
}

void cancel_answers_close(struct cancel_answers *answers)
{
    free(answers->lanes);
    answers->lanes = NULL;
}

static int by_place(const void *left, const void *right)
{
    const struct cancel_asked *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static struct cancel_asked *asked_at(const struct search *search, int lane, int64_t offset)
{
    const struct cancel_asked wanted = {.lane = lane, .offset = offset};
    return bsearch(&wanted, search->asked, search->n, sizeof wanted, by_place);
}

/* Notes which cancels of a lane the group has committed. */
static void note_window(struct search *search, const rd_kafka_topic_partition_t *p)
{
    struct window window;
    if (p->offset < 0 ||
        window_decode(&window, p->offset, bytes_of(p->metadata, p->metadata_size)) != 0)
        return;
    for (size_t i = 0; i < search->n; i++)
        if (search->asked[i].lane == p->partition)
            search->asked[i].committed = window_is_done(&window, search->asked[i].offset);
}

/* Reads the committed progress of the lanes. */
static int note_committed(struct search *search, struct error *error)
{
    const struct config *config = search->answers->config;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    for (size_t i = 0; i < search->n; i++)
        if (i == 0 || search->asked[i].lane != search->asked[i - 1].lane)
            rd_kafka_topic_partition_list_add(list, config->schedule, search->asked[i].lane);
    rd_kafka_resp_err_t code =
        committed_read(search->answers->rk, list, search->answers->timeout_ms);
    for (int i = 0; code == 0 && i < list->cnt; i++)
        note_window(search, &list->elems[i]);
    rd_kafka_topic_partition_list_destroy(list);
    return code == 0 ? 0 : refuse(error, "the progress of the group ", config->group, code);
}

static void match_entry(struct search *search, const rd_kafka_message_t *message)
{
    struct cancel_decoded decoded;
    if (cancel_record_decode(bytes_of(message->payload, message->len), &decoded) != 0 ||
        decoded.type != CANCEL_RECORD_ENTRY)
        return;
    struct cancel_asked *asked = asked_at(search, message->partition, decoded.is.entry.offset);
    if (asked == NULL)
        return;
    asked->read = ANSWER_IN_FORCE;
    asked->in_force_ms = decoded.is.entry.in_force_ms;
}

static void copy_header(rd_kafka_headers_t *headers, const char *name, char *out, size_t size)
{
    const void *value = "";
    size_t len = 0;
    (void)rd_kafka_header_get_last(headers, name, &value, &len);
    snprintf(out, size, "%.*s", (int)len, (const char *)value);
}

static void match_dead_letter(struct search *search, const rd_kafka_message_t *message)
{
    char source[TOPIC_TEXT_MAX + 48], *end;
    const char *schedule = search->answers->config->schedule;
    const size_t prefix = strlen(schedule);
    rd_kafka_headers_t *headers;
    if (rd_kafka_message_headers(message, &headers) != 0)
        return;
    copy_header(headers, "dlb-source", source, sizeof source);
    if (strncmp(source, schedule, prefix) != 0 || source[prefix] != '/')
        return;
    long lane = strtol(source + prefix + 1, &end, 10);
    if (*end != '/' || lane != message->partition)
        return;
    struct cancel_asked *asked = asked_at(search, (int)lane, strtoll(end + 1, NULL, 10));
    if (asked == NULL || asked->read == ANSWER_IN_FORCE)
        return;
    asked->read = ANSWER_REFUSED;
    copy_header(headers, "dlb-error", asked->code, sizeof asked->code);
    copy_header(headers, "dlb-reason", asked->reason, sizeof asked->reason);
}

static bool match(void *ctx, intptr_t tag, const rd_kafka_message_t *message)
{
    struct search *search = ctx;
    struct answer_lane *lane = &search->answers->lanes[message->partition];
    (void)tag;
    *next_of(lane, search->dead_letters) = message->offset + 1;
    if (search->dead_letters)
        match_dead_letter(search, message);
    else
        match_entry(search, message);
    return true;
}

static bool is_unanswered(const struct cancel_asked *asked)
{
    return asked->committed && asked->read == ANSWER_NONE;
}

/* Reads a topic in the lanes of committed cancels that have no answer. */
static int read_lanes(struct search *search, bool dead_letters, struct error *error)
{
    char topic[TOPIC_TEXT_MAX];
    struct cancel_answers *answers = search->answers;
    rd_kafka_topic_partition_list_t *from = rd_kafka_topic_partition_list_new(1);
    topic_of(answers, dead_letters, topic);
    search->dead_letters = dead_letters;
    for (size_t i = 0; i < search->n; i++) {
        int lane = search->asked[i].lane;
        if (is_unanswered(&search->asked[i]) &&
            rd_kafka_topic_partition_list_find(from, topic, lane) == NULL)
            rd_kafka_topic_partition_list_add(from, topic, lane)->offset =
                *next_of(&answers->lanes[lane], dead_letters);
    }
    struct browse browse = {
        .rk = answers->rk, .timeout_ms = answers->timeout_ms, .each = match, .ctx = search};
    int err = from->cnt == 0 ? 0 : browse_read(&browse, from, error);
    rd_kafka_topic_partition_list_destroy(from);
    return err != 0 && is_denied(browse.code) ? ERR_CONFIG : err;
}

/* Returns whether a later answer is possible in a lane that is not silent. */
static bool is_waiting(const struct search *search)
{
    for (size_t i = 0; i < search->n; i++) {
        const struct cancel_asked *asked = &search->asked[i];
        if ((!asked->committed || asked->read == ANSWER_NONE) &&
            !search->answers->lanes[asked->lane].silent)
            return true;
    }
    return false;
}

/* With exactly-once, records become visible a moment after the commit of their offsets. So a
   committed cancel without an answer is looked for again. */
static int ask(struct search *search, struct error *error)
{
    int err = note_committed(search, error);
    if (err == 0)
        err = read_lanes(search, false, error);
    return err == 0 ? read_lanes(search, true, error) : err;
}

static void conclude(struct search *search)
{
    struct answer_lane *lanes = search->answers->lanes;
    for (size_t i = 0; i < search->n; i++) {
        struct cancel_asked *asked = &search->asked[i];
        asked->answer = asked->committed ? asked->read : ANSWER_NONE;
        lanes[asked->lane].silent = asked->answer == ANSWER_NONE;
    }
}

int cancel_answers_await(struct cancel_answers *answers, struct cancel_asked *asked, size_t n,
                         int64_t wait_ms, struct error *error)
{
    struct search search = {.answers = answers, .asked = asked, .n = n};
    int64_t until_mono_ms = clock_mono_ms() + wait_ms;
    if (n == 0)
        return 0;
    qsort(asked, n, sizeof *asked, by_place);
    int err = ask(&search, error);
    while (err == 0 && is_waiting(&search) && clock_mono_ms() < until_mono_ms) {
        poll(NULL, 0, ASK_AGAIN_MS);
        err = ask(&search, error);
    }
    if (err == 0)
        conclude(&search);
    return err;
}
