/* SPDX-License-Identifier: Apache-2.0 */
/* Committed offsets with their windows, beside the logs' two ends. */
#include "consumer/admin/offsets.h"

#include "bridge/base/clock.h"
#include "consumer/client/client.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOST_ASK_MS = 2000, ELECT_MS = 100 };

/* One look: what is asked and where it goes. */
struct look {
    struct offsets *offsets;
    rd_kafka_t *rk;
    int timeout_ms;
    char *error;
    int *partitions;                       /* by slot; slots: the dead-letter topic */
    rd_kafka_topic_partition_list_t *list; /* opaque: the cell; NULL: dead letters */
};

void offsets_conf(const struct config *config, rd_kafka_conf_t *conf)
{
    static const char *const settings[][2] = {
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"enable.partition.eof", "true"},
        {"check.crcs", "true"},            /* as the bridge reads */
        {"auto.offset.reset", "earliest"}, /* the log may be trimmed between two looks */
        {"receive.message.max.bytes", CLIENT_RECEIVE_MAX},
        {"fetch.message.max.bytes", "65536"}, /* one record of each of many partitions */
        {"fetch.wait.max.ms", "10"}           /* where nothing is, that is told at once */
    };
    char error[OFFSETS_ERROR_MAX];
    rd_kafka_conf_set(conf, "group.id", config->group, error, sizeof error);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        rd_kafka_conf_res_t set =
            rd_kafka_conf_set(conf, settings[i][0], settings[i][1], error, sizeof error);
        assert(set == RD_KAFKA_CONF_OK);
    }
}

struct offsets_cell *offsets_cell(const struct offsets *offsets, int lane, int slot)
{
    return &offsets->cells[lane * offsets->slots + slot];
}

int64_t offsets_level_ms(const struct config *config, int slot)
{
    int n = config->ladder.n;
    return slot <= n ? config->ladder.level_ms[slot - 1] : config->retired_ms[slot - 1 - n];
}

const char *offsets_topic(const struct config *config, int slot, char out[TOPIC_TEXT_MAX])
{
    if (slot > 0)
        return topic_of_level(config->schedule, offsets_level_ms(config, slot), out);
    snprintf(out, TOPIC_TEXT_MAX, "%s", config->schedule);
    return out;
}

/* ListOffsets takes the two ends in place of a time, and so does this call of the client: it hands
   the number on. One partition at a time, as the client's own call asks, is a hundred times slower.
 */
rd_kafka_resp_err_t offsets_ask(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                int64_t which, int timeout_ms)
{
    for (int i = 0; i < list->cnt; i++)
        list->elems[i].offset = which;
    return list->cnt == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR
                          : rd_kafka_offsets_for_times(rk, list, timeout_ms);
}

int offsets_ends(rd_kafka_t *rk, const char *topic, int partition, int64_t *low, int64_t *end,
                 int timeout_ms)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    const rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(one, topic, partition);
    bool known = offsets_ask(rk, one, OFFSETS_LOW, timeout_ms / 2) == 0 && at->err == 0;
    *low = at->offset;
    known = known && offsets_ask(rk, one, OFFSETS_END, timeout_ms / 2) == 0 && at->err == 0;
    *end = at->offset;
    rd_kafka_topic_partition_list_destroy(one);
    return known && 0 <= *low && *low <= *end ? 0 : ERR_KAFKA;
}

static bool is_electing(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
           err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
           err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION; /* the client: none has a leader */
}

rd_kafka_resp_err_t offsets_await(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                  int64_t which, int timeout_ms)
{
    int64_t until_ms = clock_mono_ms() + timeout_ms;
    for (;;) {
        int64_t left_ms = until_ms - clock_mono_ms();
        rd_kafka_resp_err_t err = offsets_ask(rk, list, which, left_ms > 0 ? (int)left_ms : 0);
        for (int i = 0; err == 0 && i < list->cnt; i++)
            err = list->elems[i].err;
        if (!is_electing(err) || clock_mono_ms() + ELECT_MS >= until_ms)
            return err;
        poll(NULL, 0, ELECT_MS);
    }
}

/* A level without a place is read from where its log begins. A lane without one is read from where
   the schedule topic begins, and does again what has left a level long ago. The partitions of a
   lane stand together. */
