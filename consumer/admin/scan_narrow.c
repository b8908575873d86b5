/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of timestamps become ranges of offsets. */
#include "consumer/admin/scan.h"

enum { MARGIN_MS = 10000 };

static int ask(const struct scan *scan, rd_kafka_topic_partition_list_t *list, struct error *error)
{
    if (list->cnt == 0)
        return 0;
    const char *topic = list->elems[0].topic;
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(scan->rk, list, scan->timeout_ms);
    for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++) {
        topic = list->elems[i].topic;
        code = list->elems[i].err;
    }
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return 0;
    return error_set(error, ERR_KAFKA, "cannot read the offsets of %s: %s", topic,
                     rd_kafka_err2str(code));
}

static void move_start(const rd_kafka_topic_partition_t *at)
{
    struct scan_range *range = at->opaque;
    if (at->offset < 0) /* every record is older */
        range->from = range->end;
    else if (at->offset > range->from)
        range->from = at->offset;
}

static void move_end(const rd_kafka_topic_partition_t *at)
{
    struct scan_range *range = at->opaque;
    if (at->offset >= 0 && at->offset < range->end)
        range->end = at->offset;
}

/* Lists the ranges that have a limit, with its timestamp as offset. */
static rd_kafka_topic_partition_list_t *list_times(struct scan_range *ranges, int n, bool ends)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(n > 0 ? n : 1);
    for (int i = 0; i < n; i++) {
        int64_t ms = ends ? ranges[i].to_ms : ranges[i].from_ms;
        if (ms <= 0 || ranges[i].from >= ranges[i].end)
            continue;
        rd_kafka_topic_partition_t *at =
            rd_kafka_topic_partition_list_add(list, ranges[i].topic, ranges[i].partition);
        at->opaque = &ranges[i];
        at->offset = !ends ? ms : ms > INT64_MAX - MARGIN_MS ? INT64_MAX : ms + MARGIN_MS;
    }
    return list;
}

int scan_narrow(const struct scan *scan, struct scan_range *ranges, int n, struct error *error)
{
    int err = 0;
    for (int ends = 0; err == 0 && ends < 2; ends++) {
        rd_kafka_topic_partition_list_t *list = list_times(ranges, n, ends == 1);
        err = ask(scan, list, error);
        for (int i = 0; err == 0 && i < list->cnt; i++)
            (ends == 1 ? move_end : move_start)(&list->elems[i]);
        rd_kafka_topic_partition_list_destroy(list);
    }
    return err;
}
