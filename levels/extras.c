/* SPDX-License-Identifier: Apache-2.0 */
/* extras: encoding and decoding of the optional fields of a stamp. */
#include "levels/extras.h"

#include "levels/little.h"
#include "levels/utf8.h"

enum { TAG_ERROR = 1, TAG_DEFERRAL = 2, TAG_RETRY = 3, TAG_SPREAD = 4 };
enum { FIELD_HEAD = 1 + 2, ERROR_FIXED = 2, RETRY_FIXED = 2 + 8 + 4 + 8, TOPIC_MAX = 249 };

static struct bytes cut_phrase(struct bytes phrase)
{
    return bytes_of(phrase.data, utf8_cut(phrase, ERROR_TEXT_MAX));
}

size_t extras_size(const struct extras *extras)
{
    size_t size = 0;
    if (extras->error_code != 0)
        size += FIELD_HEAD + ERROR_FIXED + cut_phrase(extras->error).len;
    if (extras->deferral != 0)
        size += FIELD_HEAD + 1;
    if (extras->is_retry)
        size += FIELD_HEAD + RETRY_FIXED + extras->retry.origin_topic.len;
    if (extras->spread_ms != 0)
        size += FIELD_HEAD + 8;
    return size;
}

static uint8_t *put_head(uint8_t *at, uint8_t tag, size_t len)
{
    *at = tag;
    return put_u16(at + 1, len);
}

static uint8_t *put_retry(uint8_t *at, const struct retry *retry)
{
    assert(retry->origin_topic.len <= TOPIC_MAX);
    at = put_head(at, TAG_RETRY, RETRY_FIXED + retry->origin_topic.len);
    at = put_u16(at, retry->attempt);
    at = put_i64(at, retry->first_ms);
    at = put_u32(at, retry->origin_lane);
    at = put_i64(at, retry->origin_offset);
    return put_bytes(at, retry->origin_topic);
}

uint8_t *extras_encode(const struct extras *extras, uint8_t *out)
{
    if (extras->error_code != 0) {
        struct bytes phrase = cut_phrase(extras->error);
        out = put_head(out, TAG_ERROR, ERROR_FIXED + phrase.len);
        out = put_bytes(put_u16(out, extras->error_code), phrase);
    }
    if (extras->deferral != 0) {
        out = put_head(out, TAG_DEFERRAL, 1);
        *out++ = extras->deferral;
    }
    if (extras->is_retry)
        out = put_retry(out, &extras->retry);
    if (extras->spread_ms != 0) {
        assert(extras->spread_ms > 0);
        out = put_i64(put_head(out, TAG_SPREAD, 8), extras->spread_ms);
    }
    return out;
}

static struct bytes rest_of(struct bytes field, size_t at)
{
    return field.len == at ? bytes_null()
                           : bytes_of((const uint8_t *)field.data + at, field.len - at);
}

static bool read_error(struct bytes field, struct extras *extras)
{
    if (field.len < ERROR_FIXED || field.len > ERROR_FIXED + ERROR_TEXT_MAX)
        return false;
    extras->error_code = get_u16(field.data);
    extras->error = rest_of(field, ERROR_FIXED);
    return extras->error_code != 0;
}

static bool read_deferral(struct bytes field, struct extras *extras)
{
    if (field.len != 1)
        return false;
    extras->deferral = *(const uint8_t *)field.data;
    return extras->deferral != 0;
}

static bool read_retry(struct bytes field, struct extras *extras)
{
    const uint8_t *at = field.data;
    if (field.len < RETRY_FIXED || field.len > RETRY_FIXED + TOPIC_MAX)
        return false;
    extras->is_retry = true;
    extras->retry = (struct retry){.attempt = get_u16(at),
                                   .first_ms = get_i64(at + 2),
                                   .origin_lane = get_u32(at + 10),
                                   .origin_offset = get_i64(at + 14),
                                   .origin_topic = rest_of(field, RETRY_FIXED)};
    return true;
}

static bool read_spread(struct bytes field, struct extras *extras)
{
    if (field.len != 8)
        return false;
    extras->spread_ms = get_i64(field.data);
    return extras->spread_ms > 0;
}

int extras_open(struct bytes bytes, struct extras *extras)
{
    static bool (*const READ[])(struct bytes field,
                                struct extras * extras) = {[TAG_ERROR] = read_error,
                                                           [TAG_DEFERRAL] = read_deferral,
                                                           [TAG_RETRY] = read_retry,
                                                           [TAG_SPREAD] = read_spread};
    const uint8_t *at = bytes.data, *end = at + bytes.len;
    uint8_t last = 0;
    *extras = (struct extras){0};
    while (at < end) {
        if (end - at < FIELD_HEAD || at[0] <= last)
            return ERR_DAMAGED;
        struct bytes field = bytes_of(at + FIELD_HEAD, get_u16(at + 1));
        last = at[0];
        at += FIELD_HEAD;
        if (field.len > (size_t)(end - at))
            return ERR_DAMAGED;
        if (last >= sizeof READ / sizeof *READ)
            return ERR_NEWER;
        if (!READ[last](field, extras))
            return ERR_DAMAGED;
        at += field.len;
    }
    return 0;
}

bool extras_has_retry(struct bytes bytes)
{
    const uint8_t *at = bytes.data, *end = at + bytes.len;
    while (at < end && *at < TAG_RETRY)
        at += FIELD_HEAD + get_u16(at + 1);
    return at < end && *at == TAG_RETRY;
}

const char *delivery_error_name(unsigned error)
{
#define EXTRAS_NAME(id, name, number) [number] = (name),
    static const char *const NAMES[] = {DELIVERY_ERROR_TABLE(EXTRAS_NAME)};
    return error < sizeof NAMES / sizeof *NAMES ? NAMES[error] : NULL;
}

const char *deferral_name(unsigned deferral)
{
    static const char *const NAMES[] = {DEFERRAL_TABLE(EXTRAS_NAME)};
#undef EXTRAS_NAME
    return deferral < sizeof NAMES / sizeof *NAMES ? NAMES[deferral] : NULL;
}
