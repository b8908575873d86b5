/* SPDX-License-Identifier: Apache-2.0 */
/* envelope: encoding and decoding. */
#include "levels/envelope.h"

#include "levels/little.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { VERSION_PLAIN = 1, VERSION_EXTRAS = 2, VERSION_MAX = VERSION_EXTRAS };
enum { CHECKED_AT = 16, STAMP_SIZE = 80, EXTRAS_LENGTH = 2, TARGET_MAX = 249, ERA_SHIFT = 56 };
enum { VALUE_NULL = 1, KEY_OVERRIDDEN = 2, KEY_NULL = 4, HAS_ID = 8, FLAGS_KNOWN = 15 };

static const uint8_t MAGIC[4] = {'D', 'L', 'B', 'E'};

bool header_is_ours(const char *name)
{
    return (name[0] | 0x20) == 'd' && (name[1] | 0x20) == 'l' && (name[2] | 0x20) == 'b' &&
           name[3] == '-';
}

static struct bytes stamp_key(const struct stamp *stamp)
{
    return stamp->key_overridden ? stamp->key : bytes_null();
}

/* Returns the size of the extras with their length field; 0 without extras. */
static size_t extras_room(const struct stamp *stamp)
{
    return extras_are_none(&stamp->extras) ? 0 : EXTRAS_LENGTH + extras_size(&stamp->extras);
}

static size_t size_of(const struct stamp *stamp, size_t headers_len, struct bytes value)
{
    return STAMP_SIZE + extras_room(stamp) + stamp->target.len + stamp_key(stamp).len +
           stamp->id.len + headers_len + value.len;
}

/* Writes all before the headers except the checksum. Returns the address of the headers. */
static uint8_t *stamp_encode(const struct stamp *stamp, uint8_t *out)
{
    struct bytes key = stamp_key(stamp);
    size_t extras_n = extras_room(stamp);
    assert(stamp->target.len >= 1 && stamp->target.len <= TARGET_MAX);

    memcpy(out, MAGIC, sizeof MAGIC);
    out[4] = extras_n == 0 ? VERSION_PLAIN : VERSION_EXTRAS;
    out[5] = (uint8_t)((stamp->key_overridden ? KEY_OVERRIDDEN : 0) |
                       (stamp->key_overridden && bytes_is_null(key) ? KEY_NULL : 0) |
                       (bytes_is_null(stamp->id) ? 0 : HAS_ID));
    put_u16(out + 6, stamp->attempt);
    put_i64(out + 16, stamp->due_ms);
    put_i64(out + 24, stamp->timestamp_ms);
    put_i64(out + 32, stamp->expires_ms);
    put_i64(out + 40, stamp->next_try_ms);
    put_i64(out + 48, stamp->origin_offset | (int64_t)((uint64_t)stamp->origin_era << ERA_SHIFT));
    put_u32(out + 56, stamp->origin_lane);
    put_u16(out + 64, stamp->target.len);
    put_u16(out + 66, stamp->id.len);
    put_u32(out + 68, key.len);
    uint8_t *at = out + STAMP_SIZE;
    if (extras_n > 0)
        at = extras_encode(&stamp->extras, put_u16(at, extras_n - EXTRAS_LENGTH));
    return put_bytes(put_bytes(put_bytes(at, stamp->target), key), stamp->id);
}

/* Writes counts, value and checksum after the headers, which extend from `headers` to `end`. */
static void seal(uint8_t *out, const uint8_t *headers, uint8_t *end, size_t headers_n,
                 struct bytes value)
{
    if (bytes_is_null(value))
        out[5] |= VALUE_NULL;
    put_u32(out + 60, headers_n);
    put_u32(out + 72, (size_t)(end - headers));
    put_u32(out + 76, value.len);
    end = put_bytes(end, value);
    put_u64(out + 8,
            XXH3_64bits_withSeed(out + CHECKED_AT, (size_t)(end - out) - CHECKED_AT, get_u64(out)));
}

size_t envelope_enclosed_size(const struct stamp *stamp, const struct record *record)
{
    size_t headers_len = 0;
    for (size_t i = 0; i < record->headers_n; i++) {
        const struct header *header = &record->headers[i];
        if (!header_is_ours(header->name))
            headers_len += 4 + strlen(header->name) + 1 + 4 + header->value.len;
    }
    return size_of(stamp, headers_len, record->value);
}

