/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_log: decoding gives the encoded fields, and changed bytes are refused. */
#include "levels/cancel_log.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const struct cancel_entry entry = {.kind = CANCEL_BY_ID,
                                          .op = CANCEL_OP_REPLACE,
                                          .offset = 123456789012345,
                                          .timestamp_ms = 1790000000001,
                                          .in_force_ms = 1790000000002};
static struct cancel_decoded decoded;

/* On the heap and of exact size, so that a sanitizer finds reads past the end. */
static int decode(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    cr_assert_not_null(copy);
    memcpy(copy, data, size);
    int err = cancel_record_decode(bytes_of(copy, size), &decoded);
    free(copy);
    return err;
}

/* Writes the correct checksum. */
static void seal_bytes(uint8_t *data, size_t size)
{
    uint64_t seed = 0;
    for (int i = 7; i >= 0; i--)
        seed = seed << 8 | data[i];
    uint64_t sum = XXH3_64bits_withSeed(data + 16, size - 16, seed);
    for (int i = 0; i < 8; i++)
        data[8 + i] = (uint8_t)(sum >> 8 * i);
}

static struct cancel_seal seal_of(size_t n)
{
    struct cancel_seal seal = {.number = 7, .n = n};
    for (size_t i = 0; i < n; i++)
        seal.ends[i] = (struct seal_end){.level_ms = (int64_t)i - 1, .end = (int64_t)i * 1000};
    return seal;
}

/* Writes a record of this type and era to out, which has room for CANCEL_SEAL_MAX bytes. */
static size_t write_record(enum cancel_record type, uint8_t era, uint8_t *out)
{
    struct cancel_entry cancel = entry;
    struct cancel_seal seal = seal_of(3);
    struct cancel_cut cut = {.era = era, .at = 123456789012345};
    cancel.era = seal.era = era;
    switch (type) {
    case CANCEL_RECORD_ENTRY:
        return cancel_entry_encode(&cancel, out);
    case CANCEL_RECORD_SEAL:
        return cancel_seal_encode(&seal, out);
    case CANCEL_RECORD_CUT:
        break;
    }
    return cancel_cut_encode(&cut, out);
}

Test(cancel_log, an_entry_keeps_its_fields)
{
    uint8_t out[CANCEL_ENTRY_SIZE];
    cr_assert_eq(cancel_entry_encode(&entry, out), sizeof out);
    cr_assert_eq(decode(out, sizeof out), 0);
    cr_expect_eq(decoded.type, CANCEL_RECORD_ENTRY);
    cr_expect_eq(decoded.is.entry.kind, entry.kind);
    cr_expect_eq(decoded.is.entry.op, entry.op);
    cr_expect_eq(decoded.is.entry.offset, entry.offset);
    cr_expect_eq(decoded.is.entry.timestamp_ms, entry.timestamp_ms);
    cr_expect_eq(decoded.is.entry.in_force_ms, entry.in_force_ms);
}

Test(cancel_log, a_seal_keeps_its_ends)
{
    static const size_t counts[] = {0, 1, 20, SEAL_ENDS_MAX};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        uint8_t out[CANCEL_SEAL_MAX];
        struct cancel_seal seal = seal_of(counts[c]);
        size_t size = cancel_seal_encode(&seal, out);
        cr_assert_leq(size, sizeof out);
        cr_assert_eq(decode(out, size), 0);
        cr_expect_eq(decoded.type, CANCEL_RECORD_SEAL);
        cr_expect_eq(decoded.is.seal.number, 7);
        cr_assert_eq(decoded.is.seal.n, counts[c]);
        cr_expect_eq(memcmp(decoded.is.seal.ends, seal.ends, seal.n * sizeof *seal.ends), 0);
    }
}

Test(cancel_log, a_cut_keeps_its_fields)
{
    static const int64_t offsets[] = {0, 1, 123456789012345, INT64_MAX};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        uint8_t out[CANCEL_CUT_SIZE];
        struct cancel_cut cut = {.era = (uint8_t)(255 - i), .at = offsets[i]};
        cr_assert_eq(cancel_cut_encode(&cut, out), sizeof out);
        cr_assert_eq(decode(out, sizeof out), 0);
        cr_expect_eq(decoded.type, CANCEL_RECORD_CUT);
        cr_expect_eq(decoded.is.cut.era, cut.era);
        cr_expect_eq(decoded.is.cut.at, cut.at);
    }
}

Test(cancel_log, a_cut_below_offset_0_is_damage)
{
    static const int64_t offsets[] = {-1, INT64_MIN};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        uint8_t out[CANCEL_CUT_SIZE];
        struct cancel_cut cut = {.era = 1, .at = offsets[i]};
        cr_expect_eq(decode(out, cancel_cut_encode(&cut, out)), ERR_DAMAGED);
    }
}

Test(cancel_log, each_record_keeps_its_era_in_byte_7)
{
    static const uint8_t eras[] = {0, 1, 128, 255};
    for (size_t i = 0; i < sizeof eras; i++) {
        uint8_t out[CANCEL_SEAL_MAX];
        for (enum cancel_record type = CANCEL_RECORD_ENTRY; type <= CANCEL_RECORD_CUT; type++) {
            cr_assert_eq(decode(out, write_record(type, eras[i], out)), 0);
            cr_assert_eq(decoded.type, type);
            cr_expect_eq(out[7], eras[i]);
            cr_expect_eq(type == CANCEL_RECORD_ENTRY  ? decoded.is.entry.era
                         : type == CANCEL_RECORD_SEAL ? decoded.is.seal.era
                                                      : decoded.is.cut.era,
                         eras[i]);
        }
    }
}

