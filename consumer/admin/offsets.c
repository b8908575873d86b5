/* SPDX-License-Identifier: Apache-2.0 */
/* Committed offsets with their windows, and both ends of the logs. */
#include "consumer/admin/offsets.h"
#include "consumer/admin/committed.h"
#include "consumer/client/log_ends.h"

#include "bridge/base/clock.h"
#include "consumer/client/client.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One read: its arguments and results. */
struct look {
    struct offsets *offsets;
    rd_kafka_t *rk;
    int timeout_ms;
    struct error *error;
    int *partitions;                       /* by slot; from index slots on: of other_topic */
    rd_kafka_topic_partition_list_t *list; /* opaque: the cell, or NULL for other topics */
};

/* The topics whose records are only counted. */
enum { OTHER_DEAD, OTHER_CANCELS, OTHERS };

void offsets_conf(const struct config *config, rd_kafka_conf_t *conf)
{
    static const char *const settings[][2] = {
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"enable.partition.eof", "true"},
        {"check.crcs", "true"},            /* the bridge reads in the same way */
        {"auto.offset.reset", "earliest"}, /* the log may be trimmed meanwhile */
        {"receive.message.max.bytes", CLIENT_RECEIVE_MAX},
        {"fetch.message.max.bytes", "65536"}, /* commands read few records of many partitions */
        {"fetch.wait.max.ms", "10"}           /* empty partitions report their end at once */
    };
    struct error error;
    rd_kafka_conf_set(conf, "group.id", config->group, error.text, sizeof error.text);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        rd_kafka_conf_res_t set =
            rd_kafka_conf_set(conf, settings[i][0], settings[i][1], error.text, sizeof error.text);
        assert(set == RD_KAFKA_CONF_OK);
    }
}

struct offsets_cell *offsets_cell(const struct offsets *offsets, int lane, int slot)
{
    return &offsets->cells[lane * offsets->slots + slot];
}

int64_t offsets_level_ms(const struct config *config, int slot)
{
    return ladder_slot_ms(&config->ladder, config->retired_ms, slot);
}

const char *offsets_topic(const struct config *config, int slot, char out[TOPIC_TEXT_MAX])
{
    if (slot > 0)
        return topic_of_level(config->schedule, offsets_level_ms(config, slot), out);
    snprintf(out, TOPIC_TEXT_MAX, "%s", config->schedule);
    return out;
}

static int fail(const struct look *look, const char *what, rd_kafka_resp_err_t code)
{
    if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
        code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
        return error_set(look->error, ERR_CONFIG, "cannot read %s: allow Read on %s", what,
                         code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ? "the group"
                                                                              : "the topics");
    return error_set(look->error, ERR_KAFKA, "cannot read %s: %s", what, rd_kafka_err2str(code));
}

static const char *topic_of(const struct look *look, int slot, char out[TOPIC_TEXT_MAX])
{
    const struct config *config = look->offsets->config;
    if (slot == look->offsets->slots + OTHER_DEAD)
        return topic_of_dead_letter(config->schedule, out);
    if (slot == look->offsets->slots + OTHER_CANCELS)
        return topic_of_cancelled(config->schedule, out);
    return offsets_topic(config, slot, out);
}

/* Returns an error if the schedule topic or all levels are missing. A login without rights does not
   see them, and nothing would appear to wait. */
static int judge_partitions(const struct look *look)
{
    const char *schedule = look->offsets->config->schedule;
    if (look->partitions[0] == 0)
        return error_set(look->error, ERR_CONFIG,
                         "topic %s does not exist: run 'delaybridge topics apply'", schedule);
    for (int slot = 1; slot < look->offsets->slots; slot++)
        if (look->partitions[slot] > 0)
            return 0;
    return error_set(look->error, ERR_CONFIG,
                     "no level topic appears to exist: run 'delaybridge topics apply', or allow "
                     "Read on the topics that begin with %s.",
                     schedule);
}

/* Lists all topics: a request by name could create the topic. */
static int ask_partitions(struct look *look)
{
    char name[TOPIC_TEXT_MAX];
    const rd_kafka_metadata_t *metadata;
    rd_kafka_resp_err_t code = rd_kafka_metadata(look->rk, 1, NULL, &metadata, look->timeout_ms);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return fail(look, "the list of topics", code);
    for (int slot = 0; slot < look->offsets->slots + OTHERS; slot++) {
        topic_of(look, slot, name);
        for (int i = 0; i < metadata->topic_cnt; i++)
            if (strcmp(metadata->topics[i].topic, name) == 0)
                look->partitions[slot] = metadata->topics[i].partition_cnt;
    }
    rd_kafka_metadata_destroy(metadata);
    look->offsets->lanes = look->partitions[0];
    return judge_partitions(look);
}

