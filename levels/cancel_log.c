/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_log: encoding and decoding. */
#include "levels/cancel_log.h"

#include "levels/little.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { VERSION = 1, CHECKED_AT = 16, SEAL_ENDS_AT = 32, SEAL_END_SIZE = 16 };

static const char MAGICS[][4] = {[CANCEL_RECORD_ENTRY] = {'D', 'L', 'B', 'C'},
                                 [CANCEL_RECORD_SEAL] = {'D', 'L', 'B', 'S'},
                                 [CANCEL_RECORD_CUT] = {'D', 'L', 'B', 'X'}};
enum { MAGICS_N = sizeof MAGICS / sizeof *MAGICS };

static void put_head(uint8_t *out, enum cancel_record type, uint8_t era)
{
    memset(out, 0, CHECKED_AT);
    memcpy(out, MAGICS[type], sizeof MAGICS[type]);
    out[4] = VERSION;
    out[7] = era;
}

static uint64_t checksum_of(const uint8_t *record, size_t size)
{
    return XXH3_64bits_withSeed(record + CHECKED_AT, size - CHECKED_AT, get_u64(record));
}

static size_t put_checksum(uint8_t *out, const uint8_t *end)
{
    size_t size = (size_t)(end - out);
    put_u64(out + 8, checksum_of(out, size));
    return size;
}

size_t cancel_entry_encode(const struct cancel_entry *entry, void *out)
{
    uint8_t *start = out;
    put_head(start, CANCEL_RECORD_ENTRY, entry->era);
    start[5] = (uint8_t)entry->kind;
    start[6] = (uint8_t)entry->op;
    uint8_t *at = put_i64(start + CHECKED_AT, entry->offset);
    return put_checksum(start, put_i64(put_i64(at, entry->timestamp_ms), entry->in_force_ms));
}

size_t cancel_seal_encode(const struct cancel_seal *seal, void *out)
{
    uint8_t *start = out;
    assert(seal->n <= SEAL_ENDS_MAX);
    put_head(start, CANCEL_RECORD_SEAL, seal->era);
    uint8_t *at = put_u32(put_u32(put_i64(start + CHECKED_AT, seal->number), seal->n), 0);
    for (size_t i = 0; i < seal->n; i++)
        at = put_i64(put_i64(at, seal->ends[i].level_ms), seal->ends[i].end);
    return put_checksum(start, at);
}

size_t cancel_cut_encode(const struct cancel_cut *cut, void *out)
{
    uint8_t *start = out;
    put_head(start, CANCEL_RECORD_CUT, cut->era);
    return put_checksum(start, put_i64(start + CHECKED_AT, cut->at));
}

static int decode_entry(const uint8_t *at, size_t size, struct cancel_entry *entry)
{
    if (size != CANCEL_ENTRY_SIZE || at[5] > CANCEL_BY_ID || at[6] > CANCEL_OP_REPLACE)
        return ERR_DAMAGED;
    *entry = (struct cancel_entry){.kind = (enum cancel_kind)at[5],
                                   .op = (enum cancel_op)at[6],
                                   .era = at[7],
                                   .offset = get_i64(at + 16),
                                   .timestamp_ms = get_i64(at + 24),
                                   .in_force_ms = get_i64(at + 32)};
    return entry->offset < 0 ? ERR_DAMAGED : 0;
}

static int decode_seal(const uint8_t *at, size_t size, struct cancel_seal *seal)
{
    if (size < SEAL_ENDS_AT)
        return ERR_DAMAGED;
    seal->number = get_i64(at + 16);
    seal->era = at[7];
    seal->n = get_u32(at + 24);
    if (seal->number < 0 || seal->n > SEAL_ENDS_MAX ||
        size != SEAL_ENDS_AT + seal->n * SEAL_END_SIZE)
        return ERR_DAMAGED;
    at += SEAL_ENDS_AT;
    for (size_t i = 0; i < seal->n; i++, at += SEAL_END_SIZE)
        seal->ends[i] = (struct seal_end){.level_ms = get_i64(at), .end = get_i64(at + 8)};
    return 0;
}

static int decode_cut(const uint8_t *at, size_t size, struct cancel_cut *cut)
{
    if (size != CANCEL_CUT_SIZE)
        return ERR_DAMAGED;
    *cut = (struct cancel_cut){.era = at[7], .at = get_i64(at + CHECKED_AT)};
    return cut->at < 0 ? ERR_DAMAGED : 0;
}

static bool find_type(const uint8_t *at, enum cancel_record *type)
{
    for (size_t i = 0; i < MAGICS_N; i++) {
        if (memcmp(at, MAGICS[i], sizeof MAGICS[i]) == 0) {
            *type = (enum cancel_record)i;
            return true;
        }
    }
    return false;
}

int cancel_record_decode(struct bytes value, struct cancel_decoded *decoded)
{
    const uint8_t *at = value.data;
    if (value.len < CHECKED_AT || !find_type(at, &decoded->type))
        return ERR_FOREIGN;
    if (get_u64(at + 8) != checksum_of(at, value.len) || at[4] < VERSION)
        return ERR_DAMAGED;
    if (at[4] > VERSION)
        return ERR_NEWER;
    switch (decoded->type) {
    case CANCEL_RECORD_ENTRY:
        return decode_entry(at, value.len, &decoded->is.entry);
    case CANCEL_RECORD_SEAL:
        return decode_seal(at, value.len, &decoded->is.seal);
    case CANCEL_RECORD_CUT:
        return decode_cut(at, value.len, &decoded->is.cut);
    }
    return ERR_FOREIGN;
}
