/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of the topic of control, for commands. */
#include "consumer/admin/control_topic.h"

#include "consumer/admin/browse.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct control_list *list;
    size_t room, past_room, members_room;
    bool out_of_memory;
};

/* Returns memory for at least one item more than n, or NULL: the old memory stays. */
static void *grow(struct reading *reading, void *all, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return all;
    size_t more = *room == 0 ? 16 : 2 * *room;
    void *grown = realloc(all, more * size);
    if (grown == NULL)
        reading->out_of_memory = true;
    else
        *room = more;
    return grown;
}

static void drop(struct control_list *list, struct control_record *record)
{
    list->n--;
    memmove(record, record + 1, (size_t)(&list->all[list->n] - record) * sizeof *record);
}

static void add(struct reading *reading, const struct control_record *record)
{
    struct control_list *list = reading->list;
    struct control_record *all =
        grow(reading, list->all, list->n, &reading->room, sizeof *list->all);
    if (all == NULL)
        return;
    list->all = all;
    list->all[list->n++] = *record;
}

/* A pause ends when another record of its pattern is written. */
static void note_past(struct reading *reading, const struct control_record *pause,
                      int64_t ended_wall_ms)
{
    struct control_list *list = reading->list;
    struct control_record *past =
        grow(reading, list->past, list->past_n, &reading->past_room, sizeof *list->past);
    if (past == NULL)
        return;
    list->past = past;
    past[list->past_n] = *pause;
    if (ended_wall_ms >= 0 && ended_wall_ms < pause->control.until_wall_ms)
        past[list->past_n].control.until_wall_ms = ended_wall_ms;
    list->past_n++;
}

static void take_member(struct reading *reading, const struct member *member)
{
    struct control_list *list = reading->list;
    size_t at = 0;
    while (at < list->members_n && strcmp(list->members[at].key, member->key) != 0)
        at++;
    if (at < list->members_n && member->has_ended) {
        list->members[at] = list->members[--list->members_n];
        return;
    }
    if (member->has_ended)
        return;
    struct member *all =
        grow(reading, list->members, list->members_n, &reading->members_room, sizeof *all);
    if (all == NULL)
        return;
    list->members = all;
    list->members[at] = *member;
    list->members_n += at == list->members_n;
}

static void take_entry(struct reading *reading, const struct control_record *record,
                       int64_t written_wall_ms)
{
    struct control_record *same = control_list_find(reading->list, record->control.pattern);
    if (same != NULL && same->control.op == CONTROL_PAUSE)
        note_past(reading, same, written_wall_ms);
    if (same != NULL)
        drop(reading->list, same);
    if (!record->is_removed)
        add(reading, record);
}

static bool take(void *ctx, intptr_t tag, const rd_kafka_message_t *message)
{
    struct reading *reading = ctx;
    struct control_record record;
    struct member member;
    struct error why;
    struct bytes key = bytes_of(message->key, message->key_len);
    struct bytes value = bytes_of(message->payload, message->len);
    (void)tag;
    if (control_key_is_of_process(key) && member_read(key, value, &member) == 0)
        take_member(reading, &member);
    else if (control_record_read(key, value, &record, &why) == 0)
        take_entry(reading, &record, rd_kafka_message_timestamp(message, NULL));
    else
        reading->list->foreign++;
    return !reading->out_of_memory;
}

int control_topic_read(rd_kafka_t *rk, const char *topic, int timeout_ms, struct control_list *list,
                       struct error *error)
{
    struct reading reading = {.list = list};
    struct browse browse = {.rk = rk, .timeout_ms = timeout_ms, .each = take, .ctx = &reading};
    *list = (struct control_list){0};
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, topic, 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
    int err = browse_read(&browse, one, error);
    rd_kafka_topic_partition_list_destroy(one);
    if (err != 0 && browse.code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
        err = error_set(error, ERR_CONFIG, "cannot read %s: allow Read on it", topic);
    if (err == 0 && reading.out_of_memory)
        err = error_set(error, ERR_NO_MEMORY, "out of memory");
    return err;
}

void control_list_deinit(struct control_list *list)
{
    free(list->all);
    free(list->past);
    free(list->members);
    *list = (struct control_list){0};
}

struct control_record *control_list_find(const struct control_list *list, const char *pattern)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->all[i].control.pattern, pattern) == 0)
            return &list->all[i];
    return NULL;
}

static rd_kafka_resp_err_t write_one(const struct writing *to, const struct control_record *record,
                                     struct writing *opaque)
{
    char *value = record->is_removed ? NULL : control_record_write(record);
    if (value == NULL && !record->is_removed)
        return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
    const char *key = record->control.pattern;
    size_t value_len = value == NULL ? 0 : strlen(value);
    rd_kafka_resp_err_t err = rd_kafka_producev(
        to->rk, RD_KAFKA_V_TOPIC(to->topic), RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_OPAQUE(opaque),
        RD_KAFKA_V_KEY(key, strlen(key)), RD_KAFKA_V_VALUE(value, value_len),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    free(value);
    return err;
}

rd_kafka_resp_err_t control_topic_write(struct writing *writing,
                                        const struct control_record *records, size_t n)
{
    writing->err = write_one(writing, &records[0], writing);
    if (writing->err != 0)
        return writing->err;
    for (size_t i = 1; i < n; i++)
        (void)write_one(writing, &records[i], NULL);
    return writing_await(writing);
}
