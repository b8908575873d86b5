/* SPDX-License-Identifier: Apache-2.0 */
/* shape: limits of JSON texts. */
#include "bridge/admin/shape.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static bool fits(const char *text)
{
    return shape_fits(bytes_text(text));
}

Test(shape, depth_is_limited)
{
    char text[SHAPE_DEPTH_MAX + 2] = {0};
    memset(text, '[', SHAPE_DEPTH_MAX);
    cr_expect(fits(text));
    text[SHAPE_DEPTH_MAX] = '{';
    cr_expect_not(fits(text));
    cr_expect(fits("[][][][][][][][][][][][][][][][][][][]"));
}

Test(shape, values_are_limited)
{
    char *text = calloc(1, SHAPE_VALUES_MAX + 2);
    text[0] = '[';
    memset(text + 1, ',', SHAPE_VALUES_MAX - 1);
    cr_expect(fits(text));
    text[SHAPE_VALUES_MAX] = ',';
    cr_expect_not(fits(text));
    free(text);
}

Test(shape, strings_are_no_values)
{
    cr_expect(fits("{\"a\": \"[[[[[[[[[[[[[[[[[[[[[[[[[[\"}"));
    cr_expect(fits("\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[\""), "an escaped quote ends no string");
    cr_expect_not(fits("\"\\\\\"[[[[[[[[[[[[[[[[[[[[[[[[[["), "an escaped backslash");
    cr_expect(fits("\"never ends \\"));
    cr_expect(shape_fits(bytes_of(NULL, 0)));
}
