/* SPDX-License-Identifier: Apache-2.0 */
/* request: the operation, name and target of a request, from its headers. */
#include "levels/request_parts.h"

#include "levels/refusal.h"

#include <assert.h>

enum code reading_refuse_value(struct reading *r, enum code code, enum field field, const char *why)
{
    assert(r->given[field] != NULL);
    reading_refuse(r, code);
    reading_say(r, r->given[field]);
    refusal_say(r->refusal, why);
    return code;
}

/* Writes a reason of the form: dlb-op 'cancel' why. */
static enum code refuse_op(struct reading *r, enum code code, const char *why)
{
    if (r->given[FIELD_OP] != NULL)
        return reading_refuse_value(r, code, FIELD_OP, why);
    reading_refuse(r, code);
    if (r->foreign.format == COMPAT_NONE) {
        refusal_say(r->refusal, "a null value that cancels (cancel_on_tombstone)");
    } else {
        refusal_say(r->refusal, r->stamp.op == REQUEST_CANCEL ? "a cancel in the format "
                                                              : "a replace in the format ");
        refusal_say(r->refusal, compat_name(r->foreign.format));
    }
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
        refusal_say(r->refusal, reading_name(f));
        refusal_say(r->refusal, " ");
        refusal_quote(r->refusal, r->given[f]->value);
        return CODE_BAD_OP;
    }
    return CODE_OK;
}

static bool cancels_by_tombstone(const struct reading *r)
{
    return r->tombstone && r->rules->cancels && r->rules->cancel_on_tombstone &&
           r->given[FIELD_DELAY] == NULL && r->given[FIELD_DELIVER_AT] == NULL &&
           r->given[FIELD_RETRY] == NULL && r->foreign.format == COMPAT_NONE;
}

/* The operation of a record without dlb-op. */
static enum code read_implied_op(struct reading *r)
{
    r->stamp.op = cancels_by_tombstone(r) ? REQUEST_CANCEL : (uint8_t)r->foreign.op;
    r->given[FIELD_OP] = r->foreign.op_header;
    if (r->stamp.op != REQUEST_SCHEDULE && !r->rules->cancels)
        return refuse_op(r, CODE_BAD_OP, " is not in this version, which knows schedule alone");
    enum code code = reading_refuse_foreign(r, CODE_BAD_OP);
    return code == CODE_OK && r->stamp.op == REQUEST_CANCEL ? check_cancel(r) : code;
}

static enum code refuse_replacing_retry(struct reading *r)
{
    reading_refuse_value(r, CODE_BAD_OP, FIELD_OP, " and ");
    reading_say(r, r->given[FIELD_RETRY]);
    refusal_say(r->refusal, " are both given: a retry replaces nothing");
    return CODE_BAD_OP;
}

static enum code read_op(struct reading *r)
{
    if (r->given[FIELD_OP] == NULL)
        return read_implied_op(r);
    struct bytes op = r->given[FIELD_OP]->value;
    if (bytes_equal(op, bytes_text("schedule")))
        return CODE_OK;
    bool cancel = bytes_equal(op, bytes_text("cancel"));
    bool known = cancel || bytes_equal(op, bytes_text("replace"));
    if (!known)
        return reading_refuse_value(
            r, CODE_BAD_OP, FIELD_OP,
            r->rules->cancels ? " is not an operation; schedule, cancel or replace is meant"
                              : " is not an operation; this version knows schedule alone");
    if (!r->rules->cancels)
        return reading_refuse_value(r, CODE_BAD_OP, FIELD_OP,
                                    " is not in this version, which knows schedule alone");
    r->stamp.op = cancel ? REQUEST_CANCEL : REQUEST_REPLACE;
    if (cancel)
        return check_cancel(r);
    return r->given[FIELD_RETRY] == NULL ? CODE_OK : refuse_replacing_retry(r);
}

static enum code read_id(struct reading *r)
{
    if (r->given[FIELD_ID] != NULL) {
        r->stamp.id = r->given[FIELD_ID]->value;
        if (r->stamp.id.len > REQUEST_ID_MAX)
            return reading_refuse_value(r, CODE_BAD_ID, FIELD_ID, " is longer than 128 bytes");
    }
    enum cancel_kind kind;
    if (r->stamp.op == REQUEST_SCHEDULE || !bytes_is_null(cancel_name(r->key, r->stamp.id, &kind)))
        return CODE_OK;
    return refuse_op(r, CODE_BAD_ID,
                     bytes_is_null(r->key)
                         ? " needs the record key of its request, which decides the partition"
                         : " needs dlb-id, or a record key of 1 to 128 bytes");
}

static enum code refuse_target(struct reading *r)
{
    struct bytes target = r->stamp.target;
    reading_refuse(r, CODE_TARGET_DENIED);
    refusal_say(r->refusal,
                r->given[FIELD_TARGET] != NULL ? r->given[FIELD_TARGET]->name : "default_target");
    refusal_say(r->refusal, " ");
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
    } else if (r->rules->default_target != NULL && r->given[FIELD_RETRY] == NULL) {
        r->stamp.target = bytes_text(r->rules->default_target);
    } else {
        reading_refuse(r, CODE_NO_TARGET);
        refusal_say(r->refusal,
                    r->given[FIELD_RETRY] != NULL
                        ? "no dlb-target is given, and dlb-retry needs the topic to return to"
                        : "no dlb-target is given, and no default_target is configured");
        return CODE_NO_TARGET;
    }
    return allowlist_allows(&r->rules->allowlist, r->stamp.target) ? CODE_OK : refuse_target(r);
}

static enum code read_request(struct reading *r)
{
    if (r->given[FIELD_KEY] != NULL) {
        r->stamp.key_overridden = true;
        r->stamp.key = r->given[FIELD_KEY]->value;
    } else if (r->foreign.key_overridden) {
        r->stamp.key_overridden = true;
        r->stamp.key = r->foreign.key != NULL ? r->foreign.key->value : bytes_null();
    }
    enum code code = reading_times(r);
    if (code == CODE_OK)
        code = read_target(r);
    if (code == CODE_OK && r->exhausted != RETRY_WAITS)
        code = reading_refuse_exhausted(r);
    return code;
}

enum code request_parse(const struct request_rules *rules, uint32_t lane,
                        const struct record *record, int64_t now_ms, struct stamp *stamp,
                        struct refusal *refusal)
{
    struct reading r = {.rules = rules,
                        .now_ms = now_ms,
                        .key = record->key,
                        .tombstone = bytes_is_null(record->value),
                        .refusal = refusal};
    r.stamp.timestamp_ms = record->timestamp_ms >= 0 ? record->timestamp_ms : now_ms;
    r.stamp.expires_ms = STAMP_NEVER;
    r.stamp.origin_offset = record->offset;
    r.stamp.origin_lane = lane;

    enum code code = reading_headers(&r, record);
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
    if ((rules->cancel_on_tombstone && bytes_is_null(record->value)) ||
        compat_may_void(rules->compat, record))
        return true;
    for (size_t i = 0; i < record->headers_n; i++) {
        if (strcmp(record->headers[i].name, reading_name(FIELD_OP)) == 0)
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
    const struct header *target = compat_read(rules->compat, record).target;
    if (target != NULL)
        return target->value;
    return rules->default_target == NULL ? bytes_null() : bytes_text(rules->default_target);
}
