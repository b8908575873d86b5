/* SPDX-License-Identifier: Apache-2.0 */
/* request: a record on the schedule topic, read as README says: its dlb- headers become a
   stamp, or it is refused with a code and a sentence. Pure: the clock comes as a parameter. */
#ifndef DELAYBRIDGE_LEVELS_REQUEST_H
#define DELAYBRIDGE_LEVELS_REQUEST_H

#include "levels/code.h"
#include "levels/envelope.h"
#include "levels/record.h"
#include "levels/targets.h"

#define REQUEST_ID_MAX 128

/* Borrowed; must outlive every call. */
struct request_rules {
    struct targets targets;
    const char *default_target; /* NULL: every request must name its own */
    int64_t max_delay_ms;       /* from the request's timestamp */
};

/* Read the record at (lane, record->offset). now_ms is the bridge's wall clock: the request's
   timestamp if the record has none.
   Returns CODE_OK and fills *stamp, whose bytes point into the record or the rules; or the code of
   the first fault in the order of code.h, with *refusal filled. Headers spelt exactly dlb-due,
   dlb-source, dlb-error, dlb-reason, dlb-sent-at, dlb-failed-at are ignored, however often. A
   request with HEADER_TRUNCATED is refused as bad_header. A record whose headers cannot be parsed
   is a bad_header, not a request without headers. cancel and replace are refused as bad_op in this
   version. */
enum code request_parse(const struct request_rules *rules, uint32_t lane,
                        const struct record *record, int64_t now_ms, struct stamp *stamp,
                        struct refusal *refusal);

/* The topic that a record asks for, though it may be refused: its first dlb-target (any bytes),
   else the default target, else null. */
struct bytes request_target(const struct request_rules *rules, const struct record *record);

/* True for the five headers that every dead letter writes (dlb-error, dlb-reason, dlb-source,
   dlb-sent-at, dlb-failed-at, spelt exactly so). */
bool header_is_verdict(const char *name);

/* On a dead letter that does not hold the whole record: "value" (the value is missing) or "all"
   (the key and the headers are missing too). A request with it is refused: the missing value would
   be delivered as a tombstone. */
#define HEADER_TRUNCATED "dlb-truncated"

#endif
