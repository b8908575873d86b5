/* SPDX-License-Identifier: Apache-2.0 */
/* tell: what the step machine has to say, as log lines for an operator. */
#ifndef DELAYBRIDGE_BRIDGE_TELL_H
#define DELAYBRIDGE_BRIDGE_TELL_H

#include "bridge/bridge.h"

/* As it came through port.event. */
struct told {
    enum event event;
    struct queue_id queue;
    int64_t value;
    const char *text;
};

/* topics: names by slot. */
void tell_event(const char *const *topics, const struct told *told);

#endif