static uint8_t *header_encode(uint8_t *at, const struct header *header)
{
    size_t name_n = strlen(header->name);
    assert(header->value.len <= INT32_MAX);
    put_u32(at, name_n);
    at = put_bytes(at + 4, bytes_of(header->name, name_n + 1));
    put_u32(at, bytes_is_null(header->value) ? UINT32_MAX : header->value.len);
    return put_bytes(at + 4, header->value);
}

void envelope_enclose(const struct stamp *stamp, const struct record *record, void *out)
{
    uint8_t *headers = stamp_encode(stamp, out), *end = headers;
    size_t headers_n = 0;
    for (size_t i = 0; i < record->headers_n; i++) {
        if (header_is_ours(record->headers[i].name))
            continue;
        end = header_encode(end, &record->headers[i]);
        headers_n++;
    }
    seal(out, headers, end, headers_n, record->value);
}

size_t envelope_size(const struct envelope *env)
{
    return size_of(&env->stamp, env->headers.len, env->value);
}

void envelope_encode(const struct envelope *env, void *out)
{
    uint8_t *headers = stamp_encode(&env->stamp, out);
    uint8_t *end = put_bytes(headers, env->headers);
    seal(out, headers, end, env->headers_n, env->value);
}

/* Reads the header at `at` from unchecked bytes that end at `end`. Returns the address after it, or
   NULL if the header is not complete and well formed. */
static const uint8_t *header_read(const uint8_t *at, const uint8_t *end, struct header *header)
{
    if (end - at < 4 + 1 + 4)
        return NULL;
    size_t name_n = get_u32(at), left = (size_t)(end - at) - 4 - 1 - 4;
    if (name_n > left)
        return NULL;
    left -= name_n;
    const uint8_t *name = at + 4;
    if (memchr(name, '\0', name_n + 1) != name + name_n)
        return NULL;

    const uint8_t *value = name + name_n + 1 + 4;
    uint32_t value_n = get_u32(value - 4);
    *header = (struct header){(const char *)name, bytes_null()};
    if (value_n == UINT32_MAX)
        return value;
    if (value_n > INT32_MAX || value_n > left)
        return NULL;
    header->value = bytes_of(value, value_n);
    return value + value_n;
}

static bool headers_are_sound(struct bytes headers, uint32_t headers_n)
{
    const uint8_t *at = headers.data, *end = at + headers.len;
    struct header header;
    for (; headers_n > 0; headers_n--) {
        at = header_read(at, end, &header);
        if (!at)
            return false;
    }
    return at == end;
}

/* Checks the flags and lengths. An absent field has length 0, so each envelope has one encoding.
   extras_n is the number of bytes between the stamp and the target. */
static bool lengths_are_sound(const uint8_t *in, size_t len, size_t extras_n)
{
    uint8_t flags = in[5];
    uint64_t target_n = get_u16(in + 64), id_n = get_u16(in + 66), key_n = get_u32(in + 68);
    uint64_t headers_len = get_u32(in + 72), value_n = get_u32(in + 76);

    if (flags & ~FLAGS_KNOWN || target_n < 1 || target_n > TARGET_MAX)
        return false;
    if (!(flags & KEY_OVERRIDDEN) && (key_n > 0 || flags & KEY_NULL))
        return false;
    if ((flags & KEY_NULL && key_n > 0) || (flags & VALUE_NULL && value_n > 0) ||
        (!(flags & HAS_ID) && id_n > 0))
        return false;
    return STAMP_SIZE + extras_n + target_n + key_n + id_n + headers_len + value_n == len;
}

/* Reads the extras of version 2. *extras_n is their size with the length field. */
static int open_extras(struct bytes bytes, struct extras *extras, size_t *extras_n)
{
    const uint8_t *in = bytes.data;
    if (in[5] & ~FLAGS_KNOWN) /* written by a newer program */
        return ERR_NEWER;
    if (bytes.len < STAMP_SIZE + EXTRAS_LENGTH)
        return ERR_DAMAGED;
    size_t len = get_u16(in + STAMP_SIZE);
    *extras_n = EXTRAS_LENGTH + len;
    if (len == 0 || bytes.len < STAMP_SIZE + *extras_n)
        return ERR_DAMAGED;
    return extras_open(bytes_of(in + STAMP_SIZE + EXTRAS_LENGTH, len), extras);
}

