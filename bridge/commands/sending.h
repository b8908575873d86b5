/* SPDX-License-Identifier: Apache-2.0 */
/* sending: records on their way to the schedule topic. One is from the options of a command, or
   many are from JSON lines on stdin or from cli->input. Each is checked as the bridge would check
   it before it is sent. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_SENDING_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_SENDING_H

#include "bridge/commands/command.h"
#include "bridge/commands/draft.h"
#include "levels/request.h"

#include <librdkafka/rdkafka.h>

/* A record that Kafka has acknowledged. */
struct sent {
    int lane;
    int64_t offset;
    long line; /* of stdin, or the number in cli->input from 1; 0: from options */
};

struct sending {
    /* Set by the caller. */
    const struct cli *cli;
    const char *op;    /* dlb-op of each record; NULL: none */
    bool to_each_lane; /* one copy to each lane, in place of that of its key */
    /* Called in the thread of sending_run for each record that is stored. */
    void (*stored)(void *ctx, const struct sent *sent);
    /* Called after each line. Returns EXIT_DONE, or an exit code that ends the command. May be
       NULL. */
    int (*line_sent)(void *ctx);
    void *ctx;

    /* Set by sending_open. */
    rd_kafka_t *rk;
    rd_kafka_topic_t *topic;
    int lanes;  /* partitions of the schedule topic */
    bool works; /* all records are stored: the producer may serve another sending */

    bool is_single; /* draft is the record of the options */
    struct draft draft;
    struct request_rules rules;
    uint64_t records, stored_n, failed_n; /* records: handed to the client */
    int failed_code;                      /* exit code of the last one that failed */
};

/* Reads and checks the record of the options, if there are any, and connects. Returns EXIT_DONE, or
   an exit code after it has printed the reason. Call sending_close in any case. */
int sending_open(struct sending *sending) must_check;

/* Sends the record of the options or, without them, all lines before the first invalid one. Returns
 * when each is stored or has failed, with an exit code. */
int sending_run(struct sending *sending) must_check;

/* Waits until each record so far is stored or has failed. */
void sending_flush(struct sending *sending);

/* Destroys the producer, or keeps it in cli->output for the next command. */
void sending_close(struct sending *sending);

/* Destroys a producer that was kept. */
void sending_free_producer(rd_kafka_t *rk);

#endif
