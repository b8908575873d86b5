/* SPDX-License-Identifier: Apache-2.0 */
/* The admin request DeleteRecords. */
#include "consumer/trim.h"

#include "bridge/base/log.h"

enum { TRIM_MS = 10000 };

void trim_open(struct trim *t, rd_kafka_t *rk, struct wakeup *wakeup)
{
    *t = (struct trim){.rk = rk,
                       .answers = rd_kafka_queue_new(rk),
                       .list = rd_kafka_topic_partition_list_new(1),
                       .trimmed = t->trimmed,
                       .ctx = t->ctx};
    wakeup_attach(wakeup, t->answers, WAKEUP_ADMIN);
}

void trim_close(struct trim *t)
{
    if (t->rk == NULL)
        return;
    rd_kafka_queue_destroy(t->answers);
    rd_kafka_topic_partition_list_destroy(t->list);
    t->rk = NULL;
}

void trim_add(struct trim *t, const char *topic, int partition, int64_t offset)
{
    rd_kafka_topic_partition_list_add(t->list, topic, partition)->offset = offset;
}

static void send_request(struct trim *t)
{
    rd_kafka_DeleteRecords_t *request = rd_kafka_DeleteRecords_new(t->list);
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(t->rk, RD_KAFKA_ADMIN_OP_DELETERECORDS);
    rd_kafka_AdminOptions_set_request_timeout(options, TRIM_MS, NULL, 0);
    rd_kafka_DeleteRecords(t->rk, &request, 1, options, t->answers);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_DeleteRecords_destroy(request);
    rd_kafka_topic_partition_list_destroy(t->list);
    t->list = rd_kafka_topic_partition_list_new(1);
    t->in_flight++;
}

/* Calls trimmed for each trimmed partition. Returns the error of the request or of one of its
   partitions. */
static rd_kafka_resp_err_t take_answer(const struct trim *t, rd_kafka_event_t *event)
{
    rd_kafka_resp_err_t err = rd_kafka_event_error(event);
    const rd_kafka_DeleteRecords_result_t *result = rd_kafka_event_DeleteRecords_result(event);
    if (err != 0 || result == NULL)
        return err;
    const rd_kafka_topic_partition_list_t *list = rd_kafka_DeleteRecords_result_offsets(result);
    for (int i = 0; i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *p = &list->elems[i];
        if (p->err == 0)
            t->trimmed(t->ctx, p->topic, p->partition, p->offset);
        else
            err = p->err;
    }
    return err;
}

void trim_serve(struct trim *t)
{
    if (t->list->cnt > 0)
        send_request(t);
    rd_kafka_event_t *event;
    while (t->in_flight > 0 && (event = rd_kafka_queue_poll(t->answers, 0)) != NULL) {
        rd_kafka_resp_err_t err = take_answer(t, event);
        if (err != 0 && !t->failed)
            log_warn(
                "cannot delete processed records of level topics, disk space is not freed, trying "
                "again",
                F_TEXT("error", rd_kafka_err2name(err)),
                F_HINT(err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
                           ? "allow Delete on the level topics"
                           : NULL));
        t->failed = err != 0;
        t->in_flight--;
        rd_kafka_event_destroy(event);
    }
}
