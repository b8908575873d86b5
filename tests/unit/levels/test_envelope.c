/* SPDX-License-Identifier: Apache-2.0 */
/* envelope: decoding gives the encoded fields, and changed bytes are refused. */
#include "levels/envelope.h"
#include "tests/unit/levels/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Copies to the heap in exact size, so that a sanitizer finds reads past the end. */
static struct bytes exact(const void *data, size_t len)
{
    void *copy = malloc(len ? len : 1);
    cr_assert_not_null(copy);
    if (len > 0)
        memcpy(copy, data, len);
    return bytes_of(copy, len);
}

static struct bytes enclose(const struct stamp *stamp, const struct record *record)
{
    size_t size = envelope_enclosed_size(stamp, record);
    void *out = malloc(size);
    cr_assert_not_null(out);
    envelope_enclose(stamp, record, out);
    return bytes_of(out, size);
}

static struct bytes encode(const struct envelope *env)
{
    size_t size = envelope_size(env);
    void *out = malloc(size);
    cr_assert_not_null(out);
    envelope_encode(env, out);
    return bytes_of(out, size);
}

static void release(struct bytes bytes)
{
    free((void *)(uintptr_t)bytes.data);
}

/* Writes the correct checksum. */
static void seal(uint8_t *data, size_t len)
{
    uint64_t seed = 0, sum;
    cr_assert_geq(len, 16);
    for (int i = 7; i >= 0; i--)
        seed = seed << 8 | data[i];
    sum = XXH3_64bits_withSeed(data + 16, len - 16, seed);
    for (int i = 0; i < 8; i++)
        data[8 + i] = (uint8_t)(sum >> 8 * i);
}

static int open_exact(const void *data, size_t len, struct envelope *env)
{
    struct bytes copy = exact(data, len);
    int err = envelope_open(copy, env);
    release(copy);
    return err;
}

static const struct header HEADERS[] = {
    {"trace", {"abc", 3}}, {"DLB-Delay", {"5s", 2}}, {"empty", {"", 0}},   {"null", {NULL, 0}},
    {"trace", {"def", 3}}, {"dlb-target", {"t", 1}}, {"", {"nameless", 8}}};

static struct stamp some_stamp(void)
{
    return (struct stamp){
        .due_ms = 1700000000123,
        .timestamp_ms = -1,
        .expires_ms = STAMP_NEVER,
        .next_try_ms = 1700000005000,
        .origin_offset = 0x02030405060708,
        .origin_era = 1,
        .origin_lane = 0xfffffffe,
        .attempt = 513,
        .key_overridden = true,
        .key = bytes_text("other"),
        .id = bytes_text("order-42"),
        .target = bytes_text("orders.due"),
    };
}

static struct record some_record(void)
{
    return (struct record){.key = bytes_text("customer"),
                           .value = bytes_text("payload"),
                           .headers = HEADERS,
                           .headers_n = sizeof HEADERS / sizeof *HEADERS};
}

static struct extras some_extras(void)
{
    return (struct extras){.error_code = DELIVERY_TIMED_OUT,
                           .error = bytes_text("Local: Message timed out"),
                           .deferral = DEFERRAL_FAILED,
                           .is_retry = true,
                           .retry = {.attempt = 513,
                                     .first_ms = 1700000000001,
                                     .origin_lane = 7,
                                     .origin_offset = 0x0807060504030201,
                                     .origin_topic = bytes_text("other.schedule")},
                           .spread_ms = 60000};
}

static void expect_extras(const struct extras *got, const struct extras *want)
{
    cr_assert_eq(got->error_code, want->error_code);
    cr_assert(bytes_equal(got->error, want->error));
    cr_assert_eq(got->deferral, want->deferral);
    cr_assert_eq(got->spread_ms, want->spread_ms);
    cr_assert_eq(got->is_retry, want->is_retry);
    cr_assert_eq(got->retry.attempt, want->retry.attempt);
    cr_assert_eq(got->retry.first_ms, want->retry.first_ms);
    cr_assert_eq(got->retry.origin_lane, want->retry.origin_lane);
    cr_assert_eq(got->retry.origin_offset, want->retry.origin_offset);
    cr_assert(bytes_equal(got->retry.origin_topic, want->retry.origin_topic));
}

