/* SPDX-License-Identifier: Apache-2.0 */
/* redrive_parts: one run of delaybridge redrive, for its files. redrive.c reads dead letters and
   keeps the progress, and redrive_take.c decides about each of them. redrive_failed.c prints
   why a run ends early. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_REDRIVE_PARTS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_REDRIVE_PARTS_H

#include "bridge/commands/batch.h"
#include "bridge/commands/redrive_events.h"
#include "bridge/commands/redrive_view.h"
#include "bridge/commands/selection.h"
#include "consumer/admin/dead_reader.h"
#include "levels/redrive.h"
#include "levels/request.h"

enum { REDRIVE_GROUP_MAX = 600 };

struct redriving {
    const struct cli *cli;
    struct selection selection;
    struct redrive_rules rules;
    struct request_rules request_rules;
    struct dead_reader reader;
    struct spot spot;
    struct batch *batch;
    struct redrive_events events;
    struct redrive_view view;
    int64_t limit; /* 0: none */
    double per_s;  /* 0: no limit */
    int64_t since_mono_ms;
    char group[REDRIVE_GROUP_MAX];
    bool with_operations;
    bool broken;   /* a record was not stored, or the progress was not committed */
    bool complete; /* every record up to the ends was read */
};

/* Sends the request of a dead-lettered record, or lists the reason against it. Takes the message.
   Returns EXIT_DONE if the record is decided, else an exit code after it has printed the reason. */
int redrive_take(struct redriving *r, const struct dead_item *item) must_check;

/* Print the reason why the run ends, and return its exit code. After a part was sent, an error of
   Kafka says that the command can be repeated. */
int redrive_out_of_memory(const struct redriving *r);
int redrive_failed(const struct redriving *r, int err, const struct error *error);
int redrive_in_doubt(const struct redriving *r, int n, const struct error *error); /* n: requests */
int redrive_ended_by(const struct redriving *r, int code, const struct error *error);

#endif