/* Programs that know no eras read and write these bytes. */
Test(cancel_log, bytes_of_a_seal_without_a_cut_stay_the_same_in_all_versions)
{
    uint8_t out[CANCEL_SEAL_MAX],
        stored[48] = {
            'D', 'L', 'B', 'S', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7,    0,    0, 0, 0, 0, 0, 0,
            1,   0,   0,   0,   0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0xe8, 0x03, 0, 0, 0, 0, 0, 0,
        };
    struct cancel_seal seal = {.number = 7, .n = 1, .ends = {{.level_ms = 9, .end = 1000}}};
    seal_bytes(stored, sizeof stored);
    cr_assert_eq(cancel_seal_encode(&seal, out), sizeof stored);
    cr_expect_arr_eq(out, stored, sizeof stored);
}

Test(cancel_log, bytes_of_an_entry_stay_the_same_in_all_versions)
{
    static const uint8_t stored[CANCEL_ENTRY_SIZE] = {
        0x44, 0x4c, 0x42, 0x43, 0x01, 0x01, 0x01, 0x00, 0x43, 0xa9, 0x4f, 0x70, 0x83, 0x4c,
        0x85, 0xe5, 0x79, 0xdf, 0x0d, 0x86, 0x48, 0x70, 0x00, 0x00, 0x01, 0x6c, 0x50, 0xc4,
        0xa0, 0x01, 0x00, 0x00, 0x02, 0x6c, 0x50, 0xc4, 0xa0, 0x01, 0x00, 0x00,
    };
    uint8_t out[CANCEL_ENTRY_SIZE];
    cancel_entry_encode(&entry, out);
    cr_expect_arr_eq(out, stored, sizeof out);
}

Test(cancel_log, each_changed_bit_is_refused)
{
    uint8_t out[CANCEL_SEAL_MAX];
    for (enum cancel_record type = CANCEL_RECORD_ENTRY; type <= CANCEL_RECORD_CUT; type++) {
        size_t size = write_record(type, 5, out);
        for (size_t bit = 0; bit < size * 8; bit++) {
            out[bit / 8] ^= (uint8_t)(1 << bit % 8);
            cr_expect_neq(decode(out, size), 0, "type %d, bit %zu", (int)type, bit);
            out[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

Test(cancel_log, each_shortened_or_lengthened_record_is_refused)
{
    uint8_t out[CANCEL_SEAL_MAX + 1];
    for (enum cancel_record type = CANCEL_RECORD_ENTRY; type <= CANCEL_RECORD_CUT; type++) {
        size_t size = write_record(type, 5, out);
        out[size] = 0;
        for (size_t cut = 0; cut < size; cut++)
            cr_expect_neq(decode(out, cut), 0, "type %d, %zu bytes", (int)type, cut);
        for (size_t cut = 16; cut <= size + 1; cut++) {
            if (cut == size)
                continue;
            write_record(type, 5, out);
            seal_bytes(out, cut);
            cr_expect_eq(decode(out, cut), ERR_DAMAGED, "type %d, %zu bytes", (int)type, cut);
        }
    }
}

Test(cancel_log, a_record_of_a_newer_version_says_its_type)
{
    uint8_t out[CANCEL_SEAL_MAX];
    for (enum cancel_record type = CANCEL_RECORD_ENTRY; type <= CANCEL_RECORD_CUT; type++) {
        size_t size = write_record(type, 5, out);
        out[4] = 2;
        seal_bytes(out, size);
        cr_expect_eq(decode(out, size), ERR_NEWER);
        cr_expect_eq(decoded.type, type);
    }
}

Test(cancel_log, fields_out_of_range_are_damage)
{
    uint8_t out[CANCEL_ENTRY_SIZE];
    static const struct {
        size_t at;
        uint8_t byte;
    } changes[] = {{4, 0}, {5, 2}, {6, 2}, {23, 0x80}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        size_t size = cancel_entry_encode(&entry, out);
        out[changes[i].at] = changes[i].byte;
        seal_bytes(out, size);
        cr_expect_eq(decode(out, size), ERR_DAMAGED, "byte %zu", changes[i].at);
    }
}

Test(cancel_log, a_seal_with_a_false_count_is_damage)
{
    uint8_t out[CANCEL_SEAL_MAX];
    struct cancel_seal seal = seal_of(3);
    static const uint8_t counts[][4] = {
        {2}, {4}, {255, 255, 255, 255}, {3, 0, 0, 1}, {3, 0, 0, 16}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t size = cancel_seal_encode(&seal, out);
        memcpy(out + 24, counts[i], sizeof counts[i]);
        seal_bytes(out, size);
        cr_expect_eq(decode(out, size), ERR_DAMAGED, "%zu", i);
    }
}

Test(cancel_log, other_records_are_foreign)
{
    cr_expect_eq(cancel_record_decode(bytes_null(), &decoded), ERR_FOREIGN);
    cr_expect_eq(decode((const uint8_t *)"", 0), ERR_FOREIGN);
    cr_expect_eq(decode((const uint8_t *)"DLBE: an envelope's magic", 25), ERR_FOREIGN);
}
