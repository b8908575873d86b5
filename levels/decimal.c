/* SPDX-License-Identifier: Apache-2.0 */
/* decimal: digits from the last to the first. */
#include "levels/decimal.h"

char *decimal_put(char *out, int64_t number, int digits)
{
    char reversed[DECIMAL_MAX - 1];
    int n = 0;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    for (; rest > 0 || n < digits; rest /= 10)
        reversed[n++] = (char)('0' + rest % 10);
    if (number < 0)
        *out++ = '-';
    while (n > 0)
        *out++ = reversed[--n];
    return out;
}
