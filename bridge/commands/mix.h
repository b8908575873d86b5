/* SPDX-License-Identifier: Apache-2.0 */
/* mix: requests of several delays, each with its rate, for the command size. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_MIX_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_MIX_H

#include "bridge/base/error.h"

#include <stdint.h>

enum { MIX_MAX = 16 };

struct mix_part {
    double rate; /* requests a second */
    int64_t delay_ms;
};

struct mix {
    struct mix_part parts[MIX_MAX];
    int n;
};

/* Reads a text such as "950@15m,99@14d". Delays above most_ms (max_delay) are refused. Returns 0,
   or ERR_DATA with a sentence that quotes the part at fault. */
int mix_parse(struct mix *mix, const char *text, int64_t most_ms, struct error *error) must_check;

#endif
