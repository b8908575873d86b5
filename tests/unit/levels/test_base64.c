/* SPDX-License-Identifier: Apache-2.0 */
/* base64: with padding and without, and each kind of invalid text. */
#include "levels/base64.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(base64, every_length_is_preserved)
{
    unsigned char data[258];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 151);
    for (size_t len = 0; len <= sizeof data; len++) {
        struct bytes decoded;
        char *text = base64_encode(bytes_of(data, len));
        cr_assert_eq(base64_decode(bytes_text(text), &decoded), 0);
        cr_expect(bytes_equal(decoded, bytes_of(data, len)), "%zu", len);
        free(text);
        free((void *)decoded.data);
    }
}

Test(base64, text_that_encode_never_writes_is_refused)
{
    static const char *const BAD[] = {"A",    "AA",   "AAA",      "A===", "====", "AA=A",
                                      "AB==", "AAB=", "AA==AA==", "A-AA", " AAA"};
    struct bytes decoded;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_eq(base64_decode(bytes_text(BAD[i]), &decoded), ERR_DATA, "%s", BAD[i]);
}

Test(base64, text_without_padding_is_preserved)
{
    uint8_t data[7] = {0, 255, 16, 128, 7, 64, 1}, back[7];
    char text[16];
    for (size_t len = 0; len <= sizeof data; len++) {
        size_t n = base64_put(text, bytes_of(data, len));
        cr_expect_eq(n, (len * 4 + 2) / 3);
        cr_assert_eq(base64_take(bytes_of(text, n), back, len), (ptrdiff_t)len);
        cr_expect_eq(memcmp(back, data, len), 0);
    }
}

Test(base64, text_that_put_never_writes_is_refused)
{
    static const char *const BAD[] = {"A", "AAAAA", "AB", "AAB", "A-", "AA==", "AA "};
    uint8_t out[8];
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_eq(base64_take(bytes_text(BAD[i]), out, sizeof out), ERR_DATA, "%s", BAD[i]);
}

Test(base64, text_beyond_the_room_is_refused)
{
    uint8_t out[3];
    cr_expect_eq(base64_take(bytes_text("AAAA"), out, 3), 3);
    cr_expect_eq(base64_take(bytes_text("AAAA"), out, 2), ERR_DATA);
}
