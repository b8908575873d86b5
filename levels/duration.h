/* SPDX-License-Identifier: Apache-2.0 */
/* duration: spans and instants as people write them, in milliseconds. Strict: what is not exactly
   in the grammar is refused, so a typing error never becomes a time. No locale, no clock, no I/O.
 */
#ifndef DELAYBRIDGE_LEVELS_DURATION_H
#define DELAYBRIDGE_LEVELS_DURATION_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdint.h>

/* A span: integers with ms, s, m, h or d, lower case, largest unit first, each at most once, no
   spaces (1h30m, 250ms, 0s); or ISO 8601 with days at most (P1DT2H3M4.5S, PT15M), letters upper
   case, a fraction only on the seconds. A fraction below a millisecond rounds up. Returns 0 and
   sets *ms >= 0, or ERR_BAD_TIME: no unit, a sign, a space, another unit, nothing at all, or more
   than 64 bits of milliseconds hold. *ms is untouched on error. */
int duration_parse(struct bytes text, int64_t *ms) must_check;

/* Below this a number of milliseconds is more likely one of seconds (1973, or the year 5138). */
#define INSTANT_MS_MIN ((int64_t)100000000000)

/* An instant: epoch milliseconds in digits (at least INSTANT_MS_MIN), or RFC 3339 with a zone
   (2026-11-21T08:00:00.250+08:00; T and Z in either case, no space, no leap second, the calendar
   checked). A fraction below a millisecond rounds up. Returns 0 and sets *ms, or ERR_BAD_TIME. *ms
   is untouched on error. */
int instant_parse(struct bytes text, int64_t *ms) must_check;

/* Says what keeps text, which instant_parse refused, from being an instant. Returns the end of a
   sentence that begins with the value: " has no seconds: ...". Static, at most
   INSTANT_FAULT_MAX bytes. */
const char *instant_fault(struct bytes text);
enum { INSTANT_FAULT_MAX = 110 };

/* Names the unit that an epoch this far from now was probably written in: "microseconds" or
   "nanoseconds". Returns NULL for a plausible number of milliseconds. */
const char *instant_likely_unit(int64_t epoch);

/* What the two formatters may write at most, terminator included. */
enum { DURATION_TEXT_MAX = 40, INSTANT_TEXT_MAX = 32 };

/* The canonical form: largest units first, none that is zero (90000 -> "1m30s", 0 -> "0s"). It is
   what level topics are named by. ms >= 0. Returns out. */
const char *duration_format(int64_t ms, char out[DURATION_TEXT_MAX]);

/* RFC 3339 in UTC with milliseconds ("2026-11-21T08:00:00.250Z"). Years 0000-9999; outside of that
   the bare number. Returns out. */
const char *instant_format(int64_t ms, char out[INSTANT_TEXT_MAX]);

#endif
