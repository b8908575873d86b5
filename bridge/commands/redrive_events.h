/* SPDX-License-Identifier: Apache-2.0 */
/* redrive_events: the events of dead letters that redrive sends again (levels/event.h). Each one is
   written after its request was acknowledged, to the lane of the dead-lettered request, and before
   the progress is committed. So a process that is killed may write an event twice, as it may send a
   request twice. The two requests are different, and so are their events. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_REDRIVE_EVENTS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_REDRIVE_EVENTS_H

#include "bridge/commands/batch.h"
#include "bridge/commands/command.h"
#include "bridge/config/config.h"

struct redrive_events {
    const struct cli *cli;
    struct batch *batch; /* owned; NULL: no events are wanted */
};

/* Checks that the topic of events exists, if the configuration wants such events. rk: the producer
   of the requests, which outlives events. Returns EXIT_DONE, or an exit code after it has printed
   the reason. Call redrive_events_close in any case, before rk is destroyed. */
int redrive_events_open(struct redrive_events *events, const struct cli *cli,
                        rd_kafka_t *rk) must_check;

/* Writes an event for each request of the batch that is stored, and waits for them. Returns
   EXIT_DONE, or an exit code after it has printed how many events were not acknowledged. */
int redrive_events_write(struct redrive_events *events, const struct batch *sent) must_check;

void redrive_events_close(struct redrive_events *events);

#endif
