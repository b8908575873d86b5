/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the topic of control as JSON. */
#include "consumer/control_record.h"

#include "levels/allowlist.h"
#include "levels/instant.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

bool control_key_is_of_process(struct bytes key)
{
    return !bytes_is_null(key) && memchr(key.data, ':', key.len) != NULL;
}

static int refuse(struct error *why, const char *phrase)
{
    return error_set(why, ERR_FOREIGN, "%s", phrase);
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static bool read_instant(const json_t *object, const char *name, int64_t *wall_ms)
{
    const char *text = text_of(object, name);
    return text != NULL && instant_parse(bytes_text(text), wall_ms) == 0 && *wall_ms >= 0;
}

static int read_members(const json_t *object, struct control_record *record, struct error *why)
{
    struct control *c = &record->control;
    const char *op = text_of(object, "op"), *rate = text_of(object, "rate");
    const json_t *until = json_object_get(object, "until");
    if (op == NULL || (strcmp(op, "pause") != 0 && strcmp(op, "limit") != 0))
        return refuse(why, "its op is neither pause nor limit");
    c->op = strcmp(op, "pause") == 0 ? CONTROL_PAUSE : CONTROL_LIMIT;
    if (c->op == CONTROL_LIMIT && (rate == NULL || rate_parse(bytes_text(rate), &c->rate) != 0))
        return refuse(why, "its rate is not a rate such as 100/s");
    if (!read_instant(object, "at", &c->at_wall_ms))
        return refuse(why, "its at is not a time");
    c->until_wall_ms = CONTROL_ENDLESS;
    if (until != NULL && !json_is_null(until) && !read_instant(object, "until", &c->until_wall_ms))
        return refuse(why, "its until is not a time");
    const char *by = text_of(object, "by");
    snprintf(record->by, sizeof record->by, "%s", by == NULL ? "" : by);
    return 0;
}

int control_record_read(struct bytes key, struct bytes value, struct control_record *record,
                        struct error *why)
{
    *record = (struct control_record){.is_removed = bytes_is_null(value)};
    if (bytes_is_null(key) || !allowlist_pattern_is_legal(key))
        return refuse(why, "its key is not a pattern of topics");
    memcpy(record->control.pattern, key.data, key.len);
    if (record->is_removed)
        return 0;
    if (value.len > CONTROL_VALUE_MAX)
        return refuse(why, "its value is too long");
    json_t *object = json_loadb(value.data, value.len, JSON_REJECT_DUPLICATES, NULL);
    int err = json_is_object(object) ? read_members(object, record, why)
                                     : refuse(why, "its value is not a JSON object");
    json_decref(object);
    return err;
}

static json_t *instant_json(int64_t wall_ms)
{
    char text[INSTANT_TEXT_MAX];
    return wall_ms == CONTROL_ENDLESS ? json_null() : json_string(instant_format(wall_ms, text));
}

char *control_record_write(const struct control_record *record)
{
    const struct control *c = &record->control;
    char rate[RATE_TEXT_MAX];
    bool limited = c->op == CONTROL_LIMIT;
    json_t *object = json_pack(
        "{s:s, s:o, s:o, s:s, s:o}", "op", limited ? "limit" : "pause", "rate",
        limited ? json_string(rate_format(&c->rate, rate)) : json_null(), "until",
        instant_json(c->until_wall_ms), "by", record->by, "at", instant_json(c->at_wall_ms));
    char *text = object == NULL ? NULL : json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}
