/* SPDX-License-Identifier: Apache-2.0 */
/* err: the table of phrases. */
#include "levels/err.h"

#include <stddef.h>

const char *err_text(int err)
{
#define ERR_TEXT(id, text) [id##_INDEX] = (text),
    static const char *const TEXTS[] = {[ERR_NONE_INDEX] = "no error", ERR_TABLE(ERR_TEXT)};
#undef ERR_TEXT
    size_t index = 0U - (size_t)err;
    return index < sizeof TEXTS / sizeof TEXTS[0] ? TEXTS[index] : "unknown error";
}
