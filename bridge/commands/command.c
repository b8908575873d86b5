/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, and the option table of each. */
#include "bridge/commands/command.h"

#include <limits.h>
#include <string.h>

enum { BYTES_MAX = 64 << 20, RATE_MAX = 1000000000, ADDRESSES_MAX = 64 };

static const struct option NO_OPTIONS[] = {{.name = NULL}};

static const struct option TOPICS_OPTIONS[] = {
    {.name = "--fewer-replicas",
     .kind = OPTION_SWITCH,
     .help = "apply: create topics even if fewer brokers are alive than 'replication'"},
    {.name = NULL},
};

static const struct option SEND_OPTIONS[] = {
    {.name = "--delay", .kind = OPTION_TEXT, .value = "D", .help = "deliver after this time: 15m"},
    {.name = "--at",
     .kind = OPTION_TEXT,
     .value = "T",
     .help = "deliver at this time: 2026-11-21T08:00:00Z"},
    {.name = "--target",
     .kind = OPTION_TEXT,
     .value = "TOPIC",
     .help = "topic of the delivery (default_target)"},
    {.name = "--key", .kind = OPTION_TEXT, .value = "KEY", .help = "key of the delivery"},
    {.name = "--id", .kind = OPTION_TEXT, .value = "NAME", .help = "identifier of the request"},
    {.name = "--expires-at",
     .kind = OPTION_TEXT,
     .value = "T",
     .help = "do not deliver after this time"},
    {.name = "--header",
     .kind = OPTION_TEXT,
     .value = "NAME=VALUE",
     .repeatable = true,
     .help = "a user header, can be repeated"},
    {.name = "--value",
     .kind = OPTION_TEXT,
     .value = "S|@FILE",
     .help = "value, or the file that holds it; without this option a tombstone"},
    {.name = NULL},
};

static const struct option LEVELS_OPTIONS[] = {
    {.name = "--lanes", .kind = OPTION_SWITCH, .help = "show one line for each lane"},
    {.name = "--watch", .kind = OPTION_SWITCH, .help = "repeat every two seconds"},
    {.name = NULL},
};

static const struct option PEEK_OPTIONS[] = {
    {.name = "--limit",
     .kind = OPTION_NUMBER,
     .value = "N",
     .least = 1,
     .most = INT_MAX,
     .initial = "20",
     .help = "records to show"},
    {.name = NULL},
};

static const struct option TOP_OPTIONS[] = {
    {.name = "--once", .kind = OPTION_SWITCH, .help = "show one picture and exit"},
    {.name = "--every",
     .kind = OPTION_DURATION,
     .value = "D",
     .least = 1,
     .most = 3600 * 1000,
     .initial = "1s",
     .help = "time between two pictures"},
    {.name = NULL},
};

static const struct option SIZE_OPTIONS[] = {
    {.name = "--rate",
     .kind = OPTION_RATE,
     .value = "N",
     .most = RATE_MAX,
     .required = true,
     .help = "requests a second, such as 300, 20k or 1.5M"},
    {.name = "--delay",
     .kind = OPTION_DURATION,
     .value = "D",
     .most = INT64_MAX,
     .required = true,
     .help = "the usual delay, such as 15m"},
    {.name = "--payload",
     .kind = OPTION_AMOUNT,
     .value = "N",
     .most = BYTES_MAX,
     .initial = "1000",
     .help = "bytes of key and value"},
    {.name = "--headers",
     .kind = OPTION_AMOUNT,
     .value = "N",
     .most = BYTES_MAX,
     .initial = "100",
     .help = "bytes of the user headers"},
    {.name = NULL},
};

static const struct option DEMO_OPTIONS[] = {
    {.name = "--no-tty", .kind = OPTION_SWITCH, .help = "print lines in place of a live picture"},
    {.name = "--seconds",
     .kind = OPTION_NUMBER,
     .value = "N",
     .least = 5, /* the last requests are sent 2.5 s before the end */
     .most = 3600,
     .initial = "30",
     .help = "duration"},
    {.name = NULL},
};

static const struct option HELP_OPTIONS[] = {
    {.name = "--yaml", .kind = OPTION_SWITCH, .help = "print a commented configuration, every key"},
    {.name = "--metrics",
     .kind = OPTION_SWITCH,
     .help = "print each metric with its type, labels and meaning"},
    {.name = "--man", .kind = OPTION_SWITCH, .help = "print the manual page"},
    {.name = "--completion",
     .kind = OPTION_CHOICE,
     .choices = "bash|zsh",
     .help = "print completion for this shell"},
    {.name = NULL},
};