static void expect_origin(struct bytes bytes, const struct stamp *want)
{
    struct stamp got;
    envelope_origin(bytes, &got);
    cr_assert_eq(got.origin_offset, want->origin_offset);
    cr_assert_eq(got.origin_era, want->origin_era);
    cr_assert_eq(got.origin_lane, want->origin_lane);
    cr_assert(bytes_equal(got.id, want->id));
    cr_assert_eq(got.extras.is_retry, want->extras.is_retry);
}

static void expect_stamp(const struct stamp *got, const struct stamp *want)
{
    expect_extras(&got->extras, &want->extras);
    cr_assert_eq(got->due_ms, want->due_ms);
    cr_assert_eq(got->timestamp_ms, want->timestamp_ms);
    cr_assert_eq(got->expires_ms, want->expires_ms);
    cr_assert_eq(got->next_try_ms, want->next_try_ms);
    cr_assert_eq(got->origin_offset, want->origin_offset);
    cr_assert_eq(got->origin_era, want->origin_era);
    cr_assert_eq(got->origin_lane, want->origin_lane);
    cr_assert_eq(got->attempt, want->attempt);
    cr_assert_eq(got->key_overridden, want->key_overridden);
    cr_assert(bytes_equal(got->key, want->key));
    cr_assert(bytes_equal(got->id, want->id));
    cr_assert(bytes_equal(got->target, want->target));
}

Test(envelope, opens_to_the_enclosed_fields)
{
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    struct bytes bytes = enclose(&stamp, &record);
    struct envelope env;
    cr_assert_eq(envelope_open(bytes, &env), 0);
    expect_stamp(&env.stamp, &stamp);
    expect_origin(bytes, &stamp);
    cr_assert(bytes_equal(env.value, record.value));
    release(bytes);
}

Test(envelope, extreme_numbers_are_preserved)
{
    struct stamp stamp = {.due_ms = INT64_MIN,
                          .timestamp_ms = INT64_MAX,
                          .expires_ms = INT64_MIN,
                          .next_try_ms = INT64_MAX,
                          .origin_offset = ((int64_t)1 << 56) - 1,
                          .origin_era = UINT8_MAX,
                          .origin_lane = UINT32_MAX,
                          .attempt = UINT16_MAX,
                          .target = bytes_text("t")};
    struct record record = {.value = bytes_text("v")};
    struct bytes bytes = enclose(&stamp, &record);
    struct envelope env;
    cr_assert_eq(envelope_open(bytes, &env), 0);
    expect_stamp(&env.stamp, &stamp);
    expect_origin(bytes, &stamp);
    release(bytes);
}

/* Without a cut the era is 0: programs that know no eras read and write the same bytes. */
Test(envelope, era_is_the_highest_byte_of_the_origin)
{
    static const uint8_t eras[] = {0, 1, 127, 128, 255};
    struct record record = some_record();
    for (size_t i = 0; i < sizeof eras; i++) {
        struct stamp stamp = some_stamp();
        stamp.origin_era = eras[i];
        struct bytes bytes = enclose(&stamp, &record);
        const uint8_t stored[] = {8, 7, 6, 5, 4, 3, 2, eras[i]};
        cr_assert_arr_eq((const uint8_t *)bytes.data + 48, stored, sizeof stored);
        stamp.origin_era = 0;
        struct bytes without = enclose(&stamp, &record);
        cr_assert_eq(without.len, bytes.len);
        for (size_t at = 16; at < bytes.len; at++)
            cr_assert(at == 55 ||
                      ((const uint8_t *)bytes.data)[at] == ((const uint8_t *)without.data)[at]);
        release(without);

        struct envelope env;
        cr_assert_eq(envelope_open(bytes, &env), 0);
        stamp.origin_era = eras[i];
        expect_stamp(&env.stamp, &stamp);
        expect_origin(bytes, &stamp);
        struct bytes again = encode(&env);
        cr_assert_eq(again.len, bytes.len);
        cr_assert_arr_eq(again.data, bytes.data, again.len);
        release(again);
        release(bytes);
    }
}

