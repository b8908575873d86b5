/* SPDX-License-Identifier: Apache-2.0 */
/* output: the receiver of the results of a command that runs inside the service, for the admin API.
   A command without one prints to stdout and stderr. With one, it prints nothing: each result is
   JSON, as with -o json, and searches wait and end as the receiver wants. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_OUTPUT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_OUTPUT_H

#include "bridge/commands/command.h"

#include <jansson.h>
#include <librdkafka/rdkafka.h>

struct output {
    const char *by; /* the client, for records that name who wrote them */
    void *ctx;      /* of all functions */
    /* Takes the reference of one result. */
    void (*result)(void *ctx, json_t *value);
    /* Receives the sentence of an error, or of a warning if code is EXIT_DONE. */
    void (*sentence)(void *ctx, int code, const char *sentence);
    /* Receives the progress of a search, from 0 to 1. */
    void (*progress)(void *ctx, double share);
    /* Called for each record that a search has read, by several threads at once. May wait. Returns
       false to end the search. */
    bool (*read)(void *ctx);
    /* A consumer that connect_to_look takes and disconnect returns. NULL: none. */
    rd_kafka_t *kept;
    /* The same for a producer, which sending_open takes and sending_close returns. */
    rd_kafka_t *producer;
    /* Bytes of records that a search may still keep in memory before it gives its results. The
       owner of the search guards it. */
    size_t room;
    /* A record that was sent is stored or not: no broker has answered. Set by the command. */
    bool outcome_unknown;
};

/* Reports the progress of a search, from 0 to 1. */
static inline void output_progress(const struct cli *cli, double share)
{
    if (cli->output != NULL)
        cli->output->progress(cli->output->ctx, share);
}

/* Takes room for a record that a search keeps. Returns false if there is none. */
static inline bool output_keep(const struct cli *cli, size_t bytes)
{
    if (cli->output == NULL)
        return true;
    if (bytes > cli->output->room)
        return false;
    cli->output->room -= bytes;
    return true;
}

/* Counts one record of a search. Returns false if the search must end. */
static inline bool output_read(const struct cli *cli)
{
    return cli->output == NULL || cli->output->read(cli->output->ctx);
}

#endif
