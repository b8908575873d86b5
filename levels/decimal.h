/* SPDX-License-Identifier: Apache-2.0 */
/* decimal: integers as decimal digits. printf would take a tenth of the CPU time of a record. */
#ifndef DELAYBRIDGE_LEVELS_DECIMAL_H
#define DELAYBRIDGE_LEVELS_DECIMAL_H

#include <stdint.h>

/* Most characters that decimal_put writes for up to 20 digits. */
enum { DECIMAL_MAX = 21 };

/* Writes number with at least the given count of digits (0 to 20), and no terminator. With two
   digits 7 becomes "07" and -7 becomes "-07". Returns the address after the last character. */
char *decimal_put(char *out, int64_t number, int digits);

#endif
