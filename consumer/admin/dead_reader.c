/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all partitions of the dead-letter topic side by side. */
#include "consumer/admin/dead_reader.h"

#include "bridge/base/clock.h"
#include "consumer/admin/committed.h"
#include "consumer/admin/offsets.h"
#include "consumer/admin/polled.h"
#include "consumer/client/log_ends.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void dead_reader_conf(const struct config *config, const char *group, rd_kafka_conf_t *conf)
{
    offsets_conf(config, conf);
    rd_kafka_conf_res_t set =
        rd_kafka_conf_set(conf, "fetch.message.max.bytes", "1048576", NULL, 0);
    if (set == RD_KAFKA_CONF_OK && group != NULL)
        set = rd_kafka_conf_set(conf, "group.id", group, NULL, 0);
    assert(set == RD_KAFKA_CONF_OK);
}

static int fail(rd_kafka_resp_err_t code, const char *what, struct error *error)
{
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        return error_set(error, ERR_CONFIG, "cannot %s: allow Read on the group", what);
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        return error_set(error, ERR_CONFIG, "cannot %s: allow Read on the topic", what);
    default:
        return error_set(error, ERR_KAFKA, "cannot %s: %s", what, rd_kafka_err2str(code));
    }
}

/* Counts the partitions. Lists all topics, because metadata for one name could create it. */
static int find_partitions(struct dead_reader *reader, struct error *error)
{
    const rd_kafka_metadata_t *metadata;
    rd_kafka_resp_err_t code =
        rd_kafka_metadata(reader->rk, 1, NULL, &metadata, reader->timeout_ms);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return fail(code, "read the list of topics", error);
    for (int i = 0; i < metadata->topic_cnt; i++)
        if (strcmp(metadata->topics[i].topic, reader->topic) == 0)
            reader->parts_n = metadata->topics[i].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    if (reader->parts_n == 0)
        return error_set(error, ERR_CONFIG,
                         "topic %s appears to be missing: run 'delaybridge topics apply', or allow "
                         "Read on it",
                         reader->topic);
    reader->parts = calloc((size_t)reader->parts_n, sizeof *reader->parts);
    return reader->parts != NULL ? 0 : error_set(error, ERR_NO_MEMORY, "out of memory");
}

static rd_kafka_topic_partition_list_t *list_partitions(const struct dead_reader *reader)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(reader->parts_n);
    for (int i = 0; i < reader->parts_n; i++)
        rd_kafka_topic_partition_list_add(list, reader->topic, i);
    return list;
}

static int first_error(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t *list,
                       const char *what, struct error *error)
{
    for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
        code = list->elems[i].err;
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? 0 : fail(code, what, error);
}

static int read_ends(struct dead_reader *reader, rd_kafka_topic_partition_list_t *list,
                     struct error *error)
{
    static const char WHAT[] = "read the ends of the dead-letter topic";
    rd_kafka_resp_err_t code = log_ends_await(reader->rk, list, LOG_BEGINNING, reader->timeout_ms);
    int err = first_error(code, list, WHAT, error);
    for (int i = 0; i < list->cnt && err == 0; i++)
        reader->parts[i].from = list->elems[i].offset;
    if (err != 0)
        return err;
    code = log_ends_await(reader->rk, list, LOG_END, reader->timeout_ms);
    err = first_error(code, list, WHAT, error);
    for (int i = 0; i < list->cnt && err == 0; i++)
        reader->parts[i].end = list->elems[i].offset;
    return err;
}

/* Moves each start to the progress of the group. Progress beyond the end belongs to an earlier
   topic of this name. */
static int read_progress(struct dead_reader *reader, rd_kafka_topic_partition_list_t *list,
                         struct error *error)
{
    rd_kafka_resp_err_t code = committed_read(reader->rk, list, reader->timeout_ms);
    int err = code == 0 ? 0 : fail(code, "read the progress of the group", error);
    for (int i = 0; i < list->cnt && err == 0; i++) {
        struct dead_part *part = &reader->parts[i];
        part->stored_offset = list->elems[i].offset;
        if (part->stored_offset > part->from && part->stored_offset <= part->end)
            part->from = part->stored_offset;
    }
    return err;
}

static int assign(struct dead_reader *reader, rd_kafka_topic_partition_list_t *list,
                  struct error *error)
{
    for (int i = list->cnt - 1; i >= 0; i--) {
        struct dead_part *part = &reader->parts[i];
        part->next = part->from;
        list->elems[i].offset = part->from;
        if (part->from >= part->end)
            rd_kafka_topic_partition_list_del_by_idx(list, i);
    }
    rd_kafka_resp_err_t code = list->cnt == 0 ? 0 : rd_kafka_assign(reader->rk, list);
    return code == 0 ? 0 : fail(code, "read the dead-letter topic", error);
}

