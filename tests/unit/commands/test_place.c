/* SPDX-License-Identifier: Apache-2.0 */
/* place: the text of dlb-source, read strictly. */
#include "bridge/commands/place.h"

#include <criterion/criterion.h>
#include <limits.h>

Test(place, names_partition_and_offset)
{
    struct place place;
    cr_assert_eq(place_parse(bytes_text("s.x/3/1048"), "s.x", &place), 0);
    cr_expect_eq(place.partition, 3);
    cr_expect_eq(place.offset, 1048);
    cr_assert_eq(place_parse(bytes_text("s/2147483647/9223372036854775807"), "s", &place), 0);
    cr_expect_eq(place.partition, INT_MAX);
    cr_expect_eq(place.offset, INT64_MAX);
}

Test(place, any_other_text_is_refused)
{
    static const char *const WRONG[] = {
        "",        "s",       "s/",      "s/1",
        "s/1/",    "s//1",    "s/1/2/",  "s/1/2 ",
        "s/ 1/2",  "s/-1/2",  "s/1/+2",  "t/1/2",
        "s.t/1/2", "ss/1/2",  "s/1.0/2", "s/2147483648/0",
        "s/0x1/2", "s/1/2/3", " s/1/2",  "s/0/9223372036854775808",
        "S/1/2",   "s/1/2\n",
    };
    struct place place = {7, 7};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        cr_expect_eq(place_parse(bytes_text(WRONG[i]), "s", &place), ERR_DATA, "%s", WRONG[i]);
    cr_expect_eq(place_parse(bytes_null(), "s", &place), ERR_DATA);
    cr_expect_eq(place.partition, 7);
}
