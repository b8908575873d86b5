/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of a dead-lettered record, and the filter of the commands on them. */
#include "levels/dead_record.h"

#include "levels/origin.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static struct bytes last_header(const struct record *record, const char *name)
{
    for (size_t i = record->headers_n; i > 0; i--)
        if (strcmp(record->headers[i - 1].name, name) == 0)
            return record->headers[i - 1].value;
    return bytes_null();
}

/* Reads decimal digits. Returns false for any other text and above 64 bits. */
static bool read_number(struct bytes text, int64_t *value)
{
    const char *at = text.data;
    int64_t number = 0;
    for (size_t i = 0; i < text.len; i++)
        if (at[i] < '0' || at[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, at[i] - '0', &number))
            return false;
    *value = number;
    return text.len > 0;
}

static int64_t read_time(const struct record *record, const char *name, int64_t otherwise)
{
    int64_t wall_ms;
    return read_number(last_header(record, name), &wall_ms) ? wall_ms : otherwise;
}

bool dead_record_read(const struct record *record, const struct request_rules *rules,
                      struct dead_record *letter)
{
    *letter = (struct dead_record){
        .code = last_header(record, "dlb-error"),
        .reason = last_header(record, "dlb-reason"),
        .source = last_header(record, "dlb-source"),
        .target = request_target(rules, record),
        .failed_wall_ms = read_time(record, "dlb-failed-at", record->timestamp_ms),
        .sent_wall_ms = read_time(record, "dlb-sent-at", DEAD_RECORD_UNKNOWN_MS),
        .truncated = last_header(record, HEADER_TRUNCATED),
    };
    if (bytes_equal(letter->truncated, bytes_text("all")))
        letter->target = bytes_null();
    return letter->code.len > 0 && letter->source.len > 0;
}

bool dead_record_is_operation(const struct record *record, unsigned formats)
{
    struct bytes op = last_header(record, "dlb-op");
    if (!bytes_is_null(op))
        return bytes_equal(op, bytes_text("cancel")) || bytes_equal(op, bytes_text("replace"));
    return compat_read(formats, record).op != REQUEST_SCHEDULE;
}

bool dead_record_source(const struct dead_record *letter, const char *schedule, int *lane,
                        int64_t *offset)
{
    struct origin origin;
    if (!origin_parse(letter->source, &origin) || !bytes_equal(origin.topic, bytes_text(schedule)))
        return false;
    *lane = (int)origin.lane;
    *offset = origin.offset;
    return true;
}

static bool contains(const char *const *list, int n, struct bytes text)
{
    for (int i = 0; i < n; i++)
        if (bytes_equal(bytes_text(list[i]), text))
            return true;
    return n == 0;
}

bool dead_filter_selects(const struct dead_filter *filter, const struct dead_record *letter)
{
    return contains(filter->codes, filter->codes_n, letter->code) &&
           contains(filter->targets, filter->targets_n, letter->target) &&
           letter->failed_wall_ms >= filter->since_wall_ms &&
           letter->failed_wall_ms < filter->until_wall_ms;
}

/* Returns the sum of the hashes of the different words. A sum does not depend on their order. */
static uint64_t hash_of_set(const char *const *list, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        if (i == 0 || !contains(list, i, bytes_text(list[i])))
            sum += XXH3_64bits(list[i], strlen(list[i]));
    return sum;
}

uint64_t dead_filter_hash(const struct dead_filter *filter)
{
    uint64_t parts[] = {hash_of_set(filter->codes, filter->codes_n),
                        hash_of_set(filter->targets, filter->targets_n),
                        (uint64_t)filter->since_wall_ms, (uint64_t)filter->until_wall_ms};
    uint8_t bytes[sizeof parts];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(parts[i / 8] >> (i % 8 * 8));
    return XXH3_64bits(bytes, sizeof bytes);
}
