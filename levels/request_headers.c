/* SPDX-License-Identifier: Apache-2.0 */
/* request: the headers of a request, by name, and those of other schedulers in their places. */
#include "levels/request_parts.h"

#include "levels/refusal.h"
#include "levels/utf8.h"

/* The headers that the bridge writes come after those of producers. */
enum {
    WRITTEN_FACT = FIELD_N,
    WRITTEN_DUE = WRITTEN_FACT + FACT_N,
    WRITTEN_DEAD_LETTER,
    WRITTEN_TRUNCATED = WRITTEN_DEAD_LETTER + 5,
    NAMES_N,
    NAME_UNKNOWN = NAMES_N
};

static const char *const NAMES[NAMES_N] = {
    [FIELD_DELIVER_AT] = "dlb-deliver-at",
    [FIELD_DELAY] = "dlb-delay",
    [FIELD_RETRY] = "dlb-retry",
    [FIELD_TARGET] = "dlb-target",
    [FIELD_KEY] = "dlb-key",
    [FIELD_ID] = "dlb-id",
    [FIELD_OP] = "dlb-op",
    [FIELD_EXPIRES_AT] = "dlb-expires-at",
    [FIELD_SPREAD] = "dlb-spread",
    [WRITTEN_FACT + FACT_ATTEMPT] = "dlb-attempt",
    [WRITTEN_FACT + FACT_FIRST_AT] = "dlb-first-at",
    [WRITTEN_FACT + FACT_ORIGIN] = "dlb-origin",
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

const char *reading_name(enum field field)
{
    return NAMES[field];
}

enum code reading_refuse(struct reading *r, enum code code)
{
    refusal_begin(r->refusal, code);
    return code;
}

void reading_say(struct reading *r, const struct header *header)
{
    refusal_say(r->refusal, header->name);
    refusal_say(r->refusal, " ");
    refusal_quote(r->refusal, header->value);
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

static int name_of(const char *name)
{
    for (int n = 0; n < NAMES_N; n++)
        if (name[TAIL] == NAMES[n][TAIL] && strcmp(name, NAMES[n]) == 0)
            return n;
    return NAME_UNKNOWN;
}

static bool is_variant(const char *name)
{
    for (int n = 0; n < NAMES_N; n++)
        if (equal_in_any_case(NAMES[n], name))
            return true;
    return false;
}

bool header_is_of_dead_letter(const char *name)
{
    if (name[0] != 'd')
        return false;
    for (int n = WRITTEN_DEAD_LETTER; n < WRITTEN_TRUNCATED; n++)
        if (strcmp(name, NAMES[n]) == 0)
            return true;
    return false;
}

/* Returns the fault of a producer's header, or NULL. */
static const char *fault_of(int name, struct bytes value, bool again)
{
    if (again)
        return " is given twice";
    if (name == FIELD_KEY)
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

/* A request without dlb-retry may have such headers, in any number. */
static void note_fact(struct reading *r, enum fact fact, const struct header *header)
{
    const char *why = fault_of(FIELD_RETRY, header->value, r->facts[fact] != NULL);
    if (why != NULL && r->bad_fact == NULL) {
        r->bad_fact = header;
        r->bad_fact_why = why;
    }
    r->facts[fact] = header;
}

enum code reading_refuse_header(struct reading *r, enum code code, const struct header *header,
                                const char *why)
{
    reading_refuse(r, code);
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
    reading_refuse(r, CODE_BAD_HEADER);
    refusal_say(r->refusal, "its headers cannot be parsed: more than 100,000, or damaged");
    return CODE_BAD_HEADER;
}

/* An unknown header has precedence over all other faults, so only it ends the loop. */
static enum code read_names(struct reading *r, const struct record *record)
{
    if (record->headers_unreadable)
        return refuse_unreadable(r);
    for (size_t i = 0; i < record->headers_n; i++) {
        const struct header *header = &record->headers[i];
        if ((header->name[0] | 0x20) != 'd' || !header_is_ours(header->name))
            continue;
        int name = name_of(header->name);
        if (name < FIELD_N) {
            note_fault(r, header, fault_of(name, header->value, r->given[name] != NULL));
            r->given[name] = header;
        } else if (name < WRITTEN_DUE) {
            note_fact(r, (enum fact)(name - WRITTEN_FACT), header);
        } else if (name == WRITTEN_TRUNCATED) {
            note_fault(r, header, " marks a dead letter that lacks a part of its record");
        } else if (name == NAME_UNKNOWN && is_variant(header->name)) {
            note_fault(r, header, " must be in lower case");
        } else if (name == NAME_UNKNOWN) {
            return reading_refuse_header(r, CODE_UNKNOWN_HEADER, header,
                                         " is not known, and dlb- is reserved");
        }
    }
    return r->bad == NULL ? CODE_OK : reading_refuse_header(r, CODE_BAD_HEADER, r->bad, r->bad_why);
}

enum code reading_refuse_foreign(struct reading *r, enum code code)
{
    const struct foreign *f = &r->foreign;
    if (f->fault != code)
        return CODE_OK;
    reading_refuse(r, code);
    reading_say(r, f->faulty);
    refusal_say(r->refusal, f->why);
    if (f->other != NULL) {
        reading_say(r, f->other);
        refusal_say(r->refusal, " are both given: give one of them");
    }
    return code;
}

/* Puts the foreign headers in the places of the fields that no dlb- header has. */
static enum code translate(struct reading *r, const struct record *record)
{
    struct foreign *f = &r->foreign;
    *f = compat_read(r->rules->compat, record);
    if (f->format == COMPAT_NONE)
        return CODE_OK;
    r->stamp.format = (uint8_t)f->format;
    if (f->retry != NULL)
        r->given[FIELD_RETRY] = f->retry;
    else
        r->given[f->is_delay ? FIELD_DELAY : FIELD_DELIVER_AT] = f->time;
    bool cancels = r->given[FIELD_OP] == NULL && f->op == REQUEST_CANCEL;
    if (r->given[FIELD_TARGET] == NULL && !cancels)
        r->given[FIELD_TARGET] = f->target;
    return reading_refuse_foreign(r, CODE_BAD_HEADER);
}

enum code reading_headers(struct reading *r, const struct record *record)
{
    enum code code = read_names(r, record);
    if (code == CODE_OK)
        code = translate(r, record);
    if (code == CODE_OK && r->foreign.counted)
        reading_foreign_count(r);
    else if (code == CODE_OK && r->given[FIELD_RETRY] != NULL)
        code = reading_facts(r);
    return code;
}
