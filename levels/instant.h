/* SPDX-License-Identifier: Apache-2.0 */
/* instant: points in time as people write them, in milliseconds since 1970. The parser is strict: a
   text outside the grammar is refused, so a typing error never becomes a time. No locale, no clock,
   no I/O. */
#ifndef DELAYBRIDGE_LEVELS_INSTANT_H
#define DELAYBRIDGE_LEVELS_INSTANT_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdint.h>

/* The earliest epoch accepted as milliseconds (1973). A smaller number is more likely in seconds:
   this number of seconds is the year 5138. */
#define INSTANT_MS_MIN ((int64_t)100000000000)

/* Parses an instant in one of two forms:
     1795219200250                    epoch milliseconds, at least INSTANT_MS_MIN
     2026-11-21T08:00:00.250+08:00    RFC 3339 with a zone: T and Z in either case, no space,
                                      no leap second, a day of the calendar
   A fraction below a millisecond is rounded up. Returns 0 and sets *ms, or ERR_BAD_TIME. *ms is
   unchanged on error. */
int instant_parse(struct bytes text, int64_t *ms) must_check;

/* Describes the fault of a text that instant_parse refused. Returns the end of a sentence that
   begins with the value: " has no seconds: ...". The text is static and has at most
   INSTANT_FAULT_MAX bytes. */
const char *instant_fault(struct bytes text);
enum { INSTANT_FAULT_MAX = 110 };

/* Returns the unit in which an implausibly large epoch was probably written: "microseconds" or
   "nanoseconds". Returns NULL for a plausible number of milliseconds. */
const char *instant_likely_unit(int64_t epoch);

/* Most bytes that instant_format writes, with the terminator. */
enum { INSTANT_TEXT_MAX = 32 };

/* Writes RFC 3339 in UTC with milliseconds ("2026-11-21T08:00:00.250Z"). An instant outside the
   years 0000 to 9999 is written as a plain number. Returns out. */
const char *instant_format(int64_t ms, char out[INSTANT_TEXT_MAX]);

#endif