/* Takes the next n bytes; null if the field is absent. */
static struct bytes take(const uint8_t **at, size_t n, bool present)
{
    struct bytes taken = present ? bytes_of(*at, n) : bytes_null();
    *at += n;
    return taken;
}

static void read_origin(const uint8_t *in, struct stamp *stamp)
{
    uint64_t origin = get_u64(in + 48);
    stamp->origin_offset = (int64_t)(origin & (((uint64_t)1 << ERA_SHIFT) - 1));
    stamp->origin_era = (uint8_t)(origin >> ERA_SHIFT);
    stamp->origin_lane = get_u32(in + 56);
}

/* Reads the numbers of the stamp, not its pointers. */
static void read_stamp(const uint8_t *in, struct stamp *stamp)
{
    stamp->due_ms = get_i64(in + 16);
    stamp->timestamp_ms = get_i64(in + 24);
    stamp->expires_ms = get_i64(in + 32);
    stamp->next_try_ms = get_i64(in + 40);
    read_origin(in, stamp);
    stamp->attempt = get_u16(in + 6);
    stamp->op = REQUEST_SCHEDULE;
    stamp->key_overridden = in[5] & KEY_OVERRIDDEN;
}

int envelope_open(struct bytes bytes, struct envelope *env)
{
    const uint8_t *in = bytes.data;
    size_t extras_n = 0;
    if (bytes.len < CHECKED_AT || memcmp(in, MAGIC, sizeof MAGIC) != 0)
        return ERR_FOREIGN;
    if (get_u64(in + 8) !=
        XXH3_64bits_withSeed(in + CHECKED_AT, bytes.len - CHECKED_AT, get_u64(in)))
        return ERR_DAMAGED;
    if (in[4] > VERSION_MAX)
        return ERR_NEWER;
    if (in[4] < VERSION_PLAIN)
        return ERR_DAMAGED;
    env->stamp.extras = (struct extras){0};
    if (in[4] == VERSION_EXTRAS) {
        int err = open_extras(bytes, &env->stamp.extras, &extras_n);
        if (err != 0)
            return err;
    }
    if (bytes.len < STAMP_SIZE || !lengths_are_sound(in, bytes.len, extras_n))
        return ERR_DAMAGED;

    uint8_t flags = in[5];
    const uint8_t *at = in + STAMP_SIZE + extras_n;
    read_stamp(in, &env->stamp);
    env->stamp.target = take(&at, get_u16(in + 64), true);
    env->stamp.key = take(&at, get_u32(in + 68), flags & KEY_OVERRIDDEN && !(flags & KEY_NULL));
    env->stamp.id = take(&at, get_u16(in + 66), flags & HAS_ID);
    env->headers_n = get_u32(in + 60);
    env->headers = take(&at, get_u32(in + 72), true);
    env->value = take(&at, get_u32(in + 76), !(flags & VALUE_NULL));
    return headers_are_sound(env->headers, env->headers_n) ? 0 : ERR_DAMAGED;
}

void envelope_origin(struct bytes bytes, struct stamp *stamp)
{
    const uint8_t *in = bytes.data, *at = in + STAMP_SIZE;
    stamp->extras.is_retry = false;
    if (in[4] == VERSION_EXTRAS) {
        struct bytes extras = bytes_of(at + EXTRAS_LENGTH, get_u16(at));
        stamp->extras.is_retry = extras_has_retry(extras);
        at += EXTRAS_LENGTH + extras.len;
    }
    at += get_u16(in + 64) + get_u32(in + 68);
    read_origin(in, stamp);
    stamp->id = take(&at, get_u16(in + 66), in[5] & HAS_ID);
}

bool envelope_header_next(const struct envelope *env, size_t *at, struct header *header)
{
    const uint8_t *start = env->headers.data;
    if (*at >= env->headers.len)
        return false;
    const uint8_t *after = header_read(start + *at, start + env->headers.len, header);
    assert(after); /* envelope_open has checked them all */
    *at = (size_t)(after - start);
    return true;
}
