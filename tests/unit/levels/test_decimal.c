/* SPDX-License-Identifier: Apache-2.0 */
/* decimal: the same text as printf, for each number of digits and for both limits of the type. */
#include "levels/decimal.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void expect_as_printf(int64_t number, int digits)
{
    char want[32], got[DECIMAL_MAX + 1];
    snprintf(want, sizeof want, "%.*" PRId64, digits, number);
    memset(got, '#', sizeof got);
    char *end = decimal_put(got, number, digits);
    cr_assert_leq(end - got, DECIMAL_MAX);
    cr_expect_eq(*end, '#', "%s: more than it says is written", want);
    *end = '\0';
    cr_expect_str_eq(got, want);
}

Test(decimal, number_is_written_as_printf_writes_it)
{
    for (int64_t power = INT64_MAX / 10 + 1; power > 0; power /= 10) { /* of 19 digits down to 1 */
        for (int64_t near = -1; near <= 1; near++) {
            expect_as_printf(power + near, 1);
            expect_as_printf(-power - near, 1);
        }
    }
    for (int64_t power = 1; power < INT64_MAX / 10; power *= 10) {
        expect_as_printf(power - 1, 1);
        expect_as_printf(power, 1);
        expect_as_printf(-power, 1);
    }
    expect_as_printf(INT64_MIN, 1);
    expect_as_printf(INT64_MAX, 1);
}

Test(decimal, number_has_the_requested_number_of_digits)
{
    for (int digits = 0; digits <= 20; digits++) {
        expect_as_printf(0, digits);
        expect_as_printf(42, digits);
        expect_as_printf(-42, digits);
    }
}
