/* SPDX-License-Identifier: Apache-2.0 */
/* An instant and its span. */
#include "bridge/commands/around.h"

#include "levels/duration.h"
#include "levels/instant.h"

#include <string.h>

static const char PLUS_MINUS[] = "\xc2\xb1", PLUS_MINUS_ASCII[] = "+-";

int around_parse(const char *option, const char *text, struct around *around, struct error *error)
{
    int64_t at_ms, span_ms = AROUND_DEFAULT_MS;
    const char *sign = strstr(text, PLUS_MINUS);
    if (sign == NULL)
        sign = strstr(text, PLUS_MINUS_ASCII);
    struct bytes instant = sign == NULL ? bytes_text(text) : bytes_of(text, (size_t)(sign - text));
    if (instant_parse(instant, &at_ms) != 0)
        return error_set(error, ERR_DATA, "%s: '%.*s'%s", option, (int)instant.len, text,
                         instant_fault(instant));
    if (sign != NULL && duration_parse(bytes_text(sign + 2), &span_ms) != 0)
        return error_set(error, ERR_DATA, "%s: '%s' is not a duration such as 5m", option,
                         sign + 2);
    if (__builtin_sub_overflow(at_ms, span_ms, &around->from_ms) || around->from_ms < 0)
        around->from_ms = 0;
    if (__builtin_add_overflow(at_ms, span_ms, &around->to_ms))
        around->to_ms = INT64_MAX;
    return 0;
}
