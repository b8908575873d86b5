/* SPDX-License-Identifier: Apache-2.0 */
/* force_marks: upper bounds of instants. */
#include "levels/force_marks.h"

#include <criterion/criterion.h>

Test(force_marks, unknown_cancel_has_no_bound)
{
    struct force_marks marks;
    force_marks_forget(&marks);
    cr_expect_eq(force_marks_bound(&marks, 0), INT64_MAX);
    force_marks_note(&marks, 5, 1000);
    cr_expect_eq(force_marks_bound(&marks, 5), 1000);
    cr_expect_eq(force_marks_bound(&marks, 6), INT64_MAX);
}

Test(force_marks, no_bound_is_before_its_cancel)
{
    enum { N = 20000 };
    static int64_t at_ms[N];
    struct force_marks marks;
    uint64_t random = 7;
    int64_t now_ms = 0;
    force_marks_forget(&marks);
    for (int i = 0; i < N; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        now_ms += (int64_t)(random >> 33) % 200;
        at_ms[i] = now_ms;
        force_marks_note(&marks, i, now_ms);
    }
    cr_expect_leq(marks.n, FORCE_MARKS_MAX);
    for (int i = 0; i < N; i++) {
        cr_expect_geq(force_marks_bound(&marks, i), at_ms[i]);
        cr_expect_leq(force_marks_bound(&marks, i), at_ms[i] + 4 * marks.apart_ms);
    }
}

Test(force_marks, later_note_of_an_old_cancel_raises_its_bound)
{
    struct force_marks marks;
    force_marks_forget(&marks);
    force_marks_note(&marks, 5, 1000);
    force_marks_note(&marks, 9, 5000);
    force_marks_note(&marks, 4, 3000);
    cr_expect_eq(force_marks_bound(&marks, 4), 3000);
    cr_expect_eq(force_marks_bound(&marks, 9), 5000);
}
