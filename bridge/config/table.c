/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys, and what is printed from it. */
#include "bridge/config/loader.h"
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
         "Properties of librdkafka, for every connection. A value may be {file: PATH}: the file's "
         "content, which is then never printed. As flags: -X NAME=VALUE, -X hops.NAME=VALUE; as "
         "variables: DELAYBRIDGE_KAFKA_BOOTSTRAP_SERVERS. What the guarantees rest on is refused. "
         "With group.instance.id each worker's id "
         "is that one with -0, -1, ... behind it."},
    {.name = "kafka.intake",
     .type = TYPE_PROPERTIES,
     .shown = "{fetch.wait.max.ms: 100}",
     .help = "Properties for the consumers of the schedule topic alone."},
    {.name = "kafka.levels",
     .type = TYPE_PROPERTIES,
     .shown = "{fetch.wait.max.ms: 100}",
     .help = "Properties for the consumers of the level topics alone."},
    {.name = "kafka.hops",
     .type = TYPE_PROPERTIES,
     .shown = "{compression.type: lz4}",
     .help = "Properties for the producers to level topics and dead-letter topic alone."},
    {.name = "kafka.deliveries",
     .type = TYPE_PROPERTIES,
     .shown = "{linger.ms: 1}",
     .help = "Properties for the producers to the targets alone."},
    {.name = "group",
     .type = TYPE_TEXT,
     AT(group),
     .shown = "delaybridge.schedule",
     .help = "The consumer group that shares out the lanes and holds all progress. Its default is "
             "delaybridge. and the schedule topic's name."},
    {.name = "schedule",
     .type = TYPE_TEXT,
     AT(schedule),
     .initial = "schedule",
     .help =
         "The topic that requests are written to. The bridge's own topics begin with its name and "
         "a dot."},
    {.name = "levels",
     .type = TYPE_LEVELS,
     AT(ladder.level_ms),
     .initial = "1s, 5s, 10s, 30s, 1m, 2m, 3m, 4m, 5m, 6m, 7m, 8m, 9m, 10m, 20m, 30m, 1h, 2h",
     .help = "How long records wait in one topic, ascending. Any delay is a chain of these; see "
             "'delaybridge explain'. Longer levels save hops of long delays."},
    {.name = "targets",
     .type = TYPE_TARGETS,
     AT(targets),
     .shown = "[orders.timeout, \"payments.*\"]",
     .help = "The topics that may be delivered to; a * stands for any run of characters. Must be "
             "set. The bridge's own topics and those that begin with __ are always denied, but for "
             "schedule.canary.",
     .live = true},
    {.name = "default_target",
     .type = TYPE_TEXT,
     AT(default_target),
     .shown = "orders.timeout",
     .help = "Where requests go that name no target. Without it they are refused.",
     .live = true},
    {.name = "max_delay",
     .type = TYPE_SPAN,
     AT(max_delay_ms),
     .least = 1,
     .most = LADDER_MS_MAX,
     .initial = "40d",
     .help = "The longest delay that is accepted, from the request's timestamp.",
     .live = true},
    {.name = "delivery",
     .type = TYPE_DELIVERY,
     .initial = "at-least-once",
     .help =
         "What a crash may do: at-least-once repeats deliveries that were in flight, and never "
         "loses one; exactly-once repeats none for consumers with isolation.level=read_committed, "
         "at the price of some tens of milliseconds."},
    {.name = "lost_offsets",
     .type = TYPE_LOST_OFFSETS,
     .initial = "refuse",
     .help =
         "What exactly-once does when records wait in the levels, or did, and the group has no "
         "offsets (they expire when no process runs for offsets.retention.minutes, 7 days; or "
         "group was changed), or commit metadata that it cannot read: refuse to start, or "
         "redeliver all that the level topics and schedule still hold. at-least-once redelivers, "
         "and says so."},
    {.name = "unreadable",
     .type = TYPE_UNREADABLE,
     .initial = "block",
     .help = "What happens at a batch that cannot be read, because it is damaged or too large as "
             "unpacked. With block its partition waits until you run 'delaybridge skip'. With skip "
             "a dead letter names the range of offsets, and reading continues behind it."},
    {.name = "max_attempts",
     .type = TYPE_COUNT,
     AT(max_attempts),
     .least = 1,
     .most = 1000,
     .initial = "8",
     .help =
         "How often a delivery is tried, with growing pauses, before it goes to the dead-letter "
         "topic.",
     .live = true},
    {.name = "hold",
     .type = TYPE_SPAN,
     AT(ladder.hold_ms),
     .most = DAY_MS,
     .initial = "1s",
     .help = "The remainder of a delay that is held in memory, in no level. At least the smallest "
             "level less slack."},
    {.name = "slack",
     .type = TYPE_SPAN,
     AT(ladder.slack_ms),
     .most = DAY_MS,
     .initial = "500ms",
     .help = "What a record may have lost on its way to a level and still fit it."},
    {.name = "memory",
     .type = TYPE_SIZE,
     AT(memory_bytes),
     .least = 1 << 20,
     .most = (int64_t)1 << 46,
     .initial = "256MiB",
     .help =
         "Records held and in flight with their headers, for the whole process. Beyond it reading "
         "waits; each partition may still hold one record of 1/256 of it, and each worker one "
         "larger record. What a fetch unpacks comes on top, about three fetches for each worker: "
         "one batch of the schedule topic, or 256 KiB of compressed ones."},
    {.name = "drain",
     .type = TYPE_SPAN,
     AT(drain_ms),
     .most = DAY_MS,
     .initial = "10s",
     .help = "How long a stop may wait for what is in flight."},
    {.name = "retired_levels",
     .type = TYPE_RETIRED,
     AT(retired_ms),
     .initial = "",
     .help = "Levels that are read until they are empty and no longer written: list here what was "
             "removed from levels."},
    {.name = "partitions",
     .type = TYPE_COUNT,
     AT(partitions),
     .least = 1,
     .most = 10000,
     .initial = "8",
     .help = "Lanes: the partitions of the topics that 'topics apply' makes. If the schedule topic "
             "exists, its number counts."},
    {.name = "replication",
     .type = TYPE_COUNT,
     AT(replication),
     .least = 1,
     .most = 100,
     .initial = "3",
     .help = "The replication factor of the topics that 'topics apply' makes."},
    {.name = "topic_settings",
     .type = TYPE_TOPIC_SETTINGS,
     .shown = "{max.message.bytes: 8388608, segment.bytes: default}",
     .help = "Kafka's topic properties that replace what 'topics apply' sets on the bridge's "
             "topics (on the schedule topic only when it makes it). default: set none, the "
             "brokers' default counts. For services with limits of their own. As a flag and "
             "variable: NAME=VALUE, with commas. cleanup.policy, retention.ms, retention.bytes "
             "and message.timestamp.type are refused: the guarantees rest on them."},
    {.name = "log.level",
     .type = TYPE_LOG_LEVEL,
     AT(log_level),
     .initial = "info",
     .help = "The least important lines that are logged: debug, info, warn or error.",
     .live = true},
    {.name = "log.format",
     .type = TYPE_LOG_FORMAT,
     AT(log_format),
     .initial = "auto",
     .help = "auto, logfmt or json; auto is logfmt on a terminal, else json. Logs go to stderr."},
    {.name = "workers",
     .type = TYPE_COUNT,
     AT(workers),
     .least = 1,
     .most = 256,
     .initial = "1",
     .help = "Threads that share this process's lanes; each takes up to one core."},
    {.name = "listen",
     .type = TYPE_LISTEN,
     AT(listen),
     .initial = "127.0.0.1:9404",
     .help = "HOST:PORT where /metrics, /livez and /readyz are answered, without a login; empty: "
             "nowhere. [::]:9404 or 0.0.0.0:9404 is every address."},
    {.name = "canary",
     .type = TYPE_SPAN,
     AT(canary_ms),
     .most = DAY_MS,
     .initial = "0s",
     .help = "How often a request of the bridge's own goes through the smallest level to the topic "
             "S.canary, and its round trip into the metrics; 10s is usual, 0s is never. Run "
             "'topics apply' after setting it."},
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

/* Print text in lines of at most width columns, each after the first behind indent. */
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

/* "log.level" stands in the map log, which its first key opens; kafka opens itself. */
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
                  "Every key at its default; what is commented out has none. Each is a flag as "
                  "well (max_delay: --max-delay) and a variable (DELAYBRIDGE_MAX_DELAY): flag > "
                  "variable > this file > default. Printed by: delaybridge help --yaml",
                  "");
    for (size_t i = 0; i < CONFIG_KEYS_N; i++) {
        if (CONFIG_KEYS[i].help != NULL)
            print_key(out, &CONFIG_KEYS[i], strcmp(CONFIG_KEYS[i].name, "log.level") == 0);
    }
}
