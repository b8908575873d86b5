/* SPDX-License-Identifier: Apache-2.0 */
/* fields: the arguments of a port's call, appended to a line. digest.h says which parts are left
   out. */
#ifndef DELAYBRIDGE_TESTS_SIM_FIELDS_H
#define DELAYBRIDGE_TESTS_SIM_FIELDS_H

#include "tests/sim/line.h"
#include "tests/sim/world.h"

/* Appends the topic of a slot: S, a level's span, or none. */
void field_topic(struct line *line, const struct process *process, int slot);
/* " queue=TOPIC/PARTITION" */
void field_queue(struct line *line, const struct process *process, struct queue_id queue);
/* Appends 8 digits of the hash, or "null". */
void field_hash(struct line *line, const char *key, struct bytes bytes);
/* Appends the name of a topic. Escapes bytes that would break the line, since a producer may write
   any. */
void field_name(struct line *line, const char *key, struct bytes name);
/* Appends all arguments of port.forward. */
void field_forward(struct line *line, const struct process *process, const struct forward *forward);

#endif
