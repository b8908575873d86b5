/* SPDX-License-Identifier: Apache-2.0 */
/* request_parts: a record while request_parse reads it, for the files request*.c alone. */
#ifndef DELAYBRIDGE_LEVELS_REQUEST_PARTS_H
#define DELAYBRIDGE_LEVELS_REQUEST_PARTS_H

#include "levels/request.h"

/* The headers that producers write. */
enum field {
    FIELD_DELIVER_AT,
    FIELD_DELAY,
    FIELD_TARGET,
    FIELD_KEY,
    FIELD_ID,
    FIELD_OP,
    FIELD_EXPIRES_AT,
    FIELD_N
};

/* A record while it is being read. */
struct reading {
    const struct request_rules *rules;
    const struct header *given[FIELD_N]; /* NULL: not given; a foreign header has its own name */
    const struct header *bad;            /* the first bad header ... */
    const char *bad_why;                 /* ... and its fault */
    struct bytes key;                    /* of the record */
    bool tombstone;                      /* the record has a null value */
    struct foreign foreign;              /* its format is COMPAT_NONE if nothing is translated */
    struct stamp stamp;
    struct refusal *refusal;
};

/* Returns the name of the dlb- header. */
const char *reading_name(enum field field);

/* Begins a reason, and returns the code. */
enum code reading_refuse(struct reading *r, enum code code);

/* Appends the name and the value of a header to the reason: dlb-delay '15'. */
void reading_say(struct reading *r, const struct header *header);

/* If the fault of the foreign headers has this code, writes the reason and returns the code. Else
   returns CODE_OK. */
enum code reading_refuse_foreign(struct reading *r, enum code code);

/* Fills given and foreign. Returns CODE_OK, or the code of a bad header with its reason. */
enum code reading_headers(struct reading *r, const struct record *record);

#endif
