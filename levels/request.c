/* SPDX-License-Identifier: Apache-2.0 */
/* request: parsing of the dlb- headers. */
#include "levels/request.h"
#include "levels/duration.h"
#include "levels/instant.h"
#include "levels/refusal.h"
#include "levels/utf8.h"

#include <assert.h>

/* The first FIELD_N headers belong to producers, the others to the bridge. */
enum field {
    FIELD_DELIVER_AT,
    FIELD_DELAY,
    FIELD_TARGET,
    FIELD_KEY,
    FIELD_ID,
    FIELD_OP,
    FIELD_EXPIRES_AT,
    FIELD_N,
    WRITTEN_DUE = FIELD_N,
    WRITTEN_DEAD_LETTER,
    WRITTEN_TRUNCATED = WRITTEN_DEAD_LETTER + 5,
    NAMES_N,
    FIELD_UNKNOWN = NAMES_N
};

static const char *const NAMES[NAMES_N] = {
    [FIELD_DELIVER_AT] = "dlb-deliver-at",
    [FIELD_DELAY] = "dlb-delay",
    [FIELD_TARGET] = "dlb-target",
    [FIELD_KEY] = "dlb-key",
    [FIELD_ID] = "dlb-id",
    [FIELD_OP] = "dlb-op",
    [FIELD_EXPIRES_AT] = "dlb-expires-at",
    [WRITTEN_DUE] = "dlb-due",
    [WRITTEN_DEAD_LETTER] = "dlb-error",
    [WRITTEN_DEAD_LETTER + 1] = "dlb-reason",
    [WRITTEN_DEAD_LETTER + 2] = "dlb-source",
    [WRITTEN_DEAD_LETTER + 3] = "dlb-sent-at",
    [WRITTEN_DEAD_LETTER + 4] = "dlb-failed-at",
    [WRITTEN_TRUNCATED] = HEADER_TRUNCATED,
};

/* The index after dlb-, where the names begin to differ. */
enum { TAIL = 4 };

/* A record while it is being read. */
struct reading {
    const struct request_rules *rules;
    const struct header *given[FIELD_N]; /* NULL: not given */
    const struct header *bad;            /* the first bad header ... */
    const char *bad_why;                 /* ... and its fault */
    struct bytes key;                    /* of the record */
    bool tombstone;                      /* the record has a null value */
    struct stamp stamp;
    struct refusal *refusal;
};

static enum code refuse(struct reading *r, enum code code)
{
    refusal_begin(r->refusal, code);
    return code;
}

/* Writes a reason of the form: dlb-delay '15' why. */
static enum code refuse_value(struct reading *r, enum code code, enum field field, const char *why)
{
    assert(r->given[field] != NULL);
    refuse(r, code);
    refusal_say(r->refusal, NAMES[field]);
    refusal_say(r->refusal, " ");
    refusal_quote(r->refusal, r->given[field]->value);
    refusal_say(r->refusal, why);
    return code;
}

static void say_instant(struct reading *r, int64_t ms)
{
    char text[INSTANT_TEXT_MAX];
    refusal_say(r->refusal, instant_format(ms, text));
}

static bool equal_in_any_case(const char *lower, const char *name)
{
    for (; *lower != '\0'; lower++, name++) {
        char c = *name >= 'A' && *name <= 'Z' ? (char)(*name | 0x20) : *name;
        if (c != *lower)
            return false;
    }
    return *name == '\0';
}

static enum field field_of(const char *name)
{
    for (enum field f = 0; f < NAMES_N; f++)
        if (name[TAIL] == NAMES[f][TAIL] && strcmp(name, NAMES[f]) == 0)
            return f;
    return FIELD_UNKNOWN;
}

static bool is_variant(const char *name)
{
    for (enum field f = 0; f < NAMES_N; f++)
        if (equal_in_any_case(NAMES[f], name))
            return true;
    return false;
}

bool header_is_of_dead_letter(const char *name)
{
    if (name[0] != 'd')
        return false;
    for (enum field f = WRITTEN_DEAD_LETTER; f < WRITTEN_TRUNCATED; f++)
        if (strcmp(name, NAMES[f]) == 0)
            return true;
    return false;
}

