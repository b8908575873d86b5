/* SPDX-License-Identifier: Apache-2.0 */
/* table: the keys, and the texts that are printed from them. */
#include "bridge/config/loader.h"
#include "levels/cancels.h"
#include "levels/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS     ((int64_t)24 * 3600 * 1000)
#define AT(member) .offset = offsetof(struct config, member)

const struct config_key CONFIG_KEYS[] = {
    {.name = "kafka",
     .type = TYPE_PROPERTIES,
     .shown = "bootstrap.servers: localhost:9092",
     .help =
         "Properties of librdkafka for all connections. The value {file: PATH} is read from a file "
         "and never printed. The flag is -X NAME=VALUE, or -X hops.NAME=VALUE for one kind of "
         "client. The variable of bootstrap.servers is DELAYBRIDGE_KAFKA_BOOTSTRAP_SERVERS. "
         "Properties that the delivery guarantees require cannot be set. Each worker appends its "
         "number to group.instance.id: -0, -1, ..."},
    {.name = "kafka.intake",
     .type = TYPE_PROPERTIES,
     .shown = "{fetch.wait.max.ms: 100}",
     .help = "Properties for consumers of the schedule topic."},
    {.name = "kafka.levels",
     .type = TYPE_PROPERTIES,
     .shown = "{fetch.wait.max.ms: 100}",
     .help = "Properties for consumers of level topics."},
    {.name = "kafka.hops",
     .type = TYPE_PROPERTIES,
     .shown = "{compression.type: lz4}",
     .help = "Properties for producers to level topics and the dead-letter topic."},
    {.name = "kafka.deliveries",
     .type = TYPE_PROPERTIES,
     .shown = "{linger.ms: 1}",
     .help = "Properties for producers to targets."},
    {.name = "group",
     .type = TYPE_TEXT,
     AT(group),
     .shown = "delaybridge.schedule",
     .help = "The consumer group that assigns lanes and stores progress. The default is "
             "'delaybridge.' followed by the name of the schedule topic."},
    {.name = "schedule",
     .type = TYPE_TEXT,
     AT(schedule),
     .initial = "schedule",
     .help =
         "The topic for requests. The names of the bridge's other topics begin with this name and "
         "a dot."},
    {.name = "levels",
     .type = TYPE_LEVELS,
     AT(ladder.level_ms),
     .initial = "1s, 5s, 10s, 30s, 1m, 2m, 3m, 4m, 5m, 6m, 7m, 8m, 9m, 10m, 20m, 30m, 1h, 2h",
     .help = "The waiting times of the level topics, ascending. A delay becomes a chain of levels "
             "(see 'delaybridge explain'). Longer levels mean fewer hops for long delays."},
    {.name = "targets",
     .type = TYPE_TARGETS,
     AT(targets),
     .shown = "[orders.timeout, \"payments.*\"]",
     .help =
         "Topics that requests may name as target. A * matches any run of characters. "
         "Required. The bridge's own topics and topics that begin with __ are always refused, "
         "except schedule.canary. In the file, an entry may be {topic: \"payments.*\", max_rate: "
         "100/s, max_attempts: 20}. max_rate limits each of its topics that no operator limits. "
         "For a topic the entry with the longest beginning before its first * counts, then the "
         "last one.",
     .live = true},
    {.name = "default_target",
     .type = TYPE_TEXT,
     AT(default_target),
     .shown = "orders.timeout",
     .help = "The target of requests that name none. Without it they are refused.",
     .live = true},
    {.name = "max_delay",
     .type = TYPE_SPAN,
     AT(max_delay_ms),
     .least = 1,
     .most = LADDER_MS_MAX,
     .initial = "40d",
     .help = "The longest accepted delay, counted from the timestamp of the request.",
     .live = true},
    {.name = "retry",
     .type = TYPE_RETRY,
     .shown = "{default: {delays: [5s, 30s, 2m, 10m, 1h], jitter: 0.2, deadline: 1d}}",
     .help =
         "Policies for requests with dlb-retry. A policy has delays, or a series with first, "
         "factor, longest and attempts. jitter is the part by which a wait varies, and deadline "
         "the time after the first request from which no retry is accepted. A flag takes "
         "POLICY.FIELD=VALUE, such as default.delays='5s 30s'.",
     .live = true},
    {.name = "delivery",
     .type = TYPE_DELIVERY,
     .initial = "at-least-once",
     .help =
         "Delivery guarantee. at-least-once: a crash can duplicate deliveries in flight, but never "
         "loses one. exactly-once: no duplicates for consumers with "
         "isolation.level=read_committed. It adds some tens of milliseconds of latency."},
    {.name = "lost_offsets",
     .type = TYPE_LOST_OFFSETS,
     .initial = "refuse",
     .help =
         "For exactly-once, when the group has lost committed offsets. refuse: do not start. "
         "redeliver: deliver all records in the level topics and schedule again. Offsets are lost "
         "when no process runs for offsets.retention.minutes (7 days), when you change group, or "
         "when commit metadata is damaged. A level topic that was never written needs no offsets. "
         "at-least-once always redelivers, and logs a warning."},
    {.name = "unreadable",
     .type = TYPE_UNREADABLE,
     .initial = "block",
     .help = "For a batch that is damaged, or too large when decompressed. block: its partition "
             "waits until you run 'delaybridge skip'. skip: the bridge writes the batch's range of "
             "offsets to the dead-letter topic, and continues after the batch."},
    {.name = "max_attempts",
     .type = TYPE_COUNT,
     AT(max_attempts),
     .least = 1,
     .most = 1000,
     .initial = "8",
     .help = "How often the bridge tries to deliver a record, with growing pauses, before it moves "
             "the record to the dead-letter topic.",
     .live = true},
    {.name = "hold",
     .type = TYPE_SPAN,
     AT(hold_ms),
     .most = DAY_MS,
     .initial = "30s",
     .help = "A record waits in memory, not in a level topic, when its remaining delay is at most "
             "this long and there is room. Each level that it does not visit saves a write and a "
             "read. With 1s, all records visit their levels. hold must be at least the smallest "
             "level minus slack."},
    {.name = "slack",
     .type = TYPE_SPAN,
     AT(ladder.slack_ms),
     .most = DAY_MS,
     .initial = "500ms",
     .help = "How much longer than the remaining delay of a record its next level may be. This "
             "makes up for the time that the record takes from level to level."},
    {.name = "memory",
     .type = TYPE_SIZE,
     AT(memory_bytes),
     .least = 1 << 20,
     .most = (int64_t)1 << 46,
     .initial = "256MiB",
     .help =
         "Limit for the records that a process has in memory, with their headers. At the limit, "
         "the process pauses fetching. Two exceptions: each partition may have one record of up to "
         "1/256 of the limit, and each worker one larger record. Fetched data comes on top: about "
         "three fetches for each worker. A fetch is one decompressed batch of the schedule topic, "
         "or 256 KiB of compressed batches."},
    {.name = "cancel_memory",
     .type = TYPE_SIZE,
     AT(cancel_memory),
     .least = 1 << 20,
     .most = (int64_t)1 << 46,
     .initial = "64MiB",
     .help =
         "Limit for the table of cancels in force of a process, about 20 bytes each. They spread "
         "over the table, so a few percent of the cancels that fit make the process grow by all of "
         "it. With all of them it grows by up to 32 bytes for each. A cancel stays in force for "
         "about as long as the longest level that its lane uses. When the share of a lane is full, "
         "its next cancels are refused (cancels_full)."},
    {.name = "cancel_on_tombstone",
     .type = TYPE_SWITCH,
     AT(cancel_on_tombstone),
     .initial = "false",
     .help = "If true, a record with a key and a null value, but without dlb-delay and "
             "dlb-deliver-at, is a cancel, as with dlb-op: cancel. If false, it is refused "
             "(no_time)."},
    {.name = "compat",
     .type = TYPE_COMPAT,
     .initial = "",
     .help = "Formats of other schedulers whose headers the bridge translates: rocketmq, rabbitmq, "
             "etf1, karafka, spring, share-dlq. share-dlq, dead letters of share groups, uses the "
             "policy default, and share-dlq=POLICY another one. A time in a dlb- header takes "
             "precedence over them. docs/migrating has a page for each format. Empty: their "
             "headers pass unchanged.",
     .live = true},
    {.name = "events",
     .type = TYPE_EVENTS,
     .initial = "",
     .help = "The events that the bridge writes to the topic schedule.events. default stands for "
             "cancelled, too_late, dead_lettered, expired, delivery_retried and redriven. all adds "
             "accepted, delivered, cancel_accepted, replaced, cancel_unmatched and retry_accepted. "
             "accepted and delivered double the writes. cancel_unmatched needs up to cancel_memory "
             "once more. Empty: none. Run 'topics apply' after you set it.",
     .live = true},
    {.name = "events_lossy",
     .type = TYPE_SWITCH,
     AT(events_lossy),
     .initial = "false",
     .help = "If false, a record is done when its events are stored, and a lane waits while its "
             "partition of schedule.events is unavailable. If true, no lane waits for events, and "
             "some may be lost. True is only possible with at-least-once."},
    {.name = "drain",
     .type = TYPE_SPAN,
     AT(drain_ms),
     .most = DAY_MS,
     .initial = "10s",
     .help = "How long a shutdown waits for records in flight."},
    {.name = "retired_levels",
     .type = TYPE_RETIRED,
     AT(retired_ms),
     .initial = "",
     .help =
         "Levels that the bridge still reads but no longer writes. When you remove a level from "
         "levels, list it here until its topic is empty."},
    {.name = "partitions",
     .type = TYPE_COUNT,
     AT(partitions),
     .least = 1,
     .most = CANCELS_LANES_MAX,
     .initial = "8",
     .help = "The number of lanes, which is the number of partitions of the topics that 'topics "
             "apply' creates. If the schedule topic exists, its number of partitions is used "
             "instead."},
    {.name = "replication",
     .type = TYPE_COUNT,
     AT(replication),
     .least = 1,
     .most = 100,
     .initial = "3",
     .help = "The replication factor of the topics that 'topics apply' creates."},
    {.name = "topic_settings",
     .type = TYPE_TOPIC_SETTINGS,
     .shown = "{max.message.bytes: 8388608, segment.bytes: default}",
     .help =
         "Properties of the bridge's topics, in place of those that 'topics apply' would set. "
         "Use it for Kafka services with other limits. It does not apply to an existing schedule "
         "topic. The value default leaves a property to the brokers. Flag "
         "and variable take NAME=VALUE, separated by commas. cleanup.policy, retention.ms, "
         "retention.bytes and message.timestamp.type cannot be set, because the delivery "
         "guarantees require their values."},
    {.name = "log.level",
     .type = TYPE_LOG_LEVEL,
     AT(log_level),
     .initial = "info",
     .help = "The lowest severity that is logged: debug, info, warn or error.",
     .live = true},
    {.name = "log.format",
     .type = TYPE_LOG_FORMAT,
     AT(log_format),
     .initial = "auto",
     .help = "auto, logfmt or json. auto is logfmt on a terminal, else json. Logs go to stderr."},
    {.name = "workers",
     .type = TYPE_COUNT,
     AT(workers),
     .least = 1,
     .most = 256,
     .initial = "1",
     .help = "Threads that share the lanes of this process. Each uses up to one core."},
    {.name = "listen",
     .type = TYPE_LISTEN,
     AT(listen),
     .initial = "127.0.0.1:9404",
     .help = "HOST:PORT of the HTTP server for /metrics, /livez and /readyz, which has no "
             "authentication. [::]:9404 or 0.0.0.0:9404 listens on all addresses. Empty: no "
             "server."},
    {.name = "admin",
     .type = TYPE_LISTEN,
     AT(admin),
     .shown = "127.0.0.1:9405",
     .help = "HOST:PORT of the admin API. An address that is not loopback needs admin_token. The "
             "API has no TLS: put a proxy in front of it. Empty: no API."},
    {.name = "admin_token",
     .type = TYPE_FILE,
     AT(admin_token),
     .shown = "{file: /etc/delaybridge/admin-token}",
     .help = "A file with the token that every call of the admin API must present, 16 to 256 "
             "printable characters. Without it the API shows status, levels, lanes, forecast and "
             "targets only, and changes nothing. A new content counts from the next call."},
    {.name = "canary",
     .type = TYPE_SPAN,
     AT(canary_ms),
     .most = DAY_MS,
     .initial = "0s",
     .help = "The interval of canary requests, usually 10s. 0s: none. A canary is a test request "
             "of the bridge. It goes through the smallest level to the topic schedule.canary, and "
             "metrics report its round trip. Run 'topics apply' after you set it."},
};
const size_t CONFIG_KEYS_N = sizeof CONFIG_KEYS / sizeof CONFIG_KEYS[0];
_Static_assert(sizeof CONFIG_KEYS / sizeof CONFIG_KEYS[0] <= CONFIG_KEYS_MAX,
               "struct loader has room for each key");

