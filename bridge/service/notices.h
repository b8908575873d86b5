/* SPDX-License-Identifier: Apache-2.0 */
/* tell: the events of the step machine as log lines for an operator. Of one kind of event with one
   code or (target, error) a line is written at once, then one in ten seconds, with suppressed= for
   how many were not (limit.h). Each value has a field of its own; what producers and brokers wrote
   is quoted and bounded. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_NOTICES_H
#define DELAYBRIDGE_BRIDGE_SERVICE_NOTICES_H

#include "bridge/base/limit.h"
#include "bridge/core/bridge.h"

enum { TELL_EVERY_MS = 10000 };

/* Of one worker. */
struct teller {
    const char *const *topics; /* names by slot; borrowed */
    const char *dead_letter;   /* borrowed */
    struct limit limit;
};

void tell_event(struct teller *teller, const struct event *event, int64_t mono_ms);

#endif