int dead_reader_open(struct dead_reader *reader, bool resume, struct error *error)
{
    int err = find_partitions(reader, error);
    if (err != 0)
        return err;
    for (int i = 0; i < reader->parts_n; i++)
        reader->parts[i].stored_offset = -1;
    rd_kafka_topic_partition_list_t *list = list_partitions(reader);
    err = read_ends(reader, list, error);
    if (err == 0 && resume)
        err = read_progress(reader, list, error);
    if (err == 0)
        err = assign(reader, list, error);
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

bool dead_reader_is_finished(const struct dead_reader *reader)
{
    for (int i = 0; i < reader->parts_n; i++)
        if (reader->parts[i].next < reader->parts[i].end)
            return false;
    return true;
}

/* Continues after a batch that cannot be read. */
static int pass_batch(struct dead_reader *reader, int partition, int64_t offset,
                      struct dead_item *item, struct error *error)
{
    struct dead_part *part = &reader->parts[partition];
    item->partition = partition;
    item->offset = offset < part->next ? part->next : offset;
    int err = spot_pass(reader->spot, reader->topic, partition, item->offset, &item->end, error);
    if (err != 0)
        return err;
    if (item->end > item->offset)
        part->next = item->end < part->end ? item->end : part->end;
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, reader->topic, partition)->offset = item->end;
    rd_kafka_error_t *failed = rd_kafka_seek_partitions(reader->rk, one, reader->timeout_ms);
    rd_kafka_topic_partition_list_destroy(one);
    if (failed != NULL) {
        err = error_set(error, ERR_KAFKA, "cannot continue after a batch: %s",
                        rd_kafka_error_string(failed));
        rd_kafka_error_destroy(failed);
        return err;
    }
    return item->end > item->offset ? DEAD_READ_UNREADABLE : DEAD_READ_NONE;
}

/* Handles an answer of the client. Takes the message only with DEAD_READ_RECORD. */
static int take(struct dead_reader *reader, rd_kafka_message_t *message, struct dead_item *item,
                struct error *error)
{
    enum polled polled = polled_of(message);
    if (polled == POLLED_NOTHING || message->partition < 0 || message->partition >= reader->parts_n)
        return DEAD_READ_NONE;
    struct dead_part *part = &reader->parts[message->partition];
    if (polled == POLLED_DENIED)
        return fail(message->err, "read the dead-letter topic", error);
    if (part->next >= part->end)
        return DEAD_READ_NONE; /* written after the start */
    if (polled == POLLED_UNREADABLE)
        return pass_batch(reader, message->partition, message->offset, item, error);
    if ((polled == POLLED_RECORD || polled == POLLED_END) && message->offset >= part->end)
        part->next = part->end; /* only aborted records and markers were left before the end */
    if (polled != POLLED_RECORD || message->offset >= part->end)
        return DEAD_READ_NONE;
    part->next = message->offset + 1;
    *item = (struct dead_item){.message = message,
                               .partition = message->partition,
                               .offset = message->offset,
                               .end = message->offset + 1};
    return DEAD_READ_RECORD;
}

int dead_reader_next(struct dead_reader *reader, int wait_ms, struct dead_item *item,
                     struct error *error)
{
    *item = (struct dead_item){0};
    if (dead_reader_is_finished(reader))
        return DEAD_READ_END;
    int64_t since_mono_ms = clock_mono_ms();
    rd_kafka_message_t *message = rd_kafka_consumer_poll(reader->rk, wait_ms);
    reader->waited_ms += clock_mono_ms() - since_mono_ms;
    int result = message == NULL ? DEAD_READ_NONE : take(reader, message, item, error);
    if (message != NULL && result != DEAD_READ_RECORD)
        rd_kafka_message_destroy(message);
    if (result == DEAD_READ_RECORD || result == DEAD_READ_UNREADABLE)
        reader->waited_ms = 0;
    else if (result == DEAD_READ_NONE && reader->waited_ms > reader->timeout_ms)
        return error_set(error, ERR_KAFKA, "%s did not answer in time", reader->topic);
    return result;
}

void dead_reader_return(struct dead_reader *reader, const struct dead_item *item)
{
    reader->parts[item->partition].next = item->offset;
}

int dead_reader_commit(struct dead_reader *reader, struct error *error)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(reader->parts_n);
    for (int i = 0; i < reader->parts_n; i++)
        if (reader->parts[i].next != reader->parts[i].stored_offset)
            rd_kafka_topic_partition_list_add(list, reader->topic, i)->offset =
                reader->parts[i].next;
    rd_kafka_resp_err_t code = list->cnt == 0 ? 0 : rd_kafka_commit(reader->rk, list, 0);
    int err = first_error(code, list, "commit the progress of the group", error);
    for (int i = 0; i < list->cnt && err == 0; i++)
        reader->parts[list->elems[i].partition].stored_offset = list->elems[i].offset;
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

double dead_reader_share(const struct dead_reader *reader)
{
    int64_t all = 0, done = 0;
    for (int i = 0; i < reader->parts_n; i++) {
        all += reader->parts[i].end - reader->parts[i].from;
        done += reader->parts[i].next - reader->parts[i].from;
    }
    return all == 0 ? 1 : (double)done / (double)all;
}

void dead_reader_deinit(struct dead_reader *reader)
{
    free(reader->parts);
    reader->parts = NULL;
    if (reader->rk != NULL)
        rd_kafka_destroy(reader->rk);
    reader->rk = NULL;
}