const struct config_key *config_key_find(const char *name)
{
    for (size_t i = 0; i < CONFIG_KEYS_N; i++) {
        if (strcmp(CONFIG_KEYS[i].name, name) == 0)
            return &CONFIG_KEYS[i];
    }
    return NULL;
}

static char loose(char c)
{
    return c == '_' || c == '.' ? '-' : (char)tolower((unsigned char)c);
}

const struct config_key *config_key_guess(const char *name)
{
    for (size_t i = 0; i < CONFIG_KEYS_N; i++) {
        const char *a = CONFIG_KEYS[i].name, *b = name;
        while (*a != '\0' && loose(*a) == loose(*b)) {
            a++;
            b++;
        }
        if (*a == '\0' && *b == '\0')
            return &CONFIG_KEYS[i];
    }
    return NULL;
}

const char *config_key_nearest(const char *name)
{
    struct nearest nearest;
    nearest_start(&nearest, name);
    for (size_t i = 0; i < CONFIG_KEYS_N; i++)
        nearest_try(&nearest, CONFIG_KEYS[i].name);
    const char *found = nearest_name(&nearest);
    return found == NULL ? NULL : config_key_find(found)->name;
}

const char *config_key_flag(const struct config_key *key, char out[CONFIG_FLAG_MAX])
{
    size_t n = 0;
    for (const char *c = key->name; *c != '\0' && n < CONFIG_FLAG_MAX - 1; c++)
        out[n++] = loose(*c);
    out[n] = '\0';
    return out;
}

