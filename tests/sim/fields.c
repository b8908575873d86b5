/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a recorded call. */
#include "tests/sim/fields.h"
#include "tests/sim/digest.h"
#include "tests/sim/names.h"

#include <stdio.h>

void field_topic(struct line *line, const struct process *p, int slot)
{
    if (slot < 0 || slot >= p->slots) {
        line_text(line, "none");
    } else if (slot == SLOT_SCHEDULE) {
        line_text(line, "S");
    } else {
        line_digits(line, p->world->broker.level_ms[p->topic_of_slot[slot]]);
        line_text(line, "ms");
    }
}

void field_queue(struct line *line, const struct process *p, struct queue_id q)
{
    line_key(line, "queue");
    field_topic(line, p, q.slot);
    line_text(line, "/");
    line_digits(line, q.lane);
}

void field_hash(struct line *line, const char *key, struct bytes bytes)
{
    line_key(line, key);
    if (bytes_is_null(bytes))
        line_text(line, "null");
    else
        line_hex(line, digest_of_bytes(bytes));
}

void field_name(struct line *line, const char *key, struct bytes name)
{
    const unsigned char *text = name.data;
    line_key(line, key);
    for (size_t i = 0; i < name.len && i < TOPIC_NAME_MAX; i++) {
        char escaped[4] = {(char)text[i]};
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '\\')
            snprintf(escaped, sizeof escaped, "\\%02x", text[i]);
        line_text(line, escaped);
    }
}

/* Leaves out the text of the last error, because lines contain no sentences. */
static void put_extras(struct line *line, const struct extras *e)
{
    if (e->error_code != 0) {
        line_word(line, "error", names_error((enum delivery_error)e->error_code));
        line_number(line, "error_code", e->error_code);
    }
    if (e->deferral != 0) {
        line_word(line, "deferral", names_deferral((enum deferral)e->deferral));
        line_number(line, "deferral_code", e->deferral);
    }
    if (e->is_retry) {
        line_number(line, "retry_attempt", e->retry.attempt);
        line_number(line, "retry_first", e->retry.first_ms);
        line_number(line, "retry_origin", e->retry.origin_offset);
        line_number(line, "retry_origin_lane", e->retry.origin_lane);
        field_name(line, "retry_topic", e->retry.origin_topic);
    }
    line_number(line, "spread", e->spread_ms);
}

static void put_envelope(struct line *line, const struct envelope *env)
{
    const struct stamp *stamp = &env->stamp;
    line_number(line, "due", stamp->due_ms);
    line_number(line, "requested", stamp->timestamp_ms);
    line_number(line, "expires", stamp->expires_ms);
    line_number(line, "next_try", stamp->next_try_ms);
    line_number(line, "origin", stamp->origin_offset);
    line_number(line, "origin_lane", stamp->origin_lane);
    line_number(line, "attempt", stamp->attempt);
    line_number(line, "key_overridden", stamp->key_overridden);
    field_hash(line, "stamp_key", stamp->key);
    field_hash(line, "id", stamp->id);
    field_name(line, "stamp_target", stamp->target);
    put_extras(line, &stamp->extras);
    line_number(line, "headers", env->headers_n);
    field_hash(line, "headers_hash", env->headers);
    field_hash(line, "value", env->value);
}

/* Adds the stored value: an envelope, or the value of a foreign record. */
static void put_value(struct line *line, const struct forward *f)
{
    struct envelope opened;
    const struct envelope *env = f->env;
    if (f->kind == FORWARD_LEVEL && envelope_open(f->record->value, &opened) == 0)
        env = &opened;
    if (env != NULL) {
        put_envelope(line, env);
    } else {
        line_number(line, "headers", (int64_t)f->record->headers_n);
        field_hash(line, "value", f->record->value);
    }
}

void field_forward(struct line *line, const struct process *p, const struct forward *f)
{
    line_word(line, "kind", names_kind(f->kind));
    field_queue(line, p, f->from);
    line_number(line, "offset", f->offset);
    line_number(line, "timestamp", f->timestamp_wall_ms);
    line_key(line, "to");
    switch (f->kind) {
    case FORWARD_LEVEL:
        field_topic(line, p, f->slot);
        break;
    case FORWARD_CANCEL:
        line_text(line, "cancels");
        break;
    case FORWARD_EVENT:
        line_text(line, "events");
        break;
    case FORWARD_TARGET:
        line_text(line, f->target->name);
        break;
    case FORWARD_DEAD:
        line_text(line, "D");
        line_word(line, "code", names_code(f->refusal->code));
        line_word(line, "truncation", names_truncation(f->content));
        break;
    }
    line_number(line, "alone", f->alone);
    field_hash(line, "key", f->record->key);
    put_value(line, f);
}