/* Returns the fault of a producer's header, or NULL. */
static const char *fault_of(enum field field, struct bytes value, bool again)
{
    if (again)
        return " is given twice";
    if (field == FIELD_KEY)
        return NULL;
    if (bytes_is_null(value))
        return " is null";
    if (value.len == 0)
        return " is empty";
    return utf8_is_valid(value) ? NULL : " is not UTF-8";
}

static void note_fault(struct reading *r, const struct header *header, const char *why)
{
    if (why == NULL || r->bad != NULL)
        return;
    r->bad = header;
    r->bad_why = why;
}

static enum code refuse_header(struct reading *r, enum code code, const struct header *header,
                               const char *why)
{
    refuse(r, code);
    refusal_say(r->refusal, "header ");
    refusal_quote(r->refusal, bytes_text(header->name));
    refusal_say(r->refusal, why);
    if (header->value.len > 0) {
        refusal_say(r->refusal, "; its value is ");
        refusal_quote(r->refusal, header->value);
    }
    return code;
}

static enum code refuse_unreadable(struct reading *r)
{
    refuse(r, CODE_BAD_HEADER);
    refusal_say(r->refusal, "its headers cannot be parsed: more than 100,000, or damaged");
    return CODE_BAD_HEADER;
}

/* An unknown header has precedence over all other faults, so only it ends the loop. */
static enum code read_headers(struct reading *r, const struct record *record)
{
    if (record->headers_unreadable)
        return refuse_unreadable(r);
    for (size_t i = 0; i < record->headers_n; i++) {
        const struct header *header = &record->headers[i];
        if ((header->name[0] | 0x20) != 'd' || !header_is_ours(header->name))
            continue;
        enum field field = field_of(header->name);
        if (field < FIELD_N) {
            note_fault(r, header, fault_of(field, header->value, r->given[field] != NULL));
            r->given[field] = header;
        } else if (field == WRITTEN_TRUNCATED) {
            note_fault(r, header, " marks a dead letter that lacks a part of its record");
        } else if (field == FIELD_UNKNOWN && is_variant(header->name)) {
            note_fault(r, header, " must be in lower case");
        } else if (field == FIELD_UNKNOWN) {
            return refuse_header(r, CODE_UNKNOWN_HEADER, header,
                                 " is not known, and dlb- is reserved");
        }
    }
    return r->bad == NULL ? CODE_OK : refuse_header(r, CODE_BAD_HEADER, r->bad, r->bad_why);
}

/* Writes a reason of the form: dlb-op 'cancel' why. */
static enum code refuse_op(struct reading *r, enum code code, const char *why)
{
    if (r->given[FIELD_OP] != NULL)
        return refuse_value(r, code, FIELD_OP, why);
    refuse(r, code);
    refusal_say(r->refusal, "a null value that cancels (cancel_on_tombstone)");
    refusal_say(r->refusal, why);
    return code;
}

/* A cancel names requests, and is none: a time or a target would be ignored. */
static enum code check_cancel(struct reading *r)
{
    for (enum field f = 0; f < FIELD_N; f++) {
        if (f == FIELD_OP || f == FIELD_ID || r->given[f] == NULL)
            continue;
        refuse_op(r, CODE_BAD_OP, " takes dlb-id alone, and not ");
        refusal_say(r->refusal, NAMES[f]);
        refusal_say(r->refusal, " ");
        refusal_quote(r->refusal, r->given[f]->value);
        return CODE_BAD_OP;
    }
    return CODE_OK;
}

static bool cancels_by_tombstone(const struct reading *r)
{
    return r->tombstone && r->rules->cancels && r->rules->cancel_on_tombstone &&
           r->given[FIELD_DELAY] == NULL && r->given[FIELD_DELIVER_AT] == NULL;
}

static enum code read_op(struct reading *r)
{
    if (r->given[FIELD_OP] == NULL) {
        if (!cancels_by_tombstone(r))
            return CODE_OK;
        r->stamp.op = REQUEST_CANCEL;
        return check_cancel(r);
    }
    struct bytes op = r->given[FIELD_OP]->value;
    if (bytes_equal(op, bytes_text("schedule")))
        return CODE_OK;
    bool cancel = bytes_equal(op, bytes_text("cancel"));
    bool known = cancel || bytes_equal(op, bytes_text("replace"));
    if (!known)
        return refuse_value(r, CODE_BAD_OP, FIELD_OP,
                            r->rules->cancels
                                ? " is not an operation; schedule, cancel or replace is meant"
                                : " is not an operation; this version knows schedule alone");
    if (!r->rules->cancels)
        return refuse_value(r, CODE_BAD_OP, FIELD_OP,
                            " is not in this version, which knows schedule alone");
    r->stamp.op = cancel ? REQUEST_CANCEL : REQUEST_REPLACE;
    return cancel ? check_cancel(r) : CODE_OK;
}

