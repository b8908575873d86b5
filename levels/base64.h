/* SPDX-License-Identifier: Apache-2.0 */
/* base64: bytes as text (RFC 4648), with padding or without. */
#ifndef DELAYBRIDGE_LEVELS_BASE64_H
#define DELAYBRIDGE_LEVELS_BASE64_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the text, NUL-terminated; the caller frees it. NULL: out of memory. */
char *base64_encode(struct bytes bytes);

/* Returns 0 and sets *out; the caller frees out->data, which is never NULL. ERR_DATA: the text is
   not exactly what base64_encode writes. ERR_NO_MEMORY: out of memory. */
int base64_decode(struct bytes text, struct bytes *out) must_check;

/* Writes bytes without padding and without a terminator. Returns the number of characters, which is
   4/3 of the bytes, rounded up. */
size_t base64_put(char *out, struct bytes bytes);

/* Reads text without padding into at most room bytes. Returns their number, or ERR_DATA if the text
   is not exactly what base64_put writes, or needs more room. */
ptrdiff_t base64_take(struct bytes text, uint8_t *out, size_t room) must_check;

#endif
