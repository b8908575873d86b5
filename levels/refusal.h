/* SPDX-License-Identifier: Apache-2.0 */
/* refusal: writes the sentence of a struct refusal, part by part. Only refusal_quote bounds its
   text. Other text that does not fit REASON_MAX fails an assertion. */
#ifndef DELAYBRIDGE_LEVELS_REFUSAL_H
#define DELAYBRIDGE_LEVELS_REFUSAL_H

#include "levels/bytes.h"
#include "levels/code.h"

/* Sets the code, and begins an empty sentence. */
void refusal_begin(struct refusal *refusal, enum code code);

/* Appends text of the program. */
void refusal_say(struct refusal *refusal, const char *text);

/* Appends 'value', with \xNN for each byte that is not plain text, and dots for the rest of a long
   value. */
void refusal_quote(struct refusal *refusal, struct bytes value);

#endif
