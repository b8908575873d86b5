/* SPDX-License-Identifier: Apache-2.0 */
/* The option table of each command. */
#include "bridge/commands/command_options.h"

#include <limits.h>

enum { BYTES_MAX = 64 << 20 };

const struct option NO_OPTIONS[] = {{.name = NULL}};

const struct option RUN_OPTIONS[] = {
    {.name = "--wait-for-topics",
     .kind = OPTION_DURATION,
     .value = "D",
     .most = 24 * 3600 * 1000,
     .initial = "0s",
     .help = "wait this long for the bridge's own topics, if another program creates them"},
    {.name = NULL},
};

const struct option CHECK_OPTIONS[] = {
    {.name = "--sample",
     .kind = OPTION_SWITCH,
     .help = "also read the latest 1,000 requests, and find those that no cancel can reach"},
    {.name = NULL},
};

const struct option TOPICS_OPTIONS[] = {
    {.name = "--fewer-replicas",
     .kind = OPTION_SWITCH,
     .help = "apply: use fewer replicas than 'replication' if brokers are missing"},
    {.name = NULL},
};

/* The fields of a request, for send and replace. */
#define REQUEST_OPTIONS                                                                  \
    {.name = "--delay",                                                                  \
     .kind = OPTION_TEXT,                                                                \
     .value = "D",                                                                       \
     .help = "deliver after this delay, such as 15m"},                                   \
        {.name = "--at",                                                                 \
         .kind = OPTION_TEXT,                                                            \
         .value = "T",                                                                   \
         .help = "deliver at this time, such as 2026-11-21T08:00:00Z"},                  \
        {.name = "--target",                                                             \
         .kind = OPTION_TEXT,                                                            \
         .value = "TOPIC",                                                               \
         .help = "topic to deliver to (default_target)"},                                \
        {.name = "--key",                                                                \
         .kind = OPTION_TEXT,                                                            \
         .value = "KEY",                                                                 \
         .help = "key of the request and of its delivery"},                              \
        {.name = "--id",                                                                 \
         .kind = OPTION_TEXT,                                                            \
         .value = "NAME",                                                                \
         .help = "identifier of the request"},                                           \
        {.name = "--expires-at",                                                         \
         .kind = OPTION_TEXT,                                                            \
         .value = "T",                                                                   \
         .help = "do not deliver after this time, a time as in --at"},                   \
        {.name = "--spread",                                                             \
         .kind = OPTION_TEXT,                                                            \
         .value = "D",                                                                   \
         .help = "choose the time of delivery within this duration after the due time"}, \
        {.name = "--header",                                                             \
         .kind = OPTION_TEXT,                                                            \
         .value = "NAME=VALUE",                                                          \
         .repeatable = true,                                                             \
         .help = "a user header, can be repeated"},                                      \
        {.name = "--value",                                                              \
         .kind = OPTION_TEXT,                                                            \
         .value = "S|@FILE",                                                             \
         .help = "value, or @ and the file that holds it"},                              \
    {                                                                                    \
        .name = "--null-value", .kind = OPTION_SWITCH, .help = "deliver a tombstone"     \
    }

#define WAIT_OPTION                                                                              \
    {                                                                                            \
        .name = "--wait", .kind = OPTION_DURATION, .value = "D", .most = 3600 * 1000,            \
        .initial = "0s",                                                                         \
        .help =                                                                                  \
            "wait this long until a process has applied it, and print since when it is in force" \
    }

const struct option SEND_OPTIONS[] = {
    REQUEST_OPTIONS,
    {.name = "--retry-policy",
     .kind = OPTION_TEXT,
     .value = "POLICY",
     .help = "deliver after the wait of this policy, as a retry of a consumer"},
    {.name = NULL},
};

const struct option REPLACE_OPTIONS[] = {REQUEST_OPTIONS, WAIT_OPTION, {.name = NULL}};

const struct option CANCEL_OPTIONS[] = {
    {.name = "--key",
     .kind = OPTION_TEXT,
     .value = "KEY",
     .help = "key of the request to cancel, which decides the partition"},
    {.name = "--id",
     .kind = OPTION_TEXT,
     .value = "NAME",
     .help = "identifier of the request, if it has one"},
    {.name = "--all-lanes",
     .kind = OPTION_SWITCH,
     .help = "write one cancel to each partition of the schedule topic"},
    WAIT_OPTION,
    {.name = NULL},
};

