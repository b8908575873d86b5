/* SPDX-License-Identifier: Apache-2.0 */
/* open_records: only a transaction that stays open counts as one that delays others. */
#include "consumer/admin/open_records.h"

#include <criterion/criterion.h>

Test(open_records, offsets_between_the_stable_one_and_the_end_wait)
{
    struct open_lane lane = {.stable_offset = 100, .end_offset = 120};
    cr_expect_eq(open_records_of(&lane), 20);
    lane.stable_offset = 120;
    cr_expect_eq(open_records_of(&lane), 0);
    lane.stable_offset = 125; /* the two offsets are queried one after the other */
    cr_expect_eq(open_records_of(&lane), 0);
}

Test(open_records, short_transactions_do_not_count)
{
    struct open_lane first = {100, 120}, later = {150, 160}, same = {100, 130}, closed = {120, 120};
    cr_expect_eq(open_records_lasting(&first, &later), 0, "another transaction");
    cr_expect_eq(open_records_lasting(&first, &same), 30, "the same one, with more behind it");
    cr_expect_eq(open_records_lasting(&first, &closed), 0, "it has ended");
    cr_expect_eq(open_records_lasting(&closed, &(struct open_lane){120, 140}), 0, "it just began");
    cr_expect_eq(open_records_lasting(&(struct open_lane){0, 0}, &first), 0, "no earlier answer");
}
