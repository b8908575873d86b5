/* SPDX-License-Identifier: Apache-2.0 */
/* place: the position of a request as text, "schedule/3/1048", as in the header dlb-source. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_PLACE_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_PLACE_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdint.h>

struct place {
    int partition;
    int64_t offset;
};

/* Parses a place on the topic. Returns 0, or ERR_DATA for any other text. */
int place_parse(struct bytes text, const char *topic, struct place *place) must_check;

#endif
