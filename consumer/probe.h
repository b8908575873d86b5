/* SPDX-License-Identifier: Apache-2.0 */
/* probe: asks what of a partition cannot be read, and whether an operator gave it up, in a thread
   and on a handle of its own: each question takes seconds. One question at a time. */
#ifndef DELAYBRIDGE_CONSUMER_PROBE_H
#define DELAYBRIDGE_CONSUMER_PROBE_H

#include "bridge/core/port.h"
#include "consumer/unreadable.h"
#include "consumer/wakeup.h"

struct probe;

/* end: find the end of the range from at on. Else look for its letter, which stands at at or later.
 */
struct probe_question {
    bool end;
    struct queue_id queue;
    struct range range; /* topic is borrowed until the answer was taken */
    int64_t at;
};

/* dead_letter is borrowed for ever. NULL: no memory or no thread. */
struct probe *probe_new(const struct config *config, const char *dead_letter,
                        struct wakeup *wakeup);

/* False: a question is under way; it keeps what it works with, and nothing was freed. */
bool probe_free(struct probe *probe);

/* False: the last one is not answered, or its answer was not taken. */
bool probe_ask(struct probe *probe, const struct probe_question *question);

/* True once for each question, when it is over: with the range or at filled in. known: brokers
   answered. found: there is a letter. */
struct probe_answer {
    struct probe_question question;
    bool known, found;
};
bool probe_take(struct probe *probe, struct probe_answer *answer);

#endif
