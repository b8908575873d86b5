/* SPDX-License-Identifier: Apache-2.0 */
/* The formatting of an error sentence. */
#include "bridge/base/error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

int error_set(struct error *error, int err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    for (char *c = error->text; *c != '\0'; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    return err;
}
