/* SPDX-License-Identifier: Apache-2.0 */
/* murmur2: the values of Kafka's own test, UtilsTest.testMurmur2, and partitions. */
#include "levels/murmur2.h"

#include <criterion/criterion.h>

static void hashes(const char *key, int32_t hash)
{
    cr_expect_eq((int32_t)murmur2(bytes_text(key)), hash, "%s: %d", key,
                 (int32_t)murmur2(bytes_text(key)));
}

Test(murmur2, hashes_are_those_of_the_java_client)
{
    hashes("21", -973932308);
    hashes("foobar", -790332482);
    hashes("a-little-bit-long-string", -985981536);
    hashes("a-little-bit-longer-string", -1486304829);
    hashes("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971);
    hashes("abc", 479470107);
}

Test(murmur2, the_sign_bit_is_cleared_before_the_division)
{
    cr_expect_eq(murmur2_partition(bytes_text("21"), 8), (-973932308 & 0x7fffffff) % 8);
    cr_expect_eq(murmur2_partition(bytes_text("foobar"), 12), (-790332482 & 0x7fffffff) % 12);
    cr_expect_eq(murmur2_partition(bytes_text("abc"), 1), 0);
}

Test(murmur2, an_empty_key_is_a_key)
{
    cr_expect_eq((int32_t)murmur2(bytes_text("")), 275646681);
}
