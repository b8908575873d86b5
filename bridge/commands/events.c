/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge events: the life of one request, from the topic of events. */
#include "bridge/commands/connect.h"
#include "bridge/commands/output.h"
#include "bridge/commands/place.h"
#include "bridge/commands/result.h"
#include "consumer/admin/browse.h"
#include "levels/event.h"
#include "levels/murmur2.h"
#include "levels/topic_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct events {
    const struct cli *cli;
    char topic[TOPIC_TEXT_MAX];
    const char *id, *key, *source; /* NULL: any */
    int lane, skipped;             /* -1: all; -1: none */
    bool has_request;              /* an event is of a request, not only of its cancel */
    json_t *found;                 /* the events, in the order of reading */
    bool cut;                      /* there was no room for more */
    bool stopped;                  /* by the receiver of the results (output.h) */
};

static bool is_text(const json_t *data, const char *name, const char *wanted)
{
    const char *text = json_string_value(json_object_get(data, name));
    return wanted == NULL || (text != NULL && strcmp(text, wanted) == 0);
}

static bool is_of_request(const json_t *data)
{
    return !is_text(data, "event", event_name(EVENT_CANCEL_ACCEPTED)) &&
           !is_text(data, "event", event_name(EVENT_CANCEL_UNMATCHED)) &&
           !is_text(data, "event", event_name(EVENT_TOO_LATE));
}

static bool take(void *ctx, intptr_t tag, const rd_kafka_message_t *message)
{
    struct events *e = ctx;
    (void)tag;
    if (!output_read(e->cli)) {
        e->stopped = true;
        return false;
    }
    json_t *event = json_loadb(message->payload, message->len, 0, NULL);
    const json_t *data = json_object_get(event, "data");
    const char *time =
        json_string_value(json_object_get(event, "time")); /* its place in the list */
    bool wanted = time != NULL && is_text(data, "id", e->id) && is_text(data, "key", e->key) &&
                  is_text(data, "source", e->source);
    e->has_request |= wanted && is_of_request(data);
    e->cut |= wanted && !output_keep(e->cli, message->len);
    if (wanted && !e->cut)
        json_array_append(e->found, event);
    json_decref(event);
    return true;
}

/* Returns the number of partitions of the topic, or 0 if it does not exist. */
static int count_lanes(const struct events *e, rd_kafka_t *rk)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, e->topic, NULL);
    int lanes = 0;
    if (rd_kafka_metadata(rk, 0, topic, &metadata, e->cli->timeout_ms) == 0) {
        lanes = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
        rd_kafka_metadata_destroy(metadata);
    }
    rd_kafka_topic_destroy(topic);
    return lanes;
}

static int by_time(const void *a, const void *b)
{
    const json_t *const *left = a, *const *right = b;
    return strcmp(json_string_value(json_object_get(*left, "time")),
                  json_string_value(json_object_get(*right, "time")));
}

/* Prints the members of data that the line does not begin with. */
static void print_text(const json_t *event)
{
    json_t *data = json_object_get(event, "data"), *value;
    const char *name;
    printf("%s  %-16s %s", json_string_value(json_object_get(event, "time")),
           json_string_value(json_object_get(data, "event")),
           json_string_value(json_object_get(data, "source")));
    json_object_foreach(data, name, value)
    {
        if (strcmp(name, "event") == 0 || strcmp(name, "source") == 0)
            continue;
        printf("  %s=", name);
        if (json_is_string(value))
            print_bytes(bytes_text(json_string_value(value)));
        else if (json_is_integer(value))
            printf("%lld", (long long)json_integer_value(value));
        else
            printf("%s", json_is_true(value) ? "true" : "false");
    }
    putchar('\n');
}

