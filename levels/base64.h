/* SPDX-License-Identifier: Apache-2.0 */
/* base64: bytes in JSON, as RFC 4648 has it, with padding. */
#ifndef DELAYBRIDGE_LEVELS_BASE64_H
#define DELAYBRIDGE_LEVELS_BASE64_H

#include "levels/bytes.h"
#include "levels/err.h"

/* Terminated; the caller frees it. NULL: out of memory. */
char *base64_encode(struct bytes bytes);

/* The caller frees out->data, which is never NULL. ERR_DATA: not base64 to the letter. */
int base64_decode(struct bytes text, struct bytes *out) must_check;

#endif
