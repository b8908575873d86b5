/* SPDX-License-Identifier: Apache-2.0 */
/* counted: singular for one, plural for all other numbers. */
#include "levels/counted.h"

#include <criterion/criterion.h>

static void expect(int64_t n, const char *noun, const char *want)
{
    char out[COUNTED_MAX];
    cr_expect_str_eq(counted(n, noun, out), want);
}

Test(counted, only_one_is_singular)
{
    expect(1, "request", "1 request");
    expect(0, "request", "0 requests");
    expect(2, "request", "2 requests");
    expect(-1, "request", "-1 requests");
    expect(INT64_MAX, "byte", "9223372036854775807 bytes");
}

Test(counted, plural_follows_the_nouns_end)
{
    expect(2, "delivery", "2 deliveries");
    expect(2, "day", "2 days");
    expect(2, "process", "2 processes");
    expect(2, "batch", "2 batches");
    expect(2, "dead letter", "2 dead letters");
    expect(2, "index", "2 indexes");
    expect(2, "path", "2 paths");
    expect(2, "y", "2 ys");
    expect(2, "h", "2 hs");
    expect(2, "", "2 s");
    expect(1, "delivery", "1 delivery");
}

Test(counted, long_noun_is_cut)
{
    char noun[200], out[COUNTED_MAX];
    for (size_t i = 0; i < sizeof noun; i++)
        noun[i] = 'n';
    noun[sizeof noun - 1] = '\0';
    cr_expect_eq(strlen(counted(2, noun, out)), COUNTED_MAX - 1);
}