/* Prints text in lines of at most width columns. Each line but the first begins with indent. */
static void print_wrapped(FILE *out, const char *text, int width, const char *indent)
{
    int column = 0;
    while (*text != '\0') {
        int word = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + word > width) {
            fprintf(out, "\n%s", indent);
            column = 0;
        }
        column += fprintf(out, "%s%.*s", column > 0 ? " " : "", word, text);
        text += word;
        text += *text == ' ';
    }
    fputc('\n', out);
}

static void print_flag(FILE *out, const struct config_key *key)
{
    char flag[CONFIG_FLAG_MAX];
    fprintf(out, "  --%s VALUE", config_key_flag(key, flag));
    if (key->initial != NULL && key->initial[0] != '\0')
        fprintf(out, "  (%s)", key->initial);
    fputs("\n      ", out);
    print_wrapped(out, key->help, 90, "      ");
}

void config_print_help(FILE *out)
{
    fputs("  -X NAME=VALUE\n      ", out);
    print_wrapped(out, config_key_find("kafka")->help, 90, "      ");
    for (size_t i = 0; i < CONFIG_KEYS_N; i++) {
        if (CONFIG_KEYS[i].help != NULL && CONFIG_KEYS[i].type != TYPE_PROPERTIES)
            print_flag(out, &CONFIG_KEYS[i]);
    }
}

