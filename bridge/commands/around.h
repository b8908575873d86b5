/* SPDX-License-Identifier: Apache-2.0 */
/* around: an approximate instant on the command line, "2026-11-21T08:00:00Z±5m". */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_AROUND_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_AROUND_H

#include "bridge/base/error.h"

#include <stdint.h>

enum { AROUND_DEFAULT_MS = 1000 };

/* Both ends are included, epoch ms. */
struct around {
    int64_t from_ms, to_ms;
};

/* Parses an instant (instant.h), and "±" or "+-" and a duration if they follow. Without them the
   span is AROUND_DEFAULT_MS in both directions. Returns 0, or ERR_DATA with a sentence that begins
   with the name of the option. */
int around_parse(const char *option, const char *text, struct around *around,
                 struct error *error) must_check;

#endif
