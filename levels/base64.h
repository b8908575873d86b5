/* SPDX-License-Identifier: Apache-2.0 */
/* base64: bytes as text, RFC 4648 with padding. */
#ifndef DELAYBRIDGE_LEVELS_BASE64_H
#define DELAYBRIDGE_LEVELS_BASE64_H

#include "levels/bytes.h"
#include "levels/err.h"

/* Returns the text, NUL-terminated; the caller frees it. NULL: out of memory. */
char *base64_encode(struct bytes bytes);

/* Returns 0 and sets *out; the caller frees out->data, which is never NULL. ERR_DATA: the text is
   not exactly what base64_encode writes. ERR_NO_MEMORY: out of memory. */
int base64_decode(struct bytes text, struct bytes *out) must_check;

#endif
