/* SPDX-License-Identifier: Apache-2.0 */
/* code: the table of names. */
#include "levels/code.h"

#include <assert.h>

const char *code_name(enum code code)
{
#define CODE_NAME(id, name) [id] = (name),
    static const char *const NAMES[CODE_N] = {[CODE_OK] = "ok", CODE_TABLE(CODE_NAME)};
#undef CODE_NAME
    assert(code < CODE_N);
    return NAMES[code];
}
