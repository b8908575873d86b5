/* SPDX-License-Identifier: Apache-2.0 */
/* waiting: one record of a level topic, opened, as text and as JSON. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_WAITING_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_WAITING_H

#include "bridge/config/config.h"
#include "levels/envelope.h"

#include <jansson.h>

struct waiting {
    const struct config *config; /* borrowed */
    int64_t level_ms;
    int lane;
    int64_t offset, stamped_ms; /* on the level topic */
    struct bytes key;           /* the record's own */
    int opened;                 /* 0, or why env is not filled: ERR_FOREIGN and so on */
    struct envelope env;
};

/* Several lines, indented but for the first. */
void waiting_print(const struct waiting *waiting, int64_t now_ms);

/* The record as the JSON contract says (docs/schemas/peek.json). */
json_t *waiting_json(const struct waiting *waiting, int64_t now_ms);

#endif
