/* SPDX-License-Identifier: Apache-2.0 */
/* probe: finds the end of an unreadable batch, or the dead-letter record by which an operator gave
   it up. Each question takes seconds, so a thread with its own handle answers it, one
   question at a time. */
#ifndef DELAYBRIDGE_CONSUMER_PROBE_H
#define DELAYBRIDGE_CONSUMER_PROBE_H

#include "bridge/core/port.h"
#include "consumer/unreadable.h"
#include "consumer/wakeup.h"

struct probe;

/* end is true: where does the range end? end is false: is there a dead-letter record for the range,
   from offset `at` of its partition on? */
struct probe_question {
    bool end;
    struct queue_id queue;
    struct range range; /* topic: borrowed until the answer is taken */
    int64_t at;
};

/* Returns NULL if memory or a thread is lacking. config and dead_letter are borrowed. */
struct probe *probe_new(const struct config *config, const char *dead_letter,
                        struct wakeup *wakeup);

/* Frees the probe; waits for the running question, for one second at most. Returns false if the
   question still runs. It then keeps the probe and its arguments in use, and nothing is freed. */
bool probe_free(struct probe *probe);

/* Starts a question. Returns false if the answer to the last one was not taken yet. */
bool probe_ask(struct probe *probe, const struct probe_question *question);

/* Returns true once for each question, when it is answered: range or at in the question is updated.
   known: the brokers have answered. found: the dead-letter record exists. */
struct probe_answer {
    struct probe_question question;
    bool known, found;
};
bool probe_take(struct probe *probe, struct probe_answer *answer);

#endif
