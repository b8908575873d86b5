/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an envelope as text and as JSON. */
#include "bridge/commands/waiting.h"

#include "bridge/commands/result.h"
#include "consumer/admin/heads.h"
#include "levels/duration.h"
#include "levels/instant.h"

#include <inttypes.h>
#include <stdio.h>

enum { HOPS_SHOWN = 8, NUMBER_MAX = 12 };

static int64_t leaves_ms(const struct waiting *w)
{
    return heads_leaves_ms(w->config, w->level_ms, w->stamped_ms, &w->env.stamp);
}

/* Returns how many levels the record will pass after this one if memory has room, and lists the
   first. */
static int hops_left(const struct waiting *w, int *levels)
{
    struct ladder ladder = w->config->ladder;
    if (!stamp_is_put_back(&w->env.stamp))
        ladder.hold_ms = w->config->hold_ms;
    return plan_chain(&ladder, stamp_until_ms(&w->env.stamp) - leaves_ms(w), levels, HOPS_SHOWN);
}

static struct bytes delivered_key(const struct waiting *w)
{
    return w->env.stamp.key_overridden ? w->env.stamp.key : w->key;
}

static void print_time(const char *name, int64_t ms)
{
    char text[INSTANT_TEXT_MAX];
    printf("  %-9s %s\n", name, instant_format(ms, text));
}

static void print_field(const char *name, struct bytes bytes)
{
    printf("  %-9s ", name);
    print_bytes(bytes);
    putchar('\n');
}

/* Returns the name, or the number if there is no name: a newer version wrote it. */
static const char *name_or_number(const char *name, unsigned number, char text[NUMBER_MAX])
{
    if (name != NULL)
        return name;
    snprintf(text, NUMBER_MAX, "%u", number);
    return text;
}

/* Prints failed attempts and deferrals of the delivery. */
static void print_tries(const struct stamp *stamp)
{
    char number[NUMBER_MAX];
    const struct extras *extras = &stamp->extras;
    if (stamp->attempt > 0)
        printf("  %-9s %u failed\n", "attempt", (unsigned)stamp->attempt);
    if (extras->error_code != 0) {
        printf("  %-9s %s ", "error",
               name_or_number(delivery_error_name(extras->error_code), extras->error_code, number));
        print_bytes(extras->error);
        putchar('\n');
    }
    if (extras->deferral != 0)
        printf("  %-9s target %s\n", "deferred",
               name_or_number(deferral_name(extras->deferral), extras->deferral, number));
    if (stamp->next_try_ms != 0)
        print_time("next try", stamp->next_try_ms);
}

static struct bytes origin_topic(const struct waiting *w)
{
    struct bytes topic = w->env.stamp.extras.retry.origin_topic;
    return bytes_is_null(topic) ? bytes_text(w->config->schedule) : topic;
}

static void print_retry(const struct waiting *w)
{
    char at[INSTANT_TEXT_MAX];
    const struct retry *retry = &w->env.stamp.extras.retry;
    struct bytes topic = origin_topic(w);
    if (w->env.stamp.extras.is_retry)
        printf("  %-9s %u, of %.*s/%" PRIu32 "/%" PRId64 " at %s\n", "retry",
               (unsigned)retry->attempt, (int)topic.len, (const char *)topic.data,
               retry->origin_lane, retry->origin_offset, instant_format(retry->first_ms, at));
}

static void print_when(const struct waiting *w, int64_t now_ms)
{
    char text[DURATION_TEXT_MAX];
    int levels[HOPS_SHOWN];
    const struct stamp *stamp = &w->env.stamp;
    int64_t rest_ms = stamp->due_ms - now_ms;
    print_time("due", stamp->due_ms);
    printf("  %-9s %s%s\n", "remaining", duration_format(rest_ms < 0 ? -rest_ms : rest_ms, text),
           rest_ms < 0 ? " late" : "");
    if (w->level_ms > 0)
        print_time("leaves", leaves_ms(w));
    int hops = hops_left(w, levels);
    printf("  %-9s %d%s", "hops left", hops, hops > 0 ? ":" : "");
    for (int i = 0; i < hops && i < HOPS_SHOWN; i++)
        printf(" %s", duration_format(w->config->ladder.level_ms[levels[i]], text));
    puts(hops > HOPS_SHOWN ? " ..." : "");
    print_tries(stamp);
    if (stamp->expires_ms != STAMP_NEVER)
        print_time("expires", stamp->expires_ms);
    print_time("timestamp", stamp->timestamp_ms);
}

void waiting_print(const struct waiting *w, int64_t now_ms)
{
    printf("lane %d offset %" PRId64 "\n", w->lane, w->offset);
    if (w->opened != 0) {
        printf("  %s\n", err_text(w->opened));
        return;
    }
    const struct stamp *stamp = &w->env.stamp;
    print_when(w, now_ms);
    printf("  %-9s %s/%" PRIu32 "/%" PRId64 "\n", "origin", w->config->schedule, stamp->origin_lane,
           stamp->origin_offset);
    print_retry(w);
    print_field("target", stamp->target);
    if (!bytes_is_null(stamp->id))
        print_field("id", stamp->id);
    print_field("key", delivered_key(w));
    if (stamp->key_overridden)
        print_field("record key", w->key);
    struct header header;
    for (size_t at = 0; envelope_header_next(&w->env, &at, &header);) {
        printf("  %-9s ", "header");
        print_bytes(bytes_text(header.name));
        putchar('=');
        print_bytes(header.value);
        putchar('\n');
    }
    print_field("value", w->env.value);
}