Test(envelope, user_headers_keep_order_and_bytes)
{
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    struct bytes bytes = enclose(&stamp, &record);
    struct envelope env;
    struct header header;
    size_t at = 0;
    cr_assert_eq(envelope_open(bytes, &env), 0);
    cr_assert_eq(env.headers_n, 5);
    for (size_t i = 0; i < record.headers_n; i++) {
        if (header_is_ours(HEADERS[i].name))
            continue;
        cr_assert(envelope_header_next(&env, &at, &header));
        cr_assert_str_eq(header.name, HEADERS[i].name);
        cr_assert(bytes_equal(header.value, HEADERS[i].value), "%s", header.name);
    }
    cr_assert_not(envelope_header_next(&env, &at, &header));
    release(bytes);
}

Test(envelope, dlb_headers_are_left_out_in_any_case)
{
    cr_assert(header_is_ours("dlb-due") && header_is_ours("DLB-Due") && header_is_ours("dLb-"));
    cr_assert_not(header_is_ours("") || header_is_ours("d") || header_is_ours("dlb") ||
                  header_is_ours("dlbx") || header_is_ours(" dlb-due") || header_is_ours("$lb-"));
}

Test(envelope, null_is_not_empty)
{
    const struct bytes kinds[] = {bytes_null(), bytes_text(""), bytes_text("x")};
    for (int value = 0; value < 3; value++)
        for (int id = 0; id < 3; id++)
            for (int key = 0; key < 4; key++) {
                struct stamp stamp = some_stamp();
                stamp.key_overridden = key < 3;
                stamp.key = key < 3 ? kinds[key] : bytes_null();
                stamp.id = kinds[id];
                struct record record = {.value = kinds[value]};
                struct bytes bytes = enclose(&stamp, &record);
                struct envelope env;
                cr_assert_eq(envelope_open(bytes, &env), 0);
                expect_stamp(&env.stamp, &stamp);
                expect_origin(bytes, &stamp);
                cr_assert(bytes_equal(env.value, record.value));
                release(bytes);
            }
}

Test(envelope, key_counts_only_when_it_overrides)
{
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    struct envelope env;
    stamp.key_overridden = false;
    struct bytes bytes = enclose(&stamp, &record);
    cr_assert_eq(envelope_open(bytes, &env), 0);
    cr_assert_not(env.stamp.key_overridden);
    cr_assert(bytes_is_null(env.stamp.key));
    release(bytes);
}

/* Pins the format: waiting records may come from an older program. */
Test(envelope, version_1_stays_readable)
{
    static const uint8_t pinned[] =
        "DLBE\x01\x0a\x03\x00" /* version, flags: id and key; attempt */
        "\x3c\xab\x75\x27\xfb\x18\xa8\x8b"
        "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f\x04\0\0\0\0\0\0\0"
        "\x05\0\0\0\0\0\0\x01\x06\0\0\0\x02\0\0\0" /* origin, two headers */
        "\x01\0\x02\0\x03\0\0\0\x15\0\0\0\x05\0\0\0"
        "tkeyid"
        "\x01\0\0\0a\0\x01\0\0\0b"      /* a: b */
        "\x01\0\0\0c\0\xff\xff\xff\xff" /* c: null */
        "value";
    const struct bytes bytes = bytes_of(pinned, sizeof pinned - 1);
    struct envelope env;
    struct header header;
    size_t at = 0;
    cr_assert_eq(envelope_open(bytes, &env), 0);
    expect_stamp(&env.stamp, &(struct stamp){.due_ms = 1,
                                             .timestamp_ms = 2,
                                             .expires_ms = STAMP_NEVER,
                                             .next_try_ms = 4,
                                             .origin_offset = 5,
                                             .origin_era = 1,
                                             .origin_lane = 6,
                                             .attempt = 3,
                                             .key_overridden = true,
                                             .key = bytes_text("key"),
                                             .id = bytes_text("id"),
                                             .target = bytes_text("t")});
    cr_assert(envelope_header_next(&env, &at, &header));
    cr_assert(strcmp(header.name, "a") == 0 && bytes_equal(header.value, bytes_text("b")));
    cr_assert(envelope_header_next(&env, &at, &header));
    cr_assert(strcmp(header.name, "c") == 0 && bytes_is_null(header.value));
    cr_assert(bytes_equal(env.value, bytes_text("value")));

    uint8_t again[sizeof pinned - 1];
    cr_assert_eq(envelope_size(&env), sizeof again);
    envelope_encode(&env, again);
    cr_assert_arr_eq(again, pinned, sizeof again);
}