static enum code read_id(struct reading *r)
{
    if (r->given[FIELD_ID] != NULL) {
        r->stamp.id = r->given[FIELD_ID]->value;
        if (r->stamp.id.len > REQUEST_ID_MAX)
            return refuse_value(r, CODE_BAD_ID, FIELD_ID, " is longer than 128 bytes");
    }
    enum cancel_kind kind;
    if (r->stamp.op == REQUEST_SCHEDULE || !bytes_is_null(cancel_name(r->key, r->stamp.id, &kind)))
        return CODE_OK;
    return refuse_op(r, CODE_BAD_ID,
                     bytes_is_null(r->key)
                         ? " needs the record key of its request, which decides the partition"
                         : " needs dlb-id, or a record key of 1 to 128 bytes");
}

static enum code refuse_number_of_times(struct reading *r)
{
    if (r->given[FIELD_DELIVER_AT] == NULL) {
        refuse(r, CODE_NO_TIME);
        refusal_say(r->refusal, "neither dlb-deliver-at nor dlb-delay is given");
        return CODE_NO_TIME;
    }
    refuse_value(r, CODE_TWO_TIMES, FIELD_DELIVER_AT, " and dlb-delay ");
    refusal_quote(r->refusal, r->given[FIELD_DELAY]->value);
    refusal_say(r->refusal, " are both given: give one of them");
    return CODE_TWO_TIMES;
}

static bool is_number(struct bytes text)
{
    const char *at = text.data;
    for (size_t i = 0; i < text.len; i++)
        if (at[i] < '0' || at[i] > '9')
            return false;
    return true;
}

static enum code refuse_time(struct reading *r, enum field field)
{
    struct bytes text = r->given[field]->value;
    if (field != FIELD_DELAY)
        return refuse_value(r, CODE_BAD_TIME, field, instant_fault(text));
    return refuse_value(r, CODE_BAD_TIME, field,
                        is_number(text) ? " has no unit; 250ms, 15m, 1h30m or PT15M is meant"
                                        : " is not a duration such as 250ms, 15m, 1h30m or PT15M");
}

static enum code refuse_unit(struct reading *r, enum field field, const char *unit)
{
    refuse_value(r, CODE_TOO_FAR, field, " looks like ");
    refusal_say(r->refusal, unit);
    refusal_say(r->refusal, ": give milliseconds");
    return CODE_TOO_FAR;
}

static enum code refuse_far(struct reading *r, enum field field)
{
    char max[DURATION_TEXT_MAX];
    const char *unit = field == FIELD_DELIVER_AT && is_number(r->given[field]->value)
                           ? instant_likely_unit(r->stamp.due_ms)
                           : NULL;
    if (unit != NULL)
        return refuse_unit(r, field, unit);
    refuse_value(r, CODE_TOO_FAR, field, " is more than max_delay ");
    refusal_say(r->refusal, duration_format(r->rules->max_delay_ms, max));
    refusal_say(r->refusal, " after the request's timestamp ");
    say_instant(r, r->stamp.timestamp_ms);
    return CODE_TOO_FAR;
}

static enum code refuse_expired(struct reading *r)
{
    refuse_value(r, CODE_EXPIRED, FIELD_EXPIRES_AT, " is before the due time ");
    say_instant(r, r->stamp.due_ms);
    return CODE_EXPIRED;
}

static enum code read_times(struct reading *r)
{
    const struct header *at = r->given[FIELD_DELIVER_AT], *delay = r->given[FIELD_DELAY],
                        *expires = r->given[FIELD_EXPIRES_AT];
    if ((at == NULL) == (delay == NULL))
        return refuse_number_of_times(r);
    struct stamp *stamp = &r->stamp;
    enum field field = at != NULL ? FIELD_DELIVER_AT : FIELD_DELAY;
    int64_t ms;
    int fault = at != NULL ? instant_parse(at->value, &ms) : duration_parse(delay->value, &ms);
    if (fault != 0)
        return refuse_time(r, field);
    if (expires != NULL && instant_parse(expires->value, &stamp->expires_ms) != 0)
        return refuse_time(r, FIELD_EXPIRES_AT);

