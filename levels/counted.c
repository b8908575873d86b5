/* SPDX-License-Identifier: Apache-2.0 */
/* counted: the plural of a noun, by the end of its singular. */
#include "levels/counted.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *counted(int64_t n, const char *noun, char out[COUNTED_MAX])
{
    size_t len = strlen(noun);
    const char *ending = "s";
    if (n == 1) {
        ending = "";
    } else if (len > 1 && noun[len - 1] == 'y' && strchr("aeiou", noun[len - 2]) == NULL) {
        ending = "ies";
        len--;
    } else if (len > 0 && (strchr("sx", noun[len - 1]) != NULL ||
                           (len > 1 && noun[len - 1] == 'h' && noun[len - 2] == 'c'))) {
        ending = "es";
    }
    snprintf(out, COUNTED_MAX, "%" PRId64 " %.*s%s", n, (int)len, noun, ending);
    return out;
}