/* Pins the format of each field. */
Test(envelope, version_2_stays_readable)
{
    static const uint8_t pinned[] =
        "DLBE\x02\x00\x01\x00"
        "CHECKSUM"
        "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f\x04\0\0\0\0\0\0\0"
        "\x05\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0" /* origin, no headers */
        "\x01\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0"
        "\x31\0"                             /* 49 bytes of extras */
        "\x01\x05\0\x03\0why"                /* last error */
        "\x02\x01\0\x02"                     /* deferral */
        "\x03\x17\0\x08\0\x09\0\0\0\0\0\0\0" /* retry: attempt, first attempt */
        "\x0a\0\0\0\x0b\0\0\0\0\0\0\0s"      /* its origin */
        "\x04\x08\0\x0c\0\0\0\0\0\0\0"       /* spread */
        "tvalue";
    struct bytes bytes = exact(pinned, sizeof pinned - 1);
    struct envelope env;
    seal((uint8_t *)(uintptr_t)bytes.data, bytes.len);
    cr_assert_eq(envelope_open(bytes, &env), 0);
    expect_stamp(&env.stamp, &(struct stamp){.due_ms = 1,
                                             .timestamp_ms = 2,
                                             .expires_ms = STAMP_NEVER,
                                             .next_try_ms = 4,
                                             .origin_offset = 5,
                                             .origin_lane = 6,
                                             .attempt = 1,
                                             .target = bytes_text("t"),
                                             .extras = {.error_code = 3,
                                                        .error = bytes_text("why"),
                                                        .deferral = 2,
                                                        .is_retry = true,
                                                        .retry = {.attempt = 8,
                                                                  .first_ms = 9,
                                                                  .origin_lane = 10,
                                                                  .origin_offset = 11,
                                                                  .origin_topic = bytes_text("s")},
                                                        .spread_ms = 12}});
    cr_assert(bytes_equal(env.value, bytes_text("value")));
    struct bytes again = encode(&env);
    cr_assert_eq(again.len, bytes.len);
    cr_assert_arr_eq(again.data, bytes.data, again.len);
    release(again);
    release(bytes);
}

/* Tries each set of fields, because a field must not need another one. */
Test(envelope, version_2_is_written_only_for_extras)
{
    for (int set = 0; set < 16; set++) {
        const struct extras all = some_extras();
        struct stamp stamp = some_stamp();
        struct record record = some_record();
        stamp.extras.error_code = set & 1 ? all.error_code : 0;
        stamp.extras.error = set & 1 ? all.error : bytes_null();
        stamp.extras.deferral = set & 2 ? all.deferral : 0;
        stamp.extras.is_retry = set & 4;
        if (set & 4)
            stamp.extras.retry = all.retry;
        stamp.extras.spread_ms = set & 8 ? all.spread_ms : 0;
        struct bytes bytes = enclose(&stamp, &record);
        struct envelope env;
        cr_assert_eq(((const uint8_t *)bytes.data)[4], set == 0 ? 1 : 2);
        cr_assert_eq(envelope_open(bytes, &env), 0, "set %d", set);
        expect_stamp(&env.stamp, &stamp);
        cr_assert(bytes_equal(env.value, record.value));
        cr_assert_eq(env.headers_n, 5);

        env.stamp.extras = (struct extras){0};
        struct bytes plain = encode(&env);
        cr_assert_eq(((const uint8_t *)plain.data)[4], 1);
        cr_assert_eq(envelope_open(plain, &env), 0);
        release(plain);
        release(bytes);
    }
}

