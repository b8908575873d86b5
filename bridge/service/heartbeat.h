/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat: a log line that a running service writes regularly: rates and lateness since the last
   line, owned lanes and buffered records. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_HEARTBEAT_H
#define DELAYBRIDGE_BRIDGE_SERVICE_HEARTBEAT_H

#include "bridge/core/stats.h"

#include <stdint.h>

/* A large struct. Starts zeroed, except that last_mono_ms is the time of the start. */
struct heartbeat {
    struct stats last; /* the figures of the last line */
    int64_t last_mono_ms;
};

/* Writes a line. now: the sum of all workers. */
void heartbeat_log(struct heartbeat *heartbeat, const struct stats *now, int64_t now_mono_ms);

#endif
