/* SPDX-License-Identifier: Apache-2.0 */
/* waiting: prints a decoded record of a level topic as text or JSON. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_WAITING_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_WAITING_H

#include "bridge/config/config.h"
#include "levels/envelope.h"

#include <jansson.h>

struct waiting {
    const struct config *config; /* borrowed */
    int64_t level_ms;            /* 0: a request on the schedule topic, which leaves no level */
    int lane;
    int64_t offset, stamped_ms; /* on the level topic; of a request: the present */
    struct bytes key;           /* of the record on the level topic */
    int opened;                 /* 0: env is filled; or the error, such as ERR_FOREIGN */
    struct envelope env;
};

/* Prints several lines; all but the first are indented. */
void waiting_print(const struct waiting *waiting, int64_t now_ms);

/* Returns the record by the JSON contract (docs/schemas/peek.json). */
json_t *waiting_json(const struct waiting *waiting, int64_t now_ms);

#endif
