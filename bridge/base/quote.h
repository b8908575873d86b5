/* SPDX-License-Identifier: Apache-2.0 */
/* quote: texts and bytes from outside as JSON strings of bounded length, which are legal in any
   line of text. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_QUOTE_H
#define DELAYBRIDGE_BRIDGE_BASE_QUOTE_H

#include "levels/bytes.h"

/* Writes text as a JSON string into out, cut between characters to fit into size bytes. Returns
   out, which is empty for a size below 3. */
const char *quote_text(const char *text, char *out, size_t size);

enum { QUOTE_BYTES_MAX = 64, QUOTE_BYTES_TEXT_MAX = 6 * QUOTE_BYTES_MAX + 8 };

/* Writes the first QUOTE_BYTES_MAX bytes as a JSON string. Bytes that are no text become 0x and
   hexadecimal digits. A cut value ends in "...". Writes null for null bytes. Returns out. */
const char *quote_bytes(struct bytes bytes, char out[QUOTE_BYTES_TEXT_MAX]);

#endif