static void list_partitions(struct look *look)
{
    char name[TOPIC_TEXT_MAX];
    for (int slot = 0; slot < look->offsets->slots + OTHERS; slot++)
        for (int lane = 0; lane < look->offsets->lanes && lane < look->partitions[slot]; lane++)
            rd_kafka_topic_partition_list_add(look->list, topic_of(look, slot, name), lane)
                ->opaque =
                slot < look->offsets->slots ? offsets_cell(look->offsets, lane, slot) : NULL;
}

/* Checks the answers to one list. The error of any partition ends the whole read. */
static int check_list(const struct look *look, const char *what, rd_kafka_resp_err_t code)
{
    for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && i < look->list->cnt; i++)
        code = look->list->elems[i].err;
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? 0 : fail(look, what, code);
}

/* Returns the number of records of a topic that is only counted. */
static int64_t *count_of(const struct look *look, const char *topic)
{
    char cancels[TOPIC_TEXT_MAX];
    topic_of(look, look->offsets->slots + OTHER_CANCELS, cancels);
    return strcmp(topic, cancels) == 0 ? &look->offsets->cancel_records
                                       : &look->offsets->dead_letters;
}

static int ask_ends(struct look *look, int64_t which)
{
    rd_kafka_resp_err_t code = log_ends_await(look->rk, look->list, which, look->timeout_ms);
    int err = check_list(look, "the ends of partitions", code);
    if (err != 0)
        return err;
    for (int i = 0; i < look->list->cnt; i++) {
        const rd_kafka_topic_partition_t *at = &look->list->elems[i];
        struct offsets_cell *cell = at->opaque;
        if (cell == NULL)
            *count_of(look, at->topic) += which == LOG_END ? at->offset : -at->offset;
        else if (which == LOG_END)
            cell->end = at->offset;
        else
            cell->low = at->offset;
    }
    return 0;
}

static int open_window(struct offsets_cell *cell, const rd_kafka_topic_partition_t *at)
{
    cell->window = malloc(sizeof *cell->window);
    if (cell->window == NULL)
        return ERR_NO_MEMORY;
    cell->committed = at->offset >= 0;
    struct bytes text = bytes_of(at->metadata != NULL ? at->metadata : "", at->metadata_size);
    if (!cell->committed || at->offset < cell->low)
        window_init(cell->window, cell->low);
    else if (window_decode(cell->window, at->offset, text) != 0)
        /* Another program wrote the metadata: no record above the base counts as done. */
        window_init(cell->window, at->offset);
    if (cell->end > cell->window->base)
        cell->waiting = window_pending(cell->window, cell->end);
    int64_t read_end = window_read_end(cell->window);
    cell->unread = cell->end > read_end ? cell->end - read_end : 0;
    return 0;
}

static int ask_committed(struct look *look)
{
    rd_kafka_resp_err_t code = committed_read(look->rk, look->list, look->timeout_ms);
    char what[128];
    snprintf(what, sizeof what, "the offsets of group %.64s", look->offsets->config->group);
    int err = check_list(look, what, code);
    for (int i = 0; i < look->list->cnt && err == 0; i++) {
        const rd_kafka_topic_partition_t *at = &look->list->elems[i];
        if (at->opaque != NULL)
            err = open_window(at->opaque, at);
    }
    return err;
}

static int read_all(struct look *look)
{
    struct offsets *offsets = look->offsets;
    int err = ask_partitions(look);
    if (err != 0)
        return err;
    offsets->cells =
        calloc((size_t)offsets->lanes * (size_t)offsets->slots, sizeof *offsets->cells);
    if (offsets->cells == NULL)
        return ERR_NO_MEMORY;
    list_partitions(look);
    err = ask_ends(look, LOG_BEGINNING);
    if (err == 0)
        err = ask_ends(look, LOG_END);
    return err == 0 ? ask_committed(look) : err;
}

int offsets_read(struct offsets *offsets, rd_kafka_t *rk, int timeout_ms, struct error *error)
{
    const struct config *config = offsets->config;
    *offsets =
        (struct offsets){.config = config, .slots = 1 + config->ladder.n + config->retired_n};
    int partitions[1 + 2 * LADDER_MAX + OTHERS] = {0};
    struct look look = {offsets, rk, timeout_ms, error, partitions, NULL};
    look.list = rd_kafka_topic_partition_list_new(64);
    int err = read_all(&look);
    rd_kafka_topic_partition_list_destroy(look.list);
    if (err == ERR_NO_MEMORY)
        (void)error_set(error, err, "%s", err_text(err));
    return err;
}

void offsets_deinit(struct offsets *offsets)
{
    for (int i = 0; offsets->cells != NULL && i < offsets->lanes * offsets->slots; i++)
        free(offsets->cells[i].window);
    free(offsets->cells);
    *offsets = (struct offsets){0};
}
