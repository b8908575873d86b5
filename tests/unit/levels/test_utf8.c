/* SPDX-License-Identifier: Apache-2.0 */
/* utf8: the limits of each length, invalid sequences, and cuts. */
#include "levels/utf8.h"

#include <criterion/criterion.h>

static void expect_character(const char *text, uint32_t point)
{
    uint32_t got = 0;
    cr_expect_eq(utf8_take(bytes_text(text), &got), strlen(text), "%x", point);
    cr_expect_eq(got, point);
    cr_expect(utf8_is_valid(bytes_text(text)));
    cr_expect_eq(utf8_take(bytes_of(text, strlen(text) - 1), &got), 0, "%x is incomplete", point);
}

Test(utf8, smallest_and_largest_of_each_length_are_valid)
{
    expect_character("\x01", 1);
    expect_character("\x7f", 0x7f);
    expect_character("\xc2\x80", 0x80);
    expect_character("\xdf\xbf", 0x7ff);
    expect_character("\xe0\xa0\x80", 0x800);
    expect_character("\xed\x9f\xbf", 0xd7ff);
    expect_character("\xee\x80\x80", 0xe000);
    expect_character("\xef\xbf\xbf", 0xffff);
    expect_character("\xf0\x90\x80\x80", 0x10000);
    expect_character("\xf4\x8f\xbf\xbf", 0x10ffff);
}

Test(utf8, overlong_surrogate_and_foreign_bytes_are_invalid)
{
    static const char *const BAD[] = {"\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
                                      "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                                      "\xf5\x80",     "\xc2\x41",         "\xff"};
    uint32_t point;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        cr_expect_eq(utf8_take(bytes_text(BAD[i]), &point), 0, "%zu", i);
        cr_expect_not(utf8_is_valid(bytes_text(BAD[i])), "%zu", i);
    }
    cr_expect(utf8_is_valid(bytes_text("")));
}

Test(utf8, text_is_cut_between_characters)
{
    struct bytes text = bytes_text("a\xc3\xa9\xe2\x82\xac"); /* 1, 2 and 3 bytes */
    static const size_t CUT[] = {0, 1, 1, 3, 3, 3, 6, 6};
    for (size_t most = 0; most < sizeof CUT / sizeof *CUT; most++)
        cr_expect_eq(utf8_cut(text, most), CUT[most], "%zu", most);
}
