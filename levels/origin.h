/* SPDX-License-Identifier: Apache-2.0 */
/* origin: the place of a request as text, TOPIC/PARTITION/OFFSET: the value of dlb-source and of
   dlb-origin. */
#ifndef DELAYBRIDGE_LEVELS_ORIGIN_H
#define DELAYBRIDGE_LEVELS_ORIGIN_H

#include "levels/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct origin {
    struct bytes topic; /* borrowed from the text */
    uint32_t lane;      /* at most INT32_MAX */
    int64_t offset;
};

/* Returns false for any other text. */
bool origin_parse(struct bytes text, struct origin *origin);

#endif