Test(envelope, retry_changes_the_stamp_alone)
{
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    struct bytes first = enclose(&stamp, &record);
    struct envelope env, again;
    cr_assert_eq(envelope_open(first, &env), 0);
    env.stamp.attempt++;
    env.stamp.next_try_ms += 5000;
    env.stamp.target = bytes_text("a.longer.target.than.before");

    struct bytes second = bytes_of(malloc(envelope_size(&env)), envelope_size(&env));
    envelope_encode(&env, (void *)(uintptr_t)second.data);
    cr_assert_eq(envelope_open(second, &again), 0);
    expect_stamp(&again.stamp, &env.stamp);
    cr_assert_eq(again.headers_n, env.headers_n);
    cr_assert(bytes_equal(again.headers, env.headers));
    cr_assert(bytes_equal(again.value, env.value));
    release(first);
    release(second);
}

Test(envelope, foreign_bytes_differ_from_damage)
{
    struct envelope env;
    cr_assert_eq(envelope_open(bytes_null(), &env), ERR_FOREIGN);
    cr_assert_eq(open_exact("", 0, &env), ERR_FOREIGN);
    cr_assert_eq(open_exact("DLBE", 4, &env), ERR_FOREIGN);
    cr_assert_eq(open_exact("{\"order\": 4711, \"amount\": 20}", 29, &env), ERR_FOREIGN);
}

Test(envelope, truncated_envelope_is_refused)
{
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    struct bytes bytes = enclose(&stamp, &record);
    struct envelope env;
    for (size_t len = 0; len < bytes.len; len++)
        cr_assert_eq(open_exact(bytes.data, len, &env), len < 16 ? ERR_FOREIGN : ERR_DAMAGED);
    release(bytes);
}

