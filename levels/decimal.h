/* SPDX-License-Identifier: Apache-2.0 */
/* decimal: numbers as digits, where printf would take a tenth of a record's time. */
#ifndef DELAYBRIDGE_LEVELS_DECIMAL_H
#define DELAYBRIDGE_LEVELS_DECIMAL_H

#include <stdint.h>

/* What decimal_put may write at most, for up to 20 digits. */
enum { DECIMAL_MAX = 21 };

/* Writes number with at least so many digits (0 to 20; 7 with 2: "07", -7: "-07") and no
   terminator. Returns what is behind it. */
char *decimal_put(char *out, int64_t number, int digits);

#endif
