/* SPDX-License-Identifier: Apache-2.0 */
/* request_parts: a record while request_parse reads it, for the files request*.c alone. */
#ifndef DELAYBRIDGE_LEVELS_REQUEST_PARTS_H
#define DELAYBRIDGE_LEVELS_REQUEST_PARTS_H

#include "levels/request.h"

/* The headers that producers write. */
enum field {
    FIELD_DELIVER_AT,
    FIELD_DELAY,
    FIELD_RETRY,
    FIELD_TARGET,
    FIELD_KEY,
    FIELD_ID,
    FIELD_OP,
    FIELD_EXPIRES_AT,
    FIELD_SPREAD,
    FIELD_N
};

/* The headers of a delivery that count on a request with dlb-retry. All others may have them. */
enum fact { FACT_ATTEMPT, FACT_FIRST_AT, FACT_ORIGIN, FACT_N };

/* A record while it is being read. */
struct reading {
    const struct request_rules *rules;
    const struct header *given[FIELD_N]; /* NULL: not given; a foreign header has its own name */
    const struct header *facts[FACT_N];
    const struct header *bad; /* the first bad header ... */
    const char *bad_why;      /* ... and its fault */
    const struct header *bad_fact;
    const char *bad_fact_why;
    int64_t now_ms;         /* wall clock */
    struct bytes key;       /* of the record */
    bool tombstone;         /* the record has a null value */
    struct foreign foreign; /* its format is COMPAT_NONE if nothing is translated */
    struct stamp stamp;
    const struct retry_policy *policy; /* NULL: no dlb-retry, or not known */
    enum retry_answer exhausted;       /* RETRY_WAITS: they are not */
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

/* Writes a reason of the form: dlb-delay '15' why. A foreign header that is given for the field has
   its own name. Returns the code. */
enum code reading_refuse_value(struct reading *r, enum code code, enum field field,
                               const char *why);

/* Writes a reason that names header and value: header 'dlb-attempt' why. Returns the code. */
enum code reading_refuse_header(struct reading *r, enum code code, const struct header *header,
                                const char *why);

/* Fills given, facts and foreign. Returns CODE_OK, or the code of a bad header with its reason. */
enum code reading_headers(struct reading *r, const struct record *record);

/* Reads the due time, the expiry and the spread. Returns CODE_OK or the code of a fault. If the
   retries of the request are exhausted, it has no due time. */
enum code reading_times(struct reading *r);

/* Reads the facts of a request with dlb-retry into stamp.extras.retry. Returns CODE_OK or
   CODE_BAD_HEADER. */
enum code reading_facts(struct reading *r);

/* Sets stamp.extras.retry of a record that another system has counted. */
void reading_foreign_count(struct reading *r);

/* Sets the due time of a request with dlb-retry. Returns CODE_OK or CODE_BAD_RETRY. If its retries
   are exhausted, sets r->exhausted and no due time. */
enum code reading_retry(struct reading *r);

/* Returns CODE_RETRIES_EXHAUSTED with its reason. */
enum code reading_refuse_exhausted(struct reading *r);

#endif