static int print_all(const struct events *e)
{
    size_t n = json_array_size(e->found);
    json_t **sorted = calloc(n + 1, sizeof(json_t *));
    if (sorted == NULL)
        return complain(e->cli, EXIT_INTERNAL, "out of memory");
    for (size_t i = 0; i < n; i++)
        sorted[i] = json_array_get(e->found, i);
    qsort(sorted, n, sizeof(json_t *), by_time);
    for (size_t i = 0; i < n; i++) {
        if (e->cli->json)
            give_json(e->cli, json_incref(sorted[i]));
        else
            print_text(sorted[i]);
    }
    free(sorted);
    if (e->cut)
        complain(e->cli, EXIT_DONE, "there are more events than a job keeps");
    if (n == 0 && !e->cli->json)
        printf("no event of this request in %s\n", e->topic);
    return n > 0 ? EXIT_DONE : EXIT_NOT_FOUND;
}

static int read_lanes(struct events *e, rd_kafka_t *rk, int lanes, struct error *error)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(lanes);
    for (int lane = 0; lane < lanes; lane++)
        if ((e->lane < 0 || e->lane == lane) && lane != e->skipped)
            rd_kafka_topic_partition_list_add(list, e->topic, lane)->offset =
                RD_KAFKA_OFFSET_BEGINNING;
    struct browse browse = {
        .rk = rk, .timeout_ms = e->cli->timeout_ms, .each = take, .ctx = e, .is_patient = true};
    int err = browse_read(&browse, list, error);
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

/* Reads the lane of the key, then the others if it has no event of a request. A producer with
   another partitioner uses another lane, and so did all before partitions were added. */
static int read_lanes_of_key(struct events *e, rd_kafka_t *rk, int lanes, struct error *error)
{
    e->lane = murmur2_partition(bytes_text(e->key), lanes);
    int err = read_lanes(e, rk, lanes, error);
    if (err != 0 || e->has_request || e->stopped || lanes == 1)
        return err;
    e->skipped = e->lane;
    e->lane = -1;
    err = read_lanes(e, rk, lanes, error);
    if (err == 0 && e->has_request)
        complain(e->cli, EXIT_DONE,
                 "warning: the request is not in lane %d, which murmur2 computes for its key. Its "
                 "producer has another partitioner ('delaybridge check --sample'), or partitions "
                 "were added. Only 'cancel --all-lanes' reaches it",
                 e->skipped);
    return err;
}

static int read_all(struct events *e, rd_kafka_t *rk)
{
    struct error error;
    int lanes = count_lanes(e, rk);
    if (lanes == 0)
        return complain(e->cli, EXIT_CONFIG,
                        "topic %s does not exist, or cannot be read: set 'events' and run "
                        "'delaybridge topics apply', or allow Read on it",
                        e->topic);
    bool is_of_key = e->key != NULL && e->lane < 0;
    int err = (is_of_key ? read_lanes_of_key : read_lanes)(e, rk, lanes, &error);
    return err == 0 ? print_all(e) : complain(e->cli, EXIT_UNREACHABLE, "%s", error.text);
}

int cmd_events(struct cli *cli)
{
    struct events e = {.cli = cli,
                       .id = arguments_text(cli->arguments, "--id"),
                       .key = arguments_text(cli->arguments, "--key"),
                       .source = arguments_text(cli->arguments, "--source"),
                       .lane = -1,
                       .skipped = -1};
    struct place place;
    rd_kafka_t *rk;
    if (e.id == NULL && e.key == NULL && e.source == NULL)
        return complain(cli, EXIT_USAGE, "give --id, --key or --source");
    if (e.source != NULL && place_parse(bytes_text(e.source), cli->config->schedule, &place) != 0)
        return complain(cli, EXIT_USAGE, "--source: '%s' is not %s/PARTITION/OFFSET", e.source,
                        cli->config->schedule);
    if (e.source != NULL)
        e.lane = place.partition;
    topic_of_events(cli->config->schedule, e.topic);
    int code = connect_to_look(cli, &rk);
    if (code != EXIT_DONE)
        return code;
    e.found = json_array();
    code = e.found == NULL ? complain(cli, EXIT_INTERNAL, "out of memory") : read_all(&e, rk);
    json_decref(e.found);
    rd_kafka_destroy(rk);
    return code;
}
