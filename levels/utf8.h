/* SPDX-License-Identifier: Apache-2.0 */
/* utf8: checks of UTF-8 text (RFC 3629): no overlong form, no surrogate, no point above 10FFFF. */
#ifndef DELAYBRIDGE_LEVELS_UTF8_H
#define DELAYBRIDGE_LEVELS_UTF8_H

#include "levels/bytes.h"

#include <stdint.h>

/* Reads the character at the start of text. Returns its length in bytes and sets *point. Returns 0
   for empty, incomplete or invalid text. */
size_t utf8_take(struct bytes text, uint32_t *point);

/* Returns true if all of text is valid; true for empty text. */
bool utf8_is_valid(struct bytes text);

/* Returns the length of valid text after cutting it to at most `most` bytes between characters. */
size_t utf8_cut(struct bytes text, size_t most);

#endif
