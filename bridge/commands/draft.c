/* SPDX-License-Identifier: Apache-2.0 */
/* Turns fields into headers, and JSON into fields. */
#include "bridge/commands/draft.h"

#include "bridge/commands/owned.h"
#include "levels/base64.h"

#include <stdio.h>
#include <stdlib.h>

/* Fields that become headers of the request. */
static const struct {
    const char *field, *header;
} HEADER_FIELDS[] = {{"delay", "dlb-delay"},           {"at", "dlb-deliver-at"},
                     {"target", "dlb-target"},         {"id", "dlb-id"},
                     {"expires-at", "dlb-expires-at"}, {"op", "dlb-op"},
                     {"retry-policy", "dlb-retry"},    {"spread", "dlb-spread"}};

void draft_deinit(struct draft *draft)
{
    owned_drop(&draft->key);
    owned_drop(&draft->value);
    for (size_t i = 0; i < draft->headers_n; i++) {
        free((void *)draft->headers[i].name);
        owned_drop(&draft->headers[i].value);
    }
    *draft = (struct draft){0};
}

int draft_header(struct draft *draft, struct bytes name, struct bytes value)
{
    if (draft->headers_n == DRAFT_HEADERS_MAX)
        return ERR_FULL;
    struct header *header = &draft->headers[draft->headers_n];
    char *text = strndup(name.data, name.len);
    if (text == NULL || owned_copy(value, &header->value) != 0) {
        free(text);
        return ERR_NO_MEMORY;
    }
    header->name = text;
    draft->headers_n++;
    return 0;
}

static int replace(struct bytes *at, struct bytes value)
{
    owned_drop(at);
    return owned_copy(value, at);
}

int draft_set(struct draft *draft, const char *field, struct bytes value)
{
    if (strcmp(field, "key") == 0)
        return replace(&draft->key, value);
    if (strcmp(field, "value") == 0) {
        draft->valued = true;
        return replace(&draft->value, value);
    }
    for (size_t i = 0; i < sizeof HEADER_FIELDS / sizeof *HEADER_FIELDS; i++)
        if (strcmp(field, HEADER_FIELDS[i].field) == 0)
            return draft_header(draft, bytes_text(HEADER_FIELDS[i].header), value);
    return ERR_RANGE;
}

/* Reads a string, null or {"base64": "..."}. The caller frees out. */
static int bytes_of_json(const json_t *json, struct bytes *out)
{
    *out = bytes_null();
    if (json_is_null(json))
        return 0;
    if (json_is_string(json))
        return owned_copy(bytes_of(json_string_value(json), json_string_length(json)), out);
    const json_t *encoded = json_object_get(json, "base64");
    if (!json_is_string(encoded) || json_object_size(json) != 1)
        return ERR_DATA;
    return base64_decode(bytes_of(json_string_value(encoded), json_string_length(encoded)), out);
}

static int fault(struct error *error, const char *field, const char *what)
{
    return error_set(error, ERR_DATA, "'%.60s' %s", field, what);
}

static const char *value_fault(int err)
{
    return err == ERR_DATA ? "is neither a string, null nor {\"base64\": ...}" : err_text(err);
}

static int add_header(struct draft *draft, const json_t *name, const json_t *value,
                      struct error *error)
{
    const char *text = json_string_value(name);
    if (text == NULL || *text == '\0' || strlen(text) != json_string_length(name))
        return fault(error, "headers", "has a name that is not a text");
    struct bytes bytes;
    int err = bytes_of_json(value, &bytes);
    if (err != 0)
        return fault(error, text, value_fault(err));
    err = draft_header(draft, bytes_text(text), bytes);
    owned_drop(&bytes);
    return err == 0 ? 0 : fault(error, "headers", err == ERR_FULL ? "are too many" : err_text(err));
}

static int add_headers(struct draft *draft, json_t *headers, struct error *error)
{
    int err = 0;
    const char *name;
    json_t *value;
    size_t i;
    if (json_is_object(headers)) {
        json_object_foreach(headers, name, value)
        {
            json_t *text = json_string(name);
            err = err == 0 ? add_header(draft, text, value, error) : err;
            json_decref(text);
        }
        return err;
    }
    if (!json_is_array(headers))
        return fault(error, "headers", "is neither an object nor a list of [name, value]");
    json_array_foreach(headers, i, value)
    {
        if (json_array_size(value) != 2)
            return fault(error, "headers", "has an entry that is not [name, value]");
        err = add_header(draft, json_array_get(value, 0), json_array_get(value, 1), error);
        if (err != 0)
            return err;
    }
    return 0;
}

static int add_field(struct draft *draft, const char *field, const json_t *json,
                     struct error *error)
{
    char number[32];
    struct bytes bytes;
    int err;
    if (json_is_integer(json) && strcmp(field, "at") == 0) {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json));
        return draft_set(draft, field, bytes_text(number));
    }
    err = bytes_of_json(json, &bytes);
    if (err != 0)
        return fault(error, field, value_fault(err));
    err = draft_set(draft, field, bytes);
    owned_drop(&bytes);
    if (err == ERR_RANGE)
        return fault(
            error, field,
            "is not a field (delay, at, retry-policy, target, key, id, expires-at, spread, "
            "headers, value)");
    return err == 0 ? 0 : fault(error, field, err_text(err));
}

int draft_of_object(struct draft *draft, json_t *object, struct error *error)
{
    int err = 0;
    const char *field;
    json_t *value;
    if (!json_is_object(object))
        return error_set(error, ERR_DATA, "not a JSON object");
    json_object_foreach(object, field, value)
    {
        if (err == 0 && strcmp(field, "headers") == 0)
            err = add_headers(draft, value, error);
        else if (err == 0)
            err = add_field(draft, field, value, error);
    }
    return err == 0 ? 0 : ERR_DATA;
}

json_t *draft_parse(struct bytes line, struct error *error)
{
    json_error_t problem;
    json_t *object =
        json_loadb(line.data, line.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
    if (object == NULL)
        (void)error_set(error, ERR_DATA, "not a JSON object: %s", problem.text);
    return object;
}

int draft_of_json(struct draft *draft, struct bytes line, struct error *error)
{
    json_t *object = draft_parse(line, error);
    int err = object == NULL ? ERR_DATA : draft_of_object(draft, object, error);
    json_decref(object);
    return err;
}

int draft_judge(const struct draft *draft, const struct request_rules *rules, int64_t now_ms,
                struct error *error)
{
    struct stamp stamp;
    struct refusal refusal;
    struct record record = {.timestamp_ms = now_ms,
                            .key = draft->key,
                            .value = draft->value,
                            .headers = draft->headers,
                            .headers_n = draft->headers_n};
    enum code code = request_parse(rules, 0, &record, now_ms, &stamp, &refusal);
    if (code == CODE_OK && !draft->valued && stamp.op != REQUEST_CANCEL)
        return error_set(error, ERR_DATA,
                         "'value' is missing: set it, or set it to null for a tombstone");
    if (code == CODE_OK)
        return 0;
    return error_set(error, ERR_DATA, "%s: %s", code_name(code), refusal.reason);
}
