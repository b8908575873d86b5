/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: one pass over the headers sorts them, then each rule of the contract in its order. */
#include "levels/request.h"

#include "levels/duration.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum known {
    DELIVER_AT,
    DELAY,
    TARGET,
    KEY,
    ID,
    OP,
    EXPIRES_AT,
    ASKED,
    DUE = ASKED,
    SOURCE,
    ERROR,
    REASON,
    FAILED_AT,
    KNOWN,
    UNKNOWN = KNOWN
};

static const char *const names[KNOWN] = {
    "dlb-deliver-at", "dlb-delay", "dlb-target", "dlb-key",   "dlb-id",     "dlb-op",
    "dlb-expires-at", "dlb-due",   "dlb-source", "dlb-error", "dlb-reason", "dlb-failed-at",
};

/* What one pass over the headers found. */
struct found {
    const struct header *asked[ASKED];
    const struct header *unknown; /* the first header that is none of ours */
    const struct header *bad;     /* the first that is ours and not well-formed */
    const char *bad_why;
};

enum { PREFIX = 4, QUOTED_MAX = 128 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool equal_in_any_case(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Which of ours it is; *exact: also in case. */
static enum known known_of(const char *name, bool *exact)
{
    for (int i = 0; i < KNOWN; i++) {
        if (lower(name[PREFIX]) != names[i][PREFIX] || !equal_in_any_case(name, names[i]))
            continue;
        *exact = strcmp(name, names[i]) == 0;
        return (enum known)i;
    }
    return UNKNOWN;
}

bool header_is_verdict(const char *name)
{
    bool exact;
    enum known known = header_is_ours(name) ? known_of(name, &exact) : UNKNOWN;
    return known >= SOURCE && known <= FAILED_AT && exact;
}

/* How many bytes the UTF-8 sequence at text is long, 0 if it is none. */
static size_t utf8_sequence(const uint8_t *text, size_t left)
{
    uint8_t first = text[0];
    if (first < 0x80)
        return 1;
    size_t len = first >= 0xc2 && first < 0xe0   ? 2
                 : first >= 0xe0 && first < 0xf0 ? 3
                 : first >= 0xf0 && first < 0xf5 ? 4
                                                 : 0;
    if (len == 0 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    /* overlong forms, surrogates and what lies above U+10FFFF */
    if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] >= 0xa0) ||
        (first == 0xf0 && text[1] < 0x90) || (first == 0xf4 && text[1] >= 0x90))
        return 0;
    return len;
}