const struct option LEVELS_OPTIONS[] = {
    {.name = "--lanes", .kind = OPTION_SWITCH, .help = "show one line for each lane of each level"},
    {.name = "--watch", .kind = OPTION_SWITCH, .help = "repeat every two seconds"},
    {.name = NULL},
};

const struct option PEEK_OPTIONS[] = {
    {.name = "--limit",
     .kind = OPTION_NUMBER,
     .value = "N",
     .least = 1,
     .most = INT_MAX,
     .initial = "20",
     .help = "show at most this many records; with --follow without a limit"},
    {.name = "--follow",
     .kind = OPTION_SWITCH,
     .help = "continue with the records that arrive, until Ctrl-C"},
    {.name = NULL},
};

const struct option FIND_OPTIONS[] = {
    {.name = "--id", .kind = OPTION_TEXT, .value = "NAME", .help = "dlb-id of the request"},
    {.name = "--key", .kind = OPTION_TEXT, .value = "KEY", .help = "record key of the request"},
    {.name = "--source",
     .kind = OPTION_TEXT,
     .value = "S/P/O",
     .help = "topic, partition and offset of the request, as in dlb-source"},
    {.name = "--due",
     .kind = OPTION_TEXT,
     .value = "T[±D]",
     .help = "time of delivery, such as 2026-11-21T08:00:00Z±5m; ±1s by default"},
    {.name = "--sent",
     .kind = OPTION_TEXT,
     .value = "T[±D]",
     .help = "timestamp of the request, as in --due"},
    {.name = "--until",
     .kind = OPTION_TEXT,
     .value = "T",
     .help = "search targets up to this time (an hour after the due time)"},
    {.name = "--limit",
     .kind = OPTION_NUMBER,
     .value = "N",
     .least = 1,
     .most = 1000,
     .initial = "20",
     .help = "stop after this many records"},
    {.name = NULL},
};

const struct option FORECAST_OPTIONS[] = {
    {.name = "--deliveries",
     .kind = OPTION_SWITCH,
     .help = "estimate deliveries by minute, from a sample of the waiting records"},
    {.name = NULL},
};

const struct option CONTROL_OPTIONS[] = {
    {.name = "--for",
     .kind = OPTION_DURATION,
     .value = "D",
     .least = 1000,
     .most = INT64_C(366) * 24 * 3600 * 1000,
     .help = "end after this time, such as 2h"},
    {.name = NULL},
};

/* The four rows that select dead-lettered records (selection.h). */
#define SELECTION_OPTIONS                                                                   \
    {.name = "--code",                                                                      \
     .kind = OPTION_TEXT,                                                                   \
     .value = "CODE",                                                                       \
     .repeatable = true,                                                                    \
     .help = "only this dlb-error, such as target_failed, can be repeated"},                \
        {.name = "--target",                                                                \
         .kind = OPTION_TEXT,                                                               \
         .value = "TOPIC",                                                                  \
         .repeatable = true,                                                                \
         .help = "only requests for this topic, can be repeated"},                          \
        {.name = "--since",                                                                 \
         .kind = OPTION_TEXT,                                                               \
         .value = "T",                                                                      \
         .help = "only dead-lettered at this time or later, such as 2026-11-21T08:00:00Z"}, \
    {                                                                                       \
        .name = "--until", .kind = OPTION_TEXT, .value = "T",                               \
        .help = "only dead-lettered before this time, a time as in --since"                 \
    }

const struct option DEAD_LETTERS_OPTIONS[] = {
    SELECTION_OPTIONS,
    {.name = "--show",
     .kind = OPTION_NUMBER,
     .value = "N",
     .most = INT_MAX,
     .initial = "0",
     .help = "show the N newest of the selected records, the newest first"},
    {.name = NULL},
};

