/* SPDX-License-Identifier: Apache-2.0 */
/* shape: limits the values and the depth of a JSON text before it is parsed. A parsed value takes a
   hundred bytes, so four MiB of empty lists would take hundreds of MiB. */
#ifndef DELAYBRIDGE_BRIDGE_ADMIN_SHAPE_H
#define DELAYBRIDGE_BRIDGE_ADMIN_SHAPE_H

#include "levels/bytes.h"

#include <stdbool.h>

enum { SHAPE_VALUES_MAX = 200000, SHAPE_DEPTH_MAX = 16 };

/* Returns whether the text has no more values, and is no deeper. The answer for a text that is no
   JSON has no meaning. */
bool shape_fits(struct bytes text);

#endif