static bool is_utf8(struct bytes value)
{
    const uint8_t *text = value.data;
    for (size_t i = 0; i < value.len;) {
        size_t len = utf8_sequence(text + i, value.len - i);
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

/* value for people: control bytes and what is no UTF-8 as \xNN, cut with an ellipsis. */
static const char *quote(struct bytes value, char out[QUOTED_MAX])
{
    const uint8_t *text = value.data;
    size_t at = 0;
    for (size_t i = 0; i < value.len;) {
        if (at > QUOTED_MAX - 12) {
            strcpy(out + at, "\xe2\x80\xa6");
            return out;
        }
        size_t len = utf8_sequence(text + i, value.len - i);
        if (len == 0 || text[i] < 0x20 || text[i] == 0x7f) {
            at += (size_t)snprintf(out + at, QUOTED_MAX - at, "\\x%02x", text[i]);
            i++;
            continue;
        }
        memcpy(out + at, text + i, len);
        at += len;
        i += len;
    }
    out[at] = '\0';
    return out;
}

__attribute__((format(printf, 3, 4))) static enum code
refuse(struct refusal *refusal, enum code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refusal->code = code;
    vsnprintf(refusal->reason, sizeof refusal->reason, format, args);
    va_end(args);
    return code;
}

static const char *fault_of(const struct found *found, const struct header *header,
                            enum known known, bool exact)
{
    if (!exact)
        return "is spelt in another case";
    if (found->asked[known] != NULL)
        return "is there twice";
    if (known == KEY)
        return NULL;
    if (bytes_is_null(header->value))
        return "is null";
    if (header->value.len == 0)
        return "is empty";
    return is_utf8(header->value) ? NULL : "is not UTF-8";
}

static struct found sort_headers(const struct record *record)
{
    struct found found = {0};
    for (size_t i = 0; i < record->headers_n; i++) {
        const struct header *header = &record->headers[i];
        if (!header_is_ours(header->name))
            continue;
        bool exact = false;
        enum known known = known_of(header->name, &exact);
        if (known == UNKNOWN) {
            found.unknown = found.unknown != NULL ? found.unknown : header;
            continue;
        }
        if (known >= ASKED && exact)
            continue; /* the bridge's own: of an earlier delivery, sent again */
        const char *why =
            known >= ASKED ? "is spelt in another case" : fault_of(&found, header, known, exact);
        if (why != NULL && found.bad == NULL) {
            found.bad = header;
            found.bad_why = why;
        }
        if (known < ASKED && found.asked[known] == NULL)
            found.asked[known] = header;
    }
    return found;
}

static bool value_is(const struct header *header, const char *text)
{
    return bytes_equal(header->value, bytes_text(text));
}

static enum code judge_form(const struct found *found, struct refusal *refusal)
{
    char quoted[QUOTED_MAX];
    if (found->unknown != NULL)
        return refuse(refusal, CODE_UNKNOWN_HEADER, "there is no header %s in the contract",
                      quote(bytes_text(found->unknown->name), quoted));
    if (found->bad != NULL)
        return refuse(refusal, CODE_BAD_HEADER, "header %s %s",
                      quote(bytes_text(found->bad->name), quoted), found->bad_why);
    const struct header *op = found->asked[OP];
    if (op != NULL && (value_is(op, "cancel") || value_is(op, "replace")))
        return refuse(refusal, CODE_BAD_OP, "dlb-op %s is not in this version",
                      quote(op->value, quoted));
    if (op != NULL && !value_is(op, "schedule"))
        return refuse(refusal, CODE_BAD_OP, "dlb-op \"%s\" is no operation",
                      quote(op->value, quoted));
    const struct header *id = found->asked[ID];
    if (id != NULL && id->value.len > REQUEST_ID_MAX)
        return refuse(refusal, CODE_BAD_ID, "dlb-id has %zu bytes, at most %d are allowed",
                      id->value.len, REQUEST_ID_MAX);
    return CODE_OK;
}

static enum code bad_time(const struct header *header, const char *want, struct refusal *refusal)
{
    char quoted[QUOTED_MAX];
    return refuse(refusal, CODE_BAD_TIME, "%s \"%s\" is not %s", header->name,
                  quote(header->value, quoted), want);
}

static const char an_instant[] = "epoch milliseconds nor RFC 3339 with a zone";
static const char a_duration[] = "a duration such as 15m, 1h30m or PT15M";

/* Due and expiry. A delay that no clock can hold is INT64_MAX: too far. */
static enum code read_times(const struct found *found, struct stamp *stamp, struct refusal *refusal)
{
    const struct header *at = found->asked[DELIVER_AT], *delay = found->asked[DELAY];
    const struct header *expires = found->asked[EXPIRES_AT];
    if (at == NULL && delay == NULL)
        return refuse(refusal, CODE_NO_TIME, "neither dlb-deliver-at nor dlb-delay is there");
    if (at != NULL && delay != NULL)
        return refuse(refusal, CODE_TWO_TIMES, "dlb-deliver-at and dlb-delay are both there");
    int64_t delay_ms;
    if (at != NULL && instant_parse(at->value, &stamp->due_ms) != 0)
        return bad_time(at, an_instant, refusal);
    if (delay != NULL && duration_parse(delay->value, &delay_ms) != 0)
        return bad_time(delay, a_duration, refusal);
    if (delay != NULL && __builtin_add_overflow(stamp->timestamp_ms, delay_ms, &stamp->due_ms))
        stamp->due_ms = INT64_MAX;
    stamp->expires_ms = STAMP_NEVER;
    if (expires != NULL && instant_parse(expires->value, &stamp->expires_ms) != 0)
        return bad_time(expires, an_instant, refusal);
    return CODE_OK;
}

static enum code judge_times(const struct request_rules *rules, const struct stamp *stamp,
                             struct refusal *refusal)
{
    char due[INSTANT_TEXT_MAX], limit[DURATION_TEXT_MAX], expires[INSTANT_TEXT_MAX];
    int64_t last_ms;
    if (__builtin_add_overflow(stamp->timestamp_ms, rules->max_delay_ms, &last_ms))
        last_ms = INT64_MAX - 1;
    if (stamp->due_ms > last_ms)
        return refuse(refusal, CODE_TOO_FAR,
                      "due %s lies more than max_delay %s after the request's timestamp",
                      instant_format(stamp->due_ms, due),
                      duration_format(rules->max_delay_ms, limit));
    if (stamp->expires_ms < stamp->due_ms)
        return refuse(refusal, CODE_EXPIRED, "dlb-expires-at %s lies before the due time %s",
                      instant_format(stamp->expires_ms, expires),
                      instant_format(stamp->due_ms, due));
    return CODE_OK;
}

static enum code judge_target(const struct request_rules *rules, struct bytes target,
                              struct refusal *refusal)
{
    char quoted[QUOTED_MAX];
    if (bytes_is_null(target))
        return refuse(refusal, CODE_NO_TARGET,
                      "dlb-target is not there, and no default_target is configured");
    if (targets_allow(&rules->targets, target))
        return CODE_OK;
    const char *why = !topic_name_is_legal(target) ? "is not a legal topic name"
                      : topic_is_internal(rules->targets.schedule, target)
                          ? "is an internal topic"
                          : "is not among the configured targets";
    return refuse(refusal, CODE_TARGET_DENIED, "target \"%s\" %s", quote(target, quoted), why);
}

static struct bytes target_of(const struct request_rules *rules, const struct found *found)
{
    if (found->asked[TARGET] != NULL)
        return found->asked[TARGET]->value;
    return rules->default_target != NULL ? bytes_text(rules->default_target) : bytes_null();
}

enum code request_parse(const struct request_rules *rules, uint32_t lane,
                        const struct record *record, int64_t now_ms, struct stamp *stamp,
                        struct refusal *refusal)
{
    struct found found = sort_headers(record);
    const struct header *key = found.asked[KEY], *id = found.asked[ID];
    *stamp = (struct stamp){
        .timestamp_ms = record->timestamp_ms >= 0 ? record->timestamp_ms : now_ms,
        .origin_offset = record->offset,
        .origin_lane = lane,
        .key_overridden = key != NULL,
        .key = key != NULL ? key->value : bytes_null(),
        .id = id != NULL ? id->value : bytes_null(),
        .target = target_of(rules, &found),
    };
    enum code code = judge_form(&found, refusal);
    if (code == CODE_OK)
        code = read_times(&found, stamp, refusal);
    if (code == CODE_OK)
        code = judge_times(rules, stamp, refusal);
    if (code == CODE_OK)
        code = judge_target(rules, stamp->target, refusal);
    return code;
}
