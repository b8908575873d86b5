/* SPDX-License-Identifier: Apache-2.0 */
/* quote: texts and bytes as JSON strings of bounded length. */
#include "bridge/base/quote.h"

#include <criterion/criterion.h>

Test(quote, text_is_cut_between_characters)
{
    char quoted[8];
    cr_expect_str_eq(quote_text("abc\"def", quoted, 8), "\"abc\\\"\"");
    cr_expect_str_eq(quote_text("abc\"def", quoted, 7), "\"abc\"");
    cr_expect_str_eq(quote_text("é", quoted, 4), "\"\"");
    cr_expect_str_eq(quote_text("é", quoted, 5), "\"é\"");
    cr_expect_str_eq(quote_text("x", quoted, 1), "");
}

Test(quote, bytes_are_text_or_hexadecimal_and_bounded)
{
    char out[QUOTE_BYTES_TEXT_MAX], many[1000];
    cr_expect_str_eq(quote_bytes(bytes_null(), out), "null");
    cr_expect_str_eq(quote_bytes(bytes_text(""), out), "\"\"");
    cr_expect_str_eq(quote_bytes(bytes_text("order \"17\" é"), out), "\"order \\\"17\\\" é\"");
    cr_expect_str_eq(quote_bytes(bytes_of("\0\0\x04\xd2", 4), out), "\"0x000004d2\"");
    cr_expect_str_eq(quote_bytes(bytes_text("a\nb"), out), "\"0x610a62\"");
    memset(many, 'x', sizeof many);
    quote_bytes(bytes_of(many, sizeof many), out);
    cr_expect_eq(strlen(out), QUOTE_BYTES_MAX + strlen("\"...\""), "%s", out);
    memcpy(many + QUOTE_BYTES_MAX - 1, "é", 2); /* the limit is inside a character */
    cr_expect_str_eq(quote_bytes(bytes_of(many, sizeof many), out) + QUOTE_BYTES_MAX, "...\"");
    memset(many, '"', sizeof many); /* each byte in its longest form */
    cr_expect_lt(strlen(quote_bytes(bytes_of(many, sizeof many), out)), QUOTE_BYTES_TEXT_MAX);
    memset(many, 0x80, sizeof many);
    cr_expect_lt(strlen(quote_bytes(bytes_of(many, sizeof many), out)), QUOTE_BYTES_TEXT_MAX);
}