static void print_comment(FILE *out, const char *indent, const char *text, const char *more)
{
    char prefix[16], all[1024];
    snprintf(prefix, sizeof prefix, "%s# ", indent);
    snprintf(all, sizeof all, "%s%s", text, more);
    fputs(prefix, out);
    print_wrapped(out, all, 96, prefix);
}

/* Prints one key. "log.level" is in the map log: `opens` says that this key is the first in its
   map, whose name comes first. */
static void print_key(FILE *out, const struct config_key *key, bool opens)
{
    const char *dot = strchr(key->name, '.'), *indent = dot == NULL ? "" : "  ";
    const char *name = dot == NULL ? key->name : dot + 1;
    bool list = config_key_is_list(key);
    if (dot == NULL || opens)
        fputc('\n', out);
    if (opens)
        fprintf(out, "%.*s:\n", (int)(dot - key->name), key->name);
    print_comment(out, indent, key->help, key->live ? " SIGHUP changes it." : "");
    if (key->type == TYPE_PROPERTIES && dot == NULL)
        fprintf(out, "%s:\n  %s\n", name, key->shown);
    else if (key->initial != NULL)
        fprintf(out, "%s%s: %s%s%s\n", indent, name, list ? "[" : "", key->initial,
                list ? "]" : "");
    else
        fprintf(out, "%s# %s: %s\n", indent, name, key->shown);
}

void config_print_yaml(FILE *out)
{
    fputs("# SPDX-License-Identifier: Apache-2.0\n", out);
    print_comment(out, "",
                  "Every key at its default. A key in a comment has no default. Each key is also a "
                  "flag (--max-delay) and a variable (DELAYBRIDGE_MAX_DELAY). Precedence: flag, "
                  "variable, this file, default. Printed by: delaybridge help --yaml",
                  "");
    for (size_t i = 0; i < CONFIG_KEYS_N; i++) {
        if (CONFIG_KEYS[i].help != NULL)
            print_key(out, &CONFIG_KEYS[i], strcmp(CONFIG_KEYS[i].name, "log.level") == 0);
    }
}
