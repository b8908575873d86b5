/* SPDX-License-Identifier: Apache-2.0 */
/* The events of requests that redrive has sent. */
#include "bridge/commands/redrive_events.h"

#include "bridge/base/clock.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/result.h"
#include "consumer/record.h"
#include "levels/cancels.h"
#include "levels/counted.h"
#include "levels/event.h"
#include "levels/topic_name.h"

#include <stdlib.h>
#include <string.h>

int redrive_events_open(struct redrive_events *events, const struct cli *cli, rd_kafka_t *rk)
{
    char topic[TOPIC_TEXT_MAX];
    int partitions;
    *events = (struct redrive_events){.cli = cli};
    if ((cli->config->events & EVENT_BIT(EVENT_REDRIVEN)) == 0)
        return EXIT_DONE;
    topic_of_events(cli->config->schedule, topic);
    int code = connect_topic(cli, rk, topic, &partitions);
    if (code != EXIT_DONE)
        return code;
    if (partitions == 0)
        return complain(cli, EXIT_CONFIG,
                        "topic %s appears to be missing: run 'delaybridge topics apply', allow "
                        "Write on it, or remove redriven from events",
                        topic);
    events->batch = calloc(1, sizeof *events->batch);
    if (events->batch == NULL)
        return complain(cli, EXIT_INTERNAL, "out of memory");
    *events->batch = (struct batch){.rk = rk,
                                    .topic = rd_kafka_topic_new(rk, topic, NULL),
                                    .timeout_ms = cli->timeout_ms,
                                    .keeps_partition = true};
    return EXIT_DONE;
}

static struct bytes header_of(const struct batch_item *item, const char *name)
{
    const void *value;
    size_t len;
    if (rd_kafka_header_get_last(item->headers, name, &value, &len) != 0)
        return bytes_null();
    return bytes_of(value, len);
}

/* Returns the record of the event of this request, or NULL without memory. */
static struct record *record_of(const struct config *config, const struct batch_item *item)
{
    char text[EVENT_MAX];
    enum cancel_kind kind;
    struct event event = event_of(EVENT_REDRIVEN, item->source_lane, item->source_offset);
    event.source = config->group;
    event.topic = config->schedule;
    event.time_ms = clock_wall_ms();
    event.key = item->record->key;
    event.id = header_of(item, "dlb-id");
    event.target = header_of(item, "dlb-target");
    event.traceparent = header_of(item, "traceparent");
    if (item->stored_offset >= 0) {
        event.sent_lane = item->stored_lane;
        event.sent_offset = item->stored_offset;
    }
    size_t size = event_write(&event, text);
    struct record *record = record_make(cancel_name(event.key, event.id, &kind), size);
    if (record != NULL)
        memcpy((void *)record->value.data, text, size);
    return record;
}

/* Sends an event. Returns EXIT_DONE or EXIT_INTERNAL. */
static int add_event(const struct redrive_events *events, const struct batch_item *item)
{
    struct record *record = record_of(events->cli->config, item);
    if (record == NULL)
        return complain(events->cli, EXIT_INTERNAL, "out of memory");
    rd_kafka_headers_t *headers = rd_kafka_headers_new(1);
    rd_kafka_header_add(headers, "content-type", -1, "application/cloudevents+json", -1);
    batch_add(
        events->batch,
        &(struct batch_item){.record = record, .headers = headers, .partition = item->source_lane});
    return EXIT_DONE;
}

/* Waits for the events that were sent. */
static int await_events(const struct redrive_events *events)
{
    struct batch *batch = events->batch;
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
    int failed = 0;
    batch_await(batch);
    for (int i = 0; i < batch->items_n; i++) {
        if (batch->items[i].err == RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        err = batch->items[i].err;
        failed++;
    }
    batch_clear(batch);
    char events_n[COUNTED_MAX];
    if (failed == 0)
        return EXIT_DONE;
    return complain(events->cli, EXIT_UNREACHABLE,
                    "%s not acknowledged, and the requests were sent again: %s",
                    counted(failed, "event", events_n), rd_kafka_err2str(err));
}

int redrive_events_write(struct redrive_events *events, const struct batch *sent)
{
    if (events->batch == NULL)
        return EXIT_DONE;
    int code = EXIT_DONE;
    for (int i = 0; code == EXIT_DONE && i < sent->items_n; i++) {
        const struct batch_item *item = &sent->items[i];
        bool stored = item->reported && item->err == RD_KAFKA_RESP_ERR_NO_ERROR;
        if (stored && item->source_offset >= 0)
            code = add_event(events, item);
    }
    int stored = await_events(events);
    return code == EXIT_DONE ? stored : code;
}

void redrive_events_close(struct redrive_events *events)
{
    if (events->batch == NULL)
        return;
    rd_kafka_topic_destroy(events->batch->topic);
    free(events->batch);
    events->batch = NULL;
}