    if (at != NULL)
        stamp->due_ms = ms;
    else if (__builtin_add_overflow(stamp->timestamp_ms, ms, &stamp->due_ms))
        return refuse_far(r, field);
    int64_t due_max_ms;
    if (__builtin_add_overflow(stamp->timestamp_ms, r->rules->max_delay_ms, &due_max_ms))
        due_max_ms = INT64_MAX;
    if (stamp->due_ms > due_max_ms)
        return refuse_far(r, field);
    return stamp->expires_ms < stamp->due_ms ? refuse_expired(r) : CODE_OK;
}

static enum code refuse_target(struct reading *r)
{
    struct bytes target = r->stamp.target;
    refuse(r, CODE_TARGET_DENIED);
    refusal_say(r->refusal, r->given[FIELD_TARGET] != NULL ? "dlb-target " : "default_target ");
    refusal_quote(r->refusal, target);
    refusal_say(r->refusal, !topic_name_is_legal(target) ? " is not a legal topic name"
                            : topic_is_internal(r->rules->allowlist.schedule, target)
                                ? " is a topic of the bridge's own, or of Kafka's"
                                : " is not allowed by targets of the configuration");
    return CODE_TARGET_DENIED;
}

static enum code read_target(struct reading *r)
{
    if (r->given[FIELD_TARGET] != NULL) {
        r->stamp.target = r->given[FIELD_TARGET]->value;
    } else if (r->rules->default_target != NULL) {
        r->stamp.target = bytes_text(r->rules->default_target);
    } else {
        refuse(r, CODE_NO_TARGET);
        refusal_say(r->refusal, "no dlb-target is given, and no default_target is configured");
        return CODE_NO_TARGET;
    }
    return allowlist_allows(&r->rules->allowlist, r->stamp.target) ? CODE_OK : refuse_target(r);
}

static enum code read_request(struct reading *r)
{
    if (r->given[FIELD_KEY] != NULL) {
        r->stamp.key_overridden = true;
        r->stamp.key = r->given[FIELD_KEY]->value;
    }
    enum code code = read_times(r);
    return code != CODE_OK ? code : read_target(r);
}

enum code request_parse(const struct request_rules *rules, uint32_t lane,
                        const struct record *record, int64_t now_ms, struct stamp *stamp,
                        struct refusal *refusal)
{
    struct reading r = {.rules = rules,
                        .key = record->key,
                        .tombstone = bytes_is_null(record->value),
                        .refusal = refusal};
    r.stamp.timestamp_ms = record->timestamp_ms >= 0 ? record->timestamp_ms : now_ms;
    r.stamp.expires_ms = STAMP_NEVER;
    r.stamp.origin_offset = record->offset;
    r.stamp.origin_lane = lane;

    enum code code = read_headers(&r, record);
    if (code == CODE_OK)
        code = read_op(&r);
    if (code == CODE_OK)
        code = read_id(&r);
    if (code == CODE_OK && r.stamp.op != REQUEST_CANCEL)
        code = read_request(&r);
    *stamp = r.stamp;
    return code;
}

bool request_has_op(const struct request_rules *rules, const struct record *record)
{
    if (rules->cancel_on_tombstone && bytes_is_null(record->value))
        return true;
    for (size_t i = 0; i < record->headers_n; i++) {
        if (strcmp(record->headers[i].name, NAMES[FIELD_OP]) == 0)
            return true;
    }
    return false;
}

bool request_voids(enum code code, const struct stamp *stamp)
{
    switch ((enum request_op)stamp->op) {
    case REQUEST_CANCEL:
        return code == CODE_OK;
    case REQUEST_REPLACE:
        return code == CODE_OK || code == CODE_TARGET_DENIED;
    case REQUEST_SCHEDULE:
        break;
    }
    return false;
}

struct bytes request_target(const struct request_rules *rules, const struct record *record)
{
    for (size_t i = 0; i < record->headers_n; i++) {
        if (strcmp(record->headers[i].name, "dlb-target") == 0)
            return record->headers[i].value;
    }
    return rules->default_target == NULL ? bytes_null() : bytes_text(rules->default_target);
}
