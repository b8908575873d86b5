/* SPDX-License-Identifier: Apache-2.0 */
/* counted: a number and its noun, for sentences. */
#ifndef DELAYBRIDGE_LEVELS_COUNTED_H
#define DELAYBRIDGE_LEVELS_COUNTED_H

#include <stdint.h>

enum { COUNTED_MAX = 64 };

/* Writes "1 request", "2 requests", "0 deliveries". noun is the singular of a regular English noun.
   Text that exceeds out is cut off. Returns out. */
const char *counted(int64_t n, const char *noun, char out[COUNTED_MAX]);

#endif
