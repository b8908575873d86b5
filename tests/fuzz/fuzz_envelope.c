/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_envelope: any bytes are safe to open, and encoding an opened envelope gives the same bytes.
 */
#include "levels/envelope.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void open_and_rewrite(struct bytes bytes)
{
    struct envelope env;
    if (envelope_open(bytes, &env) != 0)
        return;
    size_t at = 0, headers_n = 0, names_n = 0;
    struct header header;
    for (; envelope_header_next(&env, &at, &header); headers_n++)
        names_n += strlen(header.name) + header.value.len;
    assert(headers_n == env.headers_n && at == env.headers.len && names_n <= at);
    assert(env.stamp.target.len >= 1 && env.stamp.target.len <= 249);
    assert(envelope_size(&env) == bytes.len);

    void *again = malloc(bytes.len);
    assert(again);
    envelope_encode(&env, again);
    assert(memcmp(again, bytes.data, bytes.len) == 0);
    free(again);
}

static uint64_t little(const uint8_t *at, int n)
{
    uint64_t v = 0;
    while (n-- > 0)
        v = v << 8 | at[n];
    return v;
}

static void put_little(uint8_t *at, int n, uint64_t v)
{
    for (int i = 0; i < n; i++)
        at[i] = (uint8_t)(v >> 8 * i);
}

static void seal(uint8_t *bytes, size_t size)
{
    memcpy(bytes, "DLBE", 4);
    put_little(bytes + 8, 8, XXH3_64bits_withSeed(bytes + 16, size - 16, little(bytes, 8)));
}

/* Corrects the lengths so that the value takes the rest of the bytes. */
static void fit_value(uint8_t *bytes, size_t size, uint8_t version)
{
    uint64_t others = 80 + little(bytes + 64, 2) + little(bytes + 66, 2) + little(bytes + 68, 4) +
                      little(bytes + 72, 4);
    bytes[4] = version;
    if (version == 2 && size >= 82)
        others += 2 + little(bytes + 80, 2);
    if (others < size) {
        put_little(bytes + 76, 4, size - others);
        bytes[5] &= 14;
    }
}

/* A fuzzer cannot guess a checksum. Try the bytes unchanged, then with a correct checksum, then
   with correct lengths too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_and_rewrite(bytes_of(data, size));
    if (size < 16)
        return 0;
    uint8_t *sealed = malloc(size);
    assert(sealed);
    memcpy(sealed, data, size);
    seal(sealed, size);
    open_and_rewrite(bytes_of(sealed, size));
    for (uint8_t version = 1; size >= 80 && version < 3; version++) {
        fit_value(sealed, size, version);
        seal(sealed, size);
        open_and_rewrite(bytes_of(sealed, size));
    }
    free(sealed);
    return 0;
}
