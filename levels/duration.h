/* SPDX-License-Identifier: Apache-2.0 */
/* duration: spans of time as people write them, in milliseconds. The parser is strict: a text
   outside the grammar is refused, so a typing error never becomes a time. No locale, no I/O. */
#ifndef DELAYBRIDGE_LEVELS_DURATION_H
#define DELAYBRIDGE_LEVELS_DURATION_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdint.h>

/* Parses a duration in one of two forms:
     1h30m, 250ms, 0s       integers with d, h, m, s or ms in lower case: the largest unit
                            first, each at most once, no spaces
     P1DT2H3M4.5S, PT15M    ISO 8601 with days as the largest unit, letters in upper case,
                            a fraction only on the seconds
   A fraction below a millisecond is rounded up. Returns 0 and sets *ms >= 0. Returns ERR_BAD_TIME
   for any other text, and above 64 bits of milliseconds. *ms is unchanged on error. */
int duration_parse(struct bytes text, int64_t *ms) must_check;

/* Most bytes that duration_format writes, with the terminator. */
enum { DURATION_TEXT_MAX = 40 };

/* Writes the canonical form: largest units first, without units that are zero (90000 is "1m30s", 0
   is "0s"). Names of level topics contain it. ms >= 0. Returns out. */
const char *duration_format(int64_t ms, char out[DURATION_TEXT_MAX]);

#endif
