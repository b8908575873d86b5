/* SPDX-License-Identifier: Apache-2.0 */
/* request: parsing of a record of the schedule topic. Its dlb- headers (docs/producing.md has them)
   become a stamp, or the request is refused with a code and a sentence. The clock is a parameter.
 */
#ifndef DELAYBRIDGE_LEVELS_REQUEST_H
#define DELAYBRIDGE_LEVELS_REQUEST_H

#include "levels/allowlist.h"
#include "levels/cancels.h"
#include "levels/code.h"
#include "levels/compat.h"
#include "levels/envelope.h"
#include "levels/record.h"
#include "levels/retry.h"

#define REQUEST_ID_MAX CANCEL_NAME_MAX

/* The rules are borrowed and must outlive every stamp made with them. */
struct request_rules {
    struct allowlist allowlist;
    const char *default_target; /* NULL: every request must name its target */
    int64_t max_delay_ms;       /* from the request's timestamp */
    const struct retry_policy *retry;
    size_t retry_n;
    bool cancels;              /* false: the operations cancel and replace are refused as bad_op */
    bool cancel_on_tombstone;  /* with cancels: a null value without a time cancels */
    unsigned compat;           /* COMPAT_BIT of each foreign format that is translated */
    const char *compat_policy; /* of foreign retries; NULL: "default" */
};

/* Parses the record at (lane, record->offset). now_ms is the bridge's wall clock: it replaces the
   timestamp of a record that has none.
   Returns CODE_OK and fills *stamp, whose bytes point into the record or the rules. Else returns
   the code of the first fault in the order of code.h and fills *refusal. Each code leaves the parts
   of the stamp that were read before the fault. CODE_TARGET_DENIED leaves all, and so does
   CODE_RETRIES_EXHAUSTED, the last one, except for the due time.
   - Headers named exactly dlb-due, dlb-source, dlb-error, dlb-reason, dlb-sent-at or dlb-failed-at
     are ignored, in any number.
   - So are dlb-attempt, dlb-first-at and dlb-origin, except with dlb-retry. A request with
   dlb-retry is due a wait of its policy after now_ms, and names its target. If its timestamp
   is up to a second later than now_ms, the wait counts from this timestamp.
   - A request with HEADER_TRUNCATED is refused as bad_header.
   - A record whose headers cannot be parsed is refused as bad_header.
   - A cancel has the headers dlb-op and dlb-id alone. Its stamp has neither a time nor a target.
   - A cancel or replace without a record key, or without a name, is refused as bad_id.
   - With rules->cancel_on_tombstone a null value without dlb-op and without a time is a cancel.
   - Foreign headers of rules->compat that compat_read does not ignore count as the dlb- headers of
     the same meaning, which precede them. stamp->format is the format that was translated. */
enum code request_parse(const struct request_rules *rules, uint32_t lane,
                        const struct record *record, int64_t now_ms, struct stamp *stamp,
                        struct refusal *refusal);

/* Returns true if the record may void others. It has a header dlb-op, a null value that cancels by
   the rules, or foreign headers of such a meaning. All other records are plain requests. */
bool request_has_op(const struct request_rules *rules, const struct record *record);

/* Returns true if a request with this code of request_parse voids older requests of its name: a
   cancel, or a replace of correct form. A replace whose target is denied is of correct form. */
bool request_voids(enum code code, const struct stamp *stamp);

/* Returns the requested target, also of a record that is refused: its first dlb-target (any bytes)
   or the target of its foreign headers. Without both, returns the default target, or null. */
struct bytes request_target(const struct request_rules *rules, const struct record *record);

/* Returns true for the five headers of every dead-lettered record: dlb-error, dlb-reason,
   dlb-source, dlb-sent-at and dlb-failed-at, in exactly this spelling. */
bool header_is_of_dead_letter(const char *name);

/* The header of a dead-lettered record that is not complete: "value" (the value is missing) or
   "all" (key and headers are missing too). A request with this header is refused, because the
   missing value would be delivered as a tombstone. */
#define HEADER_TRUNCATED "dlb-truncated"

#endif