/* Returns the last error of the delivery, or null. */
static json_t *error_json(const struct extras *extras)
{
    char number[NUMBER_MAX];
    if (extras->error_code == 0)
        return json_null();
    const char *code =
        name_or_number(delivery_error_name(extras->error_code), extras->error_code, number);
    return json_pack("{s:s, s:o}", "code", code, "text", bytes_json(extras->error));
}

static json_t *deferral_json(const struct extras *extras)
{
    char number[NUMBER_MAX];
    if (extras->deferral == 0)
        return json_null();
    return json_string(name_or_number(deferral_name(extras->deferral), extras->deferral, number));
}

/* Returns the consumer's retry, or null. */
static json_t *retry_json(const struct waiting *w)
{
    const struct retry *retry = &w->env.stamp.extras.retry;
    if (!w->env.stamp.extras.is_retry)
        return json_null();
    return json_pack("{s:i, s:o, s:{s:o, s:I, s:I}}", "attempt", (int)retry->attempt, "first_at",
                     instant_json(retry->first_ms), "origin", "topic", bytes_json(origin_topic(w)),
                     "partition", (json_int_t)retry->origin_lane, "offset",
                     (json_int_t)retry->origin_offset);
}

static json_t *headers_json(const struct envelope *env)
{
    json_t *list = json_array();
    struct header header;
    for (size_t at = 0; envelope_header_next(env, &at, &header);)
        json_array_append_new(list, json_pack("[o, o]", bytes_json(bytes_text(header.name)),
                                              bytes_json(header.value)));
    return list;
}

static json_t *hops_json(const struct waiting *w)
{
    char text[DURATION_TEXT_MAX];
    int levels[HOPS_SHOWN];
    json_t *list = json_array();
    int hops = hops_left(w, levels);
    for (int i = 0; i < hops && i < HOPS_SHOWN; i++)
        json_array_append_new(
            list, json_string(duration_format(w->config->ladder.level_ms[levels[i]], text)));
    return json_pack("{s:i, s:o}", "n", hops, "levels", list);
}

/* Adds the fault and null for all other keys. Only offset and lane of such a record are known. */
static json_t *fault_json(const struct waiting *w, json_t *line)
{
    static const char *const KEYS[] = {
        "due",        "remaining_ms", "leaves",   "hops",       "timestamp", "attempt",
        "last_error", "deferred",     "next_try", "expires_at", "origin",    "retry",
        "target",     "id",           "key",      "record_key", "headers",   "value"};
    json_object_set_new(line, "fault", json_string(err_text(w->opened)));
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        json_object_set_new(line, KEYS[i], json_null());
    return line;
}

json_t *waiting_json(const struct waiting *w, int64_t now_ms)
{
    json_t *line =
        json_pack("{s:i, s:I, s:n}", "lane", w->lane, "offset", (json_int_t)w->offset, "fault");
    if (w->opened != 0)
        return fault_json(w, line);
    const struct stamp *stamp = &w->env.stamp;
    json_object_update_new(
        line,
        json_pack("{s:o, s:I, s:o, s:o, s:o, s:i}", "due", instant_json(stamp->due_ms),
                  "remaining_ms", (json_int_t)(stamp->due_ms - now_ms), "leaves",
                  w->level_ms > 0 ? instant_json(leaves_ms(w)) : json_null(), "hops", hops_json(w),
                  "timestamp", instant_json(stamp->timestamp_ms), "attempt", (int)stamp->attempt));
    json_object_set_new(line, "last_error", error_json(&stamp->extras));
    json_object_set_new(line, "deferred", deferral_json(&stamp->extras));
    json_object_set_new(line, "next_try",
                        stamp->next_try_ms == 0 ? json_null() : instant_json(stamp->next_try_ms));
    json_object_set_new(line, "expires_at",
                        stamp->expires_ms == STAMP_NEVER ? json_null()
                                                         : instant_json(stamp->expires_ms));
    json_object_set_new(line, "retry", retry_json(w));
    json_object_update_new(
        line, json_pack("{s:{s:s, s:I, s:I}, s:o, s:o, s:o, s:o, s:o}", "origin", "topic",
                        w->config->schedule, "partition", (json_int_t)stamp->origin_lane, "offset",
                        (json_int_t)stamp->origin_offset, "target", bytes_json(stamp->target), "id",
                        bytes_json(stamp->id), "key", bytes_json(delivered_key(w)), "headers",
                        headers_json(&w->env), "value", bytes_json(w->env.value)));
    json_object_set_new(line, "record_key", bytes_json(w->key));
    return line;
}
