/* SPDX-License-Identifier: Apache-2.0 */
/* notices: writes the notices of the step machine as log lines for an operator. Notices are of one
   sort if they have the same kind, partition, code, target and error. The first notice of a sort is
   logged at once, and then one in ten seconds (limit.h). Its field suppressed= is the number of
   notices without a line.

   When there are more sorts than LIMIT_KEYS, those with the same entry of `targets`, code and error
   share one line in ten seconds. So hundreds of failing names under one pattern do not hide another
   target. Each value has one field. Texts of producers and brokers are quoted and bounded. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_NOTICES_H
#define DELAYBRIDGE_BRIDGE_SERVICE_NOTICES_H

#include "bridge/base/limit.h"
#include "bridge/core/bridge.h"
#include "levels/allowlist.h"

enum { NOTICE_EVERY_MS = 10000 };

/* One for each worker. */
struct notices {
    const char *const *topics; /* names by slot; borrowed */
    const char *dead_letter;   /* borrowed */
    const char *cancelled;     /* borrowed */
    const char *events;        /* borrowed */
    const char *group;         /* borrowed */
    struct allowlist targets;  /* of the live configuration */
    struct limit limit;
};

void notice_log(struct notices *to, const struct notice *notice, int64_t mono_ms);

#endif
