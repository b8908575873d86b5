/* SPDX-License-Identifier: Apache-2.0 */
/* error: one sentence for people that says why a call failed. It names the option or key, its value
   and its line if it has them, and ends with the fix. It has no full stop and no line break. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_ERROR_H
#define DELAYBRIDGE_BRIDGE_BASE_ERROR_H

#include "levels/err.h"

enum { ERROR_MAX = 1024 };

/* Starts zeroed: no sentence. */
struct error {
    char text[ERROR_MAX];
};

/* Writes the sentence. Cuts a longer one. Replaces control characters by spaces, so that names and
   values from outside cannot control a terminal. Returns err, for "return error_set(...)". */
__attribute__((format(printf, 3, 4))) int error_set(struct error *error, int err,
                                                    const char *format, ...);

#endif
