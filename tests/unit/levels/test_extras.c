/* SPDX-License-Identifier: Apache-2.0 */
/* extras: decoding gives the encoded fields, each once and in order. A phrase is cut between
   characters. */
#include "levels/extras.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* Opens a heap copy of exact size, so that a sanitizer finds reads past the end. */
static int open_exact(const void *data, size_t len, struct extras *extras)
{
    uint8_t *copy = malloc(len ? len : 1);
    cr_assert_not_null(copy);
    memcpy(copy, data, len);
    int err = extras_open(bytes_of(copy, len), extras);
    free(copy);
    return err;
}

#define OPEN(text) open_exact(text, sizeof(text) - 1, &(struct extras){0})

Test(extras, absent_extras_have_no_bytes)
{
    uint8_t out[1];
    const struct extras none = {0};
    struct extras read;
    cr_assert(extras_are_none(&none));
    cr_assert_eq(extras_size(&none), 0);
    cr_assert_eq(extras_encode(&none, out), out);
    cr_assert_eq(extras_open(bytes_of(out, 0), &read), 0);
    cr_assert(extras_are_none(&read));
}

Test(extras, largest_fields_are_preserved)
{
    char topic[249], phrase[ERROR_TEXT_MAX];
    uint8_t out[512];
    memset(topic, 't', sizeof topic);
    memset(phrase, 'p', sizeof phrase);
    const struct extras extras = {.error_code = UINT16_MAX,
                                  .error = bytes_of(phrase, sizeof phrase),
                                  .deferral = UINT8_MAX,
                                  .is_retry = true,
                                  .retry = {.attempt = UINT16_MAX,
                                            .first_ms = INT64_MIN,
                                            .origin_lane = UINT32_MAX,
                                            .origin_offset = INT64_MAX,
                                            .origin_topic = bytes_of(topic, sizeof topic)},
                                  .spread_ms = INT64_MAX};
    struct extras read;
    size_t size = extras_size(&extras);
    cr_assert_leq(size, sizeof out);
    cr_assert_eq(extras_encode(&extras, out), out + size);
    cr_assert_eq(extras_open(bytes_of(out, size), &read), 0);
    cr_assert(read.error_code == UINT16_MAX && bytes_equal(read.error, extras.error));
    cr_assert(read.deferral == UINT8_MAX && read.spread_ms == INT64_MAX && read.is_retry);
    cr_assert(read.retry.attempt == UINT16_MAX && read.retry.first_ms == INT64_MIN);
    cr_assert(read.retry.origin_lane == UINT32_MAX && read.retry.origin_offset == INT64_MAX);
    cr_assert(bytes_equal(read.retry.origin_topic, extras.retry.origin_topic));
}

Test(extras, long_phrase_is_cut_between_characters)
{
    char phrase[ERROR_TEXT_MAX + 2];
    uint8_t out[256];
    struct extras extras = {.error_code = DELIVERY_REFUSED,
                            .error = bytes_of(phrase, sizeof phrase)};
    struct extras read;
    memset(phrase, 'a', sizeof phrase);
    cr_assert_eq(extras_open(bytes_of(out, (size_t)(extras_encode(&extras, out) - out)), &read), 0);
    cr_assert_eq(read.error.len, ERROR_TEXT_MAX);
    memcpy(phrase + ERROR_TEXT_MAX - 2, "\xe2\x82\xac", 3); /* a euro sign over the limit */
    cr_assert_eq(extras_size(&extras), 3 + 2 + ERROR_TEXT_MAX - 2);
    cr_assert_eq(extras_open(bytes_of(out, (size_t)(extras_encode(&extras, out) - out)), &read), 0);
    cr_assert_eq(read.error.len, ERROR_TEXT_MAX - 2);
}

Test(extras, invalid_fields_are_damaged)
{
    cr_assert_eq(OPEN("\x02\x01\0\x01"), 0);
    cr_assert_eq(OPEN("\x02\x01\0\x01\x02\x01\0\x01"), ERR_DAMAGED);   /* the same field twice */
    cr_assert_eq(OPEN("\x02\x01\0\x01\x01\x02\0\x01\0"), ERR_DAMAGED); /* fields out of order */
    cr_assert_eq(OPEN("\x02\x01"), ERR_DAMAGED);                       /* a cut head of a field */
    cr_assert_eq(OPEN("\x02\x01\0"), ERR_DAMAGED);
    cr_assert_eq(OPEN("\x02\x01\0\0"), ERR_DAMAGED); /* no deferral reason */
    cr_assert_eq(OPEN("\x02\x02\0\x01\x01"), ERR_DAMAGED);
    cr_assert_eq(OPEN("\x01\x01\0\x01"), ERR_DAMAGED);   /* half a code */
    cr_assert_eq(OPEN("\x01\x02\0\0\0"), ERR_DAMAGED);   /* no code */
    cr_assert_eq(OPEN("\x03\x02\0\x01\0"), ERR_DAMAGED); /* a cut retry field */
    uint8_t longest[3 + 2 + ERROR_TEXT_MAX + 1] = {1, 2 + ERROR_TEXT_MAX + 1, 0, 1};
    cr_assert_eq(open_exact(longest, sizeof longest, &(struct extras){0}), ERR_DAMAGED);
    uint8_t topic[3 + 22 + 250] = {3, (22 + 250) & 0xff, (22 + 250) >> 8};
    cr_assert_eq(open_exact(topic, sizeof topic, &(struct extras){0}), ERR_DAMAGED);
}

Test(extras, unknown_field_is_newer)
{
    cr_assert_eq(OPEN("\x02\x01\0\x01\x05\0\0"), ERR_NEWER);
    cr_assert_eq(OPEN("\x05\x01\0"), ERR_DAMAGED); /* a cut unknown field */
}

Test(extras, numbers_have_names_and_unknown_ones_none)
{
    cr_assert_str_eq(delivery_error_name(DELIVERY_TIMED_OUT), "timed_out");
    cr_assert_null(delivery_error_name(DELIVERY_NONE));
    cr_assert_null(delivery_error_name(UINT16_MAX));
    cr_assert_str_eq(deferral_name(DEFERRAL_LIMITED), "limited");
    cr_assert_null(deferral_name(DEFERRAL_NONE));
    cr_assert_null(deferral_name(UINT8_MAX));
}