const struct option REDRIVE_OPTIONS[] = {
    SELECTION_OPTIONS,
    {.name = "--keep-due",
     .kind = OPTION_SWITCH,
     .help = "count a dlb-delay from the first sending, so that the due time stays"},
    {.name = "--restart-delay", .kind = OPTION_SWITCH, .help = "count a dlb-delay from now"},
    {.name = "--drop-expiry",
     .kind = OPTION_SWITCH,
     .help =
         "send expired requests, too, without their dlb-expires-at. At least once, one that was "
         "delivered before a crash comes again, with a new dlb-source"},
    {.name = "--with-cancels",
     .kind = OPTION_SWITCH,
     .help = "send requests that cancel or replace others, too"},
    {.name = "--dry-run",
     .kind = OPTION_SWITCH,
     .help = "only show the result: send nothing, keep the progress"},
    {.name = "--limit",
     .kind = OPTION_NUMBER,
     .value = "N",
     .least = 1,
     .most = INT64_MAX,
     .help = "send at most this many"},
    {.name = "--rate",
     .kind = OPTION_RATE,
     .value = "N",
     .most = RATE_MAX,
     .help = "send at most this many a second, such as 200 or 5k"},
    {.name = NULL},
};

const struct option TOP_OPTIONS[] = {
    {.name = "--once", .kind = OPTION_SWITCH, .help = "print once and exit"},
    {.name = "--every",
     .kind = OPTION_DURATION,
     .value = "D",
     .least = 1,
     .most = 3600 * 1000,
     .initial = "1s",
     .help = "time between two updates"},
    {.name = NULL},
};

const struct option SIZE_OPTIONS[] = {
    {.name = "--rate",
     .kind = OPTION_RATE,
     .value = "N",
     .most = RATE_MAX,
     .help = "number of requests a second, such as 300, 20k or 1.5M"},
    {.name = "--delay",
     .kind = OPTION_DURATION,
     .value = "D",
     .most = INT64_MAX,
     .help = "delay of a typical request, such as 15m"},
    {.name = "--mix",
     .kind = OPTION_TEXT,
     .value = "N@D,...",
     .help = "in place of --rate and --delay, requests of several delays, such as 950@15m,99@14d"},
    {.name = "--cancelled",
     .kind = OPTION_NUMBER,
     .value = "PERCENT",
     .most = 100,
     .initial = "0",
     .help = "percentage of requests that are cancelled, each shortly before it is due"},
    {.name = "--payload",
     .kind = OPTION_AMOUNT,
     .value = "N",
     .most = BYTES_MAX,
     .initial = "1000",
     .help = "bytes of key and value of a request"},
    {.name = "--headers",
     .kind = OPTION_AMOUNT,
     .value = "N",
     .most = BYTES_MAX,
     .initial = "100",
     .help = "bytes of the user headers of a request"},
    {.name = NULL},
};

const struct option EVENTS_OPTIONS[] = {
    {.name = "--id", .kind = OPTION_TEXT, .value = "ID", .help = "its dlb-id"},
    {.name = "--key", .kind = OPTION_TEXT, .value = "KEY", .help = "its record key"},
    {.name = "--source",
     .kind = OPTION_TEXT,
     .value = "TOPIC/PARTITION/OFFSET",
     .help = "its place on the schedule topic"},
    {.name = NULL},
};

const struct option DEMO_OPTIONS[] = {
    {.name = "--no-tty", .kind = OPTION_SWITCH, .help = "print lines instead of a live view"},
    {.name = "--page",
     .kind = OPTION_SWITCH,
     .help = "run until Ctrl-C, for the page in a browser"},
    {.name = "--seconds",
     .kind = OPTION_NUMBER,
     .value = "N",
     .least = 5, /* the last requests are sent 2.5 s before the end */
     .most = 3600,
     .initial = "30",
     .help = "duration in seconds"},
    {.name = NULL},
};

const struct option DEV_OPTIONS[] = {
    {.name = "--broker",
     .kind = OPTION_TEXT,
     .value = "HOST:PORT",
     .initial = "127.0.0.1:9092",
     .help = "address of the broker; port 0 takes a free one"},
    {.name = "--advertise",
     .kind = OPTION_TEXT,
     .value = "HOST:PORT",
     .help = "address that clients connect to, if it differs, as for a container"},
    {.name = NULL},
};

const struct option HELP_OPTIONS[] = {
    {.name = "--yaml",
     .kind = OPTION_SWITCH,
     .help = "print a configuration file with every key, explained and at its default"},
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