const struct command COMMANDS[] = {
    {"run", "", 0, 0, NULL, NO_OPTIONS, "run the bridge until SIGTERM",
     "Checks the topics, joins the group and serves the lanes that it is assigned. Waits for Kafka "
     "if it\nis not reachable yet. SIGTERM or SIGINT drains and exits 0; a second signal exits "
     "immediately.\n",
     NEEDS_TARGETS, cmd_run},
    {"check", "", 0, 0, NULL, NO_OPTIONS, "check the configuration and the topics",
     "Every finding says what to do. Exits 78 if the bridge would refuse to start. Exits 78 "
     "also\nif requests would fail or get lost: a target does not exist, or topic settings make "
     "brokers\n"
     "refuse or delete records.\n",
     NEEDS_TARGETS, cmd_check},
    {"topics", "plan|apply", 1, 1, "plan|apply", TOPICS_OPTIONS,
     "compare (plan) or fix (apply) Delaybridge's own topics",
     "plan changes nothing and exits 78 if there is something to do. It prints a table of topics "
     "with\npartitions, replicas and settings.\n",
     NEEDS_BROKERS, cmd_topics},
    {"send", "", 0, 0, NULL, SEND_OPTIONS, "send one request, or one for each line of JSON",
     "Without any of these options it reads JSON lines from stdin:\n"
     "  {\"delay\": \"15m\", \"target\": …, \"key\": …, \"id\": …, \"expires-at\": …,\n"
     "   \"headers\": {…} or [[name, value], …], \"value\": …}\n"
     "Write bytes as {\"base64\": …} and a tombstone as null. Prints topic, partition and "
     "offset\nof each request.\n",
     NEEDS_TARGETS, cmd_send},
    {"levels", "", 0, 0, NULL, LEVELS_OPTIONS,
     "show the records that wait in each level, and overdue ones", "", NEEDS_BROKERS, cmd_levels},
    {"peek", "LEVEL [LANE]", 1, 2, NULL, PEEK_OPTIONS, "show records that wait in a level, decoded",
     "Shows the first records that are not done: due, remaining, hops, id, target, headers, key, "
     "value.\n",
     NEEDS_BROKERS, cmd_peek},
    {"skip", "TOPIC/PARTITION/BASE-NEXT", 1, 1, NULL, NO_OPTIONS,
     "give up a batch that cannot be read",
     "Pass the range that the log names when a batch blocks a partition. Any other range is "
     "refused.\nWrites a dead letter that names the range; a running bridge then continues at "
     "NEXT.\n",
     NEEDS_BROKERS, cmd_skip},
    {"top", "[HOST:PORT...]", 0, ADDRESSES_MAX, NULL, TOP_OPTIONS, "show running instances, live",
     "Reads /metrics of the addresses, or of 'listen' if none is given, and adds them up. Shows "
     "for\neach level the waiting records, when the first one leaves, hops and deliveries a "
     "second,\nand lateness since the last picture.\n",
     NEEDS_CONFIG, cmd_top},
    {"size", "", 0, 0, NULL, SIZE_OPTIONS, "estimate the resources that a load needs",
     "Prints disk and traffic of the brokers, lanes, workers and memory, for the configured "
     "levels,\nreplication, partitions and memory.\n",
     NEEDS_CONFIG, cmd_size},
    {"explain", "DELAY", 1, 1, NULL, NO_OPTIONS, "show the chain of levels that a delay takes", "",
     NEEDS_CONFIG, cmd_explain},
    {"demo", "", 0, 0, NULL, DEMO_OPTIONS, "see it work: a broker in memory, requests, deliveries",
     "", NEEDS_NOTHING, cmd_demo},
    {"version", "", 0, 0, NULL, NO_OPTIONS, "print the versions of the bridge and of librdkafka",
     "", NEEDS_NOTHING, cmd_version},
    {"help", "[COMMAND]", 0, 1, NULL, HELP_OPTIONS,
     "show help, the default configuration, metrics, man page or completions", "", NEEDS_NOTHING,
     cmd_help},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NEEDS_NOTHING, NULL},
};

const struct command *command_find(const char *name)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}