static int count_lost(const rd_kafka_topic_partition_list_t *lows,
                      const rd_kafka_topic_partition_list_t *ends)
{
    int n = 0, last = -1;
    for (int i = 0; i < ends->cnt; i++) {
        const rd_kafka_topic_partition_t *end = &ends->elems[i];
        bool lane_unset = end->opaque != NULL;
        if (end->offset <= (lane_unset ? 0 : lows->elems[i].offset) || end->partition == last)
            continue;
        last = end->partition;
        n++;
    }
    return n;
}

/* Of all topics, for by name the client might create them. */
int offsets_topics_exist(rd_kafka_t *rk, const char *const *topics, int n, int timeout_ms,
                         int *partitions)
{
    const rd_kafka_metadata_t *metadata;
    if (rd_kafka_metadata(rk, 1, NULL, &metadata, timeout_ms) != 0)
        return ERR_KAFKA;
    for (int i = 0; i < n; i++) {
        partitions[i] = 0;
        for (int j = 0; j < metadata->topic_cnt; j++) {
            const rd_kafka_metadata_topic_t *topic = &metadata->topics[j];
            if (strcmp(topic->topic, topics[i]) == 0)
                partitions[i] = topic->partition_cnt;
        }
    }
    rd_kafka_metadata_destroy(metadata);
    return 0;
}

static bool any_unset(int slots, int n, const struct start *starts)
{
    for (int i = 0; i < n * slots; i++) {
        if (i % slots != SLOT_SCHEDULE && starts[i].offset == WINDOW_UNSET)
            return true;
    }
    return false;
}

int offsets_find_missing(rd_kafka_t *rk, const char *const *topics, int slots, const int *lanes,
                         int n, struct start *starts)
{
    if (!any_unset(slots, n, starts))
        return 0;
    int *partitions = calloc((size_t)slots, sizeof *partitions);
    int err = partitions == NULL ? ERR_NO_MEMORY
                                 : offsets_topics_exist(rk, topics, slots, LOST_ASK_MS, partitions);
    for (int i = 0; err == 0 && i < n * slots; i++) {
        int slot = i % slots;
        starts[i].missing = slot != SLOT_SCHEDULE && starts[i].offset == WINDOW_UNSET &&
                            partitions[slot] <= lanes[i / slots];
    }
    free(partitions);
    return err;
}

int offsets_lost(rd_kafka_t *rk, const char *const *topics, int slots, const int *lanes, int n,
                 const struct start *starts)
{
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_new(slots);
    for (int i = 0; i < n; i++) {
        const struct start *lane = starts + i * slots;
        bool unset = lane[SLOT_SCHEDULE].offset == WINDOW_UNSET;
        for (int slot = 1; slot < slots; slot++)
            if (!lane[slot].missing && (unset || lane[slot].offset == WINDOW_UNSET))
                rd_kafka_topic_partition_list_add(ends, topics[slot], lanes[i])->opaque =
                    unset ? ends : NULL;
    }
    rd_kafka_topic_partition_list_t *lows = rd_kafka_topic_partition_list_copy(ends);
    bool asked = offsets_await(rk, lows, OFFSETS_LOW, LOST_ASK_MS) == 0 &&
                 offsets_await(rk, ends, OFFSETS_END, LOST_ASK_MS) == 0;
    int lost = asked ? count_lost(lows, ends) : -1;
    rd_kafka_topic_partition_list_destroy(ends);
    rd_kafka_topic_partition_list_destroy(lows);
    return lost;
}

static int fail(const struct look *look, const char *doing, rd_kafka_resp_err_t code)
{
    snprintf(look->error, OFFSETS_ERROR_MAX, "%s: %s", doing, rd_kafka_err2str(code));
    return ERR_KAFKA;
}

static const char *topic_of(const struct look *look, int slot, char out[TOPIC_TEXT_MAX])
{
    const struct config *config = look->offsets->config;
    if (slot == look->offsets->slots)
        return topic_of_dead_letter(config->schedule, out);
    return offsets_topic(config, slot, out);
}

