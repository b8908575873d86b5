/* SPDX-License-Identifier: Apache-2.0 */
/* tally: the numbers of dead-lettered records by code and target. */
#include "bridge/commands/tally.h"

#include <criterion/criterion.h>
#include <stdio.h>

static int add(struct tally *tally, const char *code, const char *target, int64_t failed_ms)
{
    struct dead_record letter = {.code = bytes_text(code),
                                 .target = target == NULL ? bytes_null() : bytes_text(target),
                                 .failed_wall_ms = failed_ms};
    return tally_add(tally, &letter);
}

Test(tally, counts_by_code_and_target)
{
    struct tally tally = {0};
    int first = add(&tally, "too_far", "a", 3000);
    cr_expect_eq(add(&tally, "too_far", "a", 1000), first);
    cr_expect_neq(add(&tally, "too_far", "b", 1), first);
    int none = add(&tally, "too_far", NULL, 1);
    cr_expect_neq(none, add(&tally, "bad_op", NULL, 1));
    tally_remove(&tally, none);
    cr_expect_eq(tally.n, 4);
    json_t *rows = tally_json(&tally), *row = json_array_get(rows, 0);
    cr_expect_eq(json_array_size(rows), 3); /* without the one that was taken back */
    cr_expect_eq(json_integer_value(json_object_get(row, "records")), 2);
    cr_expect_str_eq(json_string_value(json_object_get(row, "first_failed_at")),
                     "1970-01-01T00:00:01.000Z");
    cr_expect_str_eq(json_string_value(json_object_get(row, "last_failed_at")),
                     "1970-01-01T00:00:03.000Z");
    row = json_array_get(rows, 2);
    cr_expect(json_is_null(json_object_get(row, "target")));
    cr_expect_str_eq(json_string_value(json_object_get(row, "code")), "bad_op");
    json_decref(rows);
    tally_deinit(&tally);
}

Test(tally, has_a_bound)
{
    char target[32];
    struct tally tally = {0};
    for (int i = 0; i < 1000; i++) {
        snprintf(target, sizeof target, "t%d", i);
        cr_assert_eq(add(&tally, "e", target, i), i);
    }
    cr_expect_eq(add(&tally, "e", "one more", 1), TALLY_REST);
    cr_expect_eq(add(&tally, "e", "t7", 1), 7);
    cr_expect_eq(tally.rest_n, 1);
    tally_remove(&tally, TALLY_REST);
    cr_expect_eq(tally.rest_n, 0);
    cr_expect_eq(tally.n, 1001);
    tally_deinit(&tally);
}