Test(envelope, any_flipped_bit_is_damage)
{
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    struct bytes bytes = enclose(&stamp, &record);
    uint8_t *data = (uint8_t *)(uintptr_t)bytes.data;
    struct envelope env;
    for (size_t bit = 0; bit < bytes.len * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(envelope_open(bytes, &env), bit < 32 ? ERR_FOREIGN : ERR_DAMAGED);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    cr_assert_eq(envelope_open(bytes, &env), 0);
    release(bytes);
}

/* With a correct checksum, only lengths, flags and fields decide. */

/* Overwrites bytes, corrects the checksum and opens. */
static int open_patched(struct bytes bytes, size_t at, const void *patch, size_t n)
{
    struct bytes copy = exact(bytes.data, bytes.len);
    uint8_t *data = (uint8_t *)(uintptr_t)copy.data;
    struct envelope env;
    memcpy(data + at, patch, n);
    seal(data, copy.len);
    int err = envelope_open(copy, &env);
    release(copy);
    return err;
}

Test(envelope, newer_version_is_newer_not_damaged)
{
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    struct bytes bytes = enclose(&stamp, &record);
    struct envelope env;
    cr_assert_eq(open_patched(bytes, 4, "\x03\xff", 2), ERR_NEWER);
    cr_assert_eq(open_patched(bytes, 4, "\x00", 1), ERR_DAMAGED);
    ((uint8_t *)(uintptr_t)bytes.data)[4] = 3;
    cr_assert_eq(envelope_open(bytes, &env), ERR_DAMAGED);
    release(bytes);

    uint8_t shortest[16] = {'D', 'L', 'B', 'E', 3};
    seal(shortest, sizeof shortest);
    cr_assert_eq(open_exact(shortest, sizeof shortest, &env), ERR_NEWER);
    for (uint8_t version = 1; version < 3; version++) {
        shortest[4] = version;
        seal(shortest, sizeof shortest);
        cr_assert_eq(open_exact(shortest, sizeof shortest, &env), ERR_DAMAGED);
    }
}

/* The offset of the extras in enclose(some_stamp() with some_extras()). */
enum { EXTRAS_LENGTH_AT = 80, EXTRAS_AT = 82 };

Test(envelope, addition_to_version_2_is_newer_not_damaged)
{
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    stamp.extras.spread_ms = 5;
    struct bytes bytes = enclose(&stamp, &record);
    cr_assert_eq(open_patched(bytes, 5, "\x1a", 1), ERR_NEWER);         /* a flag */
    cr_assert_eq(open_patched(bytes, EXTRAS_AT, "\x05", 1), ERR_NEWER); /* a field */
    cr_assert_eq(open_patched(bytes, EXTRAS_AT, "\xff", 1), ERR_NEWER);
    cr_assert_eq(open_patched(bytes, EXTRAS_AT, "\x04", 1), 0);
    release(bytes);
}

Test(envelope, invalid_version_2_with_a_checksum_is_damaged)
{
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    stamp.extras.spread_ms = 5;
    struct bytes bytes = enclose(&stamp, &record);
    const struct {
        size_t at;
        const char *patch;
        size_t n;
        const char *what;
    } nonsense[] = {
        {EXTRAS_LENGTH_AT, "\0\0", 2, "no extras"},
        {EXTRAS_LENGTH_AT, "\x0a", 1, "extras that end in a field"},
        {EXTRAS_LENGTH_AT, "\xff\xff", 2, "extras beyond the end"},
        {EXTRAS_AT, "\0", 1, "a field without a tag"},
        {EXTRAS_AT + 1, "\x09", 1, "a field beyond the extras"},
        {EXTRAS_AT + 1, "\x07", 1, "a spread of seven bytes"},
        {EXTRAS_AT + 3, "\0", 1, "a spread of nothing"},
        {EXTRAS_AT + 10, "\x80", 1, "a spread below 0"},
    };
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        cr_assert_eq(open_patched(bytes, nonsense[i].at, nonsense[i].patch, nonsense[i].n),
                     ERR_DAMAGED, "%s", nonsense[i].what);
    release(bytes);
}

Test(envelope, invalid_fields_with_a_checksum_are_damaged)
{
    struct stamp stamp = some_stamp();
    struct record record = {.value = bytes_text("payload"),
                            .headers = (struct header[]){{"ab", bytes_text("cd")}},
                            .headers_n = 1};
    struct bytes bytes = enclose(&stamp, &record);
    size_t headers = 80 + stamp.target.len + stamp.key.len + stamp.id.len;
    const struct {
        size_t at;
        const char *patch;
        size_t n;
        const char *what;
    } nonsense[] = {
        {5, "\x1a", 1, "a flag that version 1 does not know"},
        {5, "\x0b", 1, "null value that has bytes"},
        {5, "\x08", 1, "override without its flag"},
        {5, "\x0e", 1, "null override that has bytes"},
        {5, "\x0c", 1, "null override without override"},
        {5, "\x02", 1, "id without its flag"},
        {60, "\x00", 1, "fewer headers than there are"},
        {60, "\x02", 1, "more headers than there are"},
        {60, "\xff\xff\xff\xff", 4, "four billion headers"},
        {64, "\0\0\x12\0", 4, "no target"},
        {64, "\xfa\0", 2, "target too long"},
        {66, "\xff\xff", 2, "id beyond the end"},
        {68, "\xff\xff\xff\xff", 4, "key beyond the end"},
        {68, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, "sum beyond 32 bits"},
        {72, "\x0e\0\0\0\x06", 5, "headers into the value"},
        {72, "\x0c\0\0\0\x08", 5, "value into the headers"},
        {76, "\x06", 1, "bytes after the value"},
        {headers, "\x01", 1, "name without its end"},
        {headers, "\x03", 1, "name over its end"},
        {headers, "\xff\xff\xff\xff", 4, "name beyond the end"},
        {headers + 4, "\0", 1, "end inside the name"},
        {headers + 6, "c", 1, "no end of the name"},
        {headers + 7, "\x03", 1, "header value beyond the end"},
        {headers + 7, "\x01", 1, "bytes after the header value"},
        {headers + 7, "\xfe\xff\xff\xff", 4, "negative length that is not -1"},
        {headers + 7, "\xff\xff\xff\xff", 4, "null header value that has bytes"},
        {headers + 7, "\xff\xff\xff\x7f", 4, "header value of two gigabytes"},
    };
    cr_assert_eq(open_patched(bytes, 0, "D", 1), 0);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        cr_assert_eq(open_patched(bytes, nonsense[i].at, nonsense[i].patch, nonsense[i].n),
                     ERR_DAMAGED, "%s", nonsense[i].what);
    release(bytes);
}

Test(envelope, null_key_without_an_override_is_damaged)
{
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    stamp.key_overridden = false;
    struct bytes bytes = enclose(&stamp, &record);
    cr_assert_eq(open_patched(bytes, 5, "\x08", 1), 0);
    cr_assert_eq(open_patched(bytes, 5, "\x0c", 1), ERR_DAMAGED);
    release(bytes);
}

/* The headers are last here, so a sanitizer also finds reads past the end. */
Test(envelope, truncated_headers_are_damaged)
{
    struct stamp stamp = some_stamp();
    struct record record = {.headers = (struct header[]){{"ab", bytes_text("cd")}}, .headers_n = 1};
    struct bytes bytes = enclose(&stamp, &record);
    for (uint8_t headers_len = 0; headers_len < 13; headers_len++) {
        struct bytes cut = bytes_of(bytes.data, bytes.len - 13 + headers_len);
        cr_assert_eq(open_patched(cut, 72, &headers_len, 1), ERR_DAMAGED, "%d", headers_len);
    }
    cr_assert_eq(open_patched(bytes, 72, "\x0d", 1), 0);
    release(bytes);
}

Test(envelope, longest_target_is_a_topic_name)
{
    char name[250];
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    struct envelope env;
    memset(name, 'n', sizeof name);
    stamp.target = bytes_of(name, 249);
    struct bytes bytes = enclose(&stamp, &record);
    cr_assert_eq(envelope_open(bytes, &env), 0);
    release(bytes);
}

/* An envelope that opens is canonical: encoding it again gives the same bytes. */
Test(envelope, random_bytes_with_a_checksum_open_to_the_same_or_fail)
{
    random_start("envelope");
    struct stamp stamp = some_stamp();
    struct record record = some_record();
    struct bytes made[2] = {enclose(&stamp, &record)};
    stamp.extras = some_extras();
    made[1] = enclose(&stamp, &record);
    int opened = 0;
    for (int round = 0; round < 200000; round++) {
        struct bytes bytes = made[round % 2];
        struct bytes copy =
            exact(bytes.data, bytes.len - (random_next() % 4 ? 0 : random_next() % 9));
        uint8_t *data = (uint8_t *)(uintptr_t)copy.data;
        for (size_t i = random_next() % 4; i > 0; i--)
            data[5 + random_next() % (copy.len - 5)] =
                (uint8_t)(random_next() % 2 ? random_next() % 256 : random_next() % 16);
        seal(data, copy.len);
        struct envelope env;
        if (envelope_open(copy, &env) == 0) {
            void *again = malloc(copy.len);
            cr_assert_eq(envelope_size(&env), copy.len);
            envelope_encode(&env, again);
            cr_assert_arr_eq(again, copy.data, copy.len);
            free(again);
            opened++;
        }
        release(copy);
    }
    cr_assert(opened > 1000 && opened < 200000, "%d opened", opened);
    release(made[0]);
    release(made[1]);
}

Test(envelope, record_is_forwarded_when_due_or_at_its_next_try)
{
    cr_expect_eq(stamp_until_ms(&(struct stamp){.due_ms = 50}), 50);
    cr_expect_eq(stamp_until_ms(&(struct stamp){.due_ms = 50, .next_try_ms = 49}), 50);
    cr_expect_eq(stamp_until_ms(&(struct stamp){.due_ms = 50, .next_try_ms = 51}), 51);
}

Test(envelope, record_can_be_late_from_its_due_time_or_its_request)
{
    cr_expect_eq(stamp_late_from_ms(&(struct stamp){.due_ms = 50, .timestamp_ms = 49}), 50);
    cr_expect_eq(stamp_late_from_ms(&(struct stamp){.due_ms = 50, .timestamp_ms = 51}), 51);
}

Test(envelope, record_is_overdue_while_its_target_delays_it)
{
    cr_expect_eq(stamp_overdue_ms(&(struct stamp){.due_ms = 50, .next_try_ms = 50}), 0);
    cr_expect_eq(stamp_overdue_ms(&(struct stamp){.due_ms = 50, .next_try_ms = 51}), 50);
    struct stamp late_request = {.due_ms = 50, .timestamp_ms = 60, .next_try_ms = 60};
    cr_expect_eq(stamp_overdue_ms(&late_request), 0);
    late_request.next_try_ms = 61;
    cr_expect_eq(stamp_overdue_ms(&late_request), 60);
}