/* Of all topics, for by name the client might create them. */
static int ask_partitions(struct look *look)
{
    char name[TOPIC_TEXT_MAX];
    const rd_kafka_metadata_t *metadata;
    rd_kafka_resp_err_t code = rd_kafka_metadata(look->rk, 1, NULL, &metadata, look->timeout_ms);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return fail(look, "asking for the list of topics", code);
    for (int slot = 0; slot <= look->offsets->slots; slot++) {
        topic_of(look, slot, name);
        for (int i = 0; i < metadata->topic_cnt; i++)
            if (strcmp(metadata->topics[i].topic, name) == 0)
                look->partitions[slot] = metadata->topics[i].partition_cnt;
    }
    rd_kafka_metadata_destroy(metadata);
    look->offsets->lanes = look->partitions[0];
    if (look->partitions[0] > 0)
        return 0;
    snprintf(look->error, OFFSETS_ERROR_MAX,
             "topic %s does not exist: run 'delaybridge topics apply'",
             look->offsets->config->schedule);
    return ERR_CONFIG;
}

static void list_partitions(struct look *look)
{
    char name[TOPIC_TEXT_MAX];
    for (int slot = 0; slot <= look->offsets->slots; slot++)
        for (int lane = 0; lane < look->offsets->lanes && lane < look->partitions[slot]; lane++)
            rd_kafka_topic_partition_list_add(look->list, topic_of(look, slot, name), lane)
                ->opaque =
                slot < look->offsets->slots ? offsets_cell(look->offsets, lane, slot) : NULL;
}

/* Everything is asked with one list; what a partition could not tell stops the whole look. */
static int check_list(const struct look *look, const char *doing, rd_kafka_resp_err_t code)
{
    for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && i < look->list->cnt; i++)
        code = look->list->elems[i].err;
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? 0 : fail(look, doing, code);
}

static int ask_ends(struct look *look, int64_t which)
{
    rd_kafka_resp_err_t code = offsets_ask(look->rk, look->list, which, look->timeout_ms);
    int err = check_list(look, "asking for the ends of partitions", code);
    if (err != 0)
        return err;
    struct offsets *offsets = look->offsets;
    for (int i = 0; i < look->list->cnt; i++) {
        const rd_kafka_topic_partition_t *at = &look->list->elems[i];
        struct offsets_cell *cell = at->opaque;
        if (cell == NULL)
            offsets->dead_letters += which == OFFSETS_END ? at->offset : -at->offset;
        else if (which == OFFSETS_END)
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
        window_init(cell->window, at->offset); /* not ours: nothing above the base is done */
    if (cell->end > cell->window->base)
        cell->waiting = window_pending(cell->window, cell->end);
    return 0;
}

static int ask_committed(struct look *look)
{
    rd_kafka_resp_err_t code = rd_kafka_committed(look->rk, look->list, look->timeout_ms);
    char doing[OFFSETS_ERROR_MAX / 2];
    snprintf(doing, sizeof doing, "asking for the offsets of group %.64s",
             look->offsets->config->group);
    int err = check_list(look, doing, code);
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
    err = ask_ends(look, OFFSETS_LOW);
    if (err == 0)
        err = ask_ends(look, OFFSETS_END);
    return err == 0 ? ask_committed(look) : err;
}

int offsets_read(struct offsets *offsets, rd_kafka_t *rk, int timeout_ms,
                 char error[OFFSETS_ERROR_MAX])
{
    const struct config *config = offsets->config;
    *offsets =
        (struct offsets){.config = config, .slots = 1 + config->ladder.n + config->retired_n};
    int partitions[2 * LADDER_MAX + 2] = {0};
    struct look look = {offsets, rk, timeout_ms, error, partitions, NULL};
    look.list = rd_kafka_topic_partition_list_new(64);
    int err = read_all(&look);
    rd_kafka_topic_partition_list_destroy(look.list);
    if (err == ERR_NO_MEMORY)
        snprintf(error, OFFSETS_ERROR_MAX, "%s", err_text(err));
    return err;
}

void offsets_deinit(struct offsets *offsets)
{
    for (int i = 0; offsets->cells != NULL && i < offsets->lanes * offsets->slots; i++)
        free(offsets->cells[i].window);
    free(offsets->cells);
    *offsets = (struct offsets){0};
}
