/* SPDX-License-Identifier: Apache-2.0 */
/* heads: when a record leaves its level, for a bridge that keeps records in memory. */
#include "consumer/admin/heads.h"

#include <criterion/criterion.h>

enum { S = 1000, SENT_MS = 1000 * S };

static const struct config CONFIG = {
    .hold_ms = 30 * S,
    .ladder = {.level_ms = {S, 5 * S, 30 * S, 60 * S}, .n = 4, .hold_ms = S, .slack_ms = S / 2}};

/* Returns how long a record stays in the level 60s, which is due so long after its write. */
static int64_t stay_ms(int64_t delay_ms, struct stamp stamp)
{
    stamp.due_ms = SENT_MS + delay_ms;
    return heads_leaves_ms(&CONFIG, 60 * S, SENT_MS, &stamp) - SENT_MS;
}

Test(heads, a_record_with_a_short_rest_leaves_when_it_is_due)
{
    cr_expect_eq(stay_ms(60 * S, (struct stamp){0}), 60 * S);
    cr_expect_eq(stay_ms(65 * S, (struct stamp){0}), 65 * S);
    cr_expect_eq(stay_ms(90 * S, (struct stamp){0}), 90 * S);
    cr_expect_eq(stay_ms(95 * S, (struct stamp){0}), 60 * S, "30s and 5s are more than hold");
}

Test(heads, a_record_that_was_put_back_leaves_at_its_release)
{
    struct stamp paused = {.extras.deferral = DEFERRAL_PAUSED};
    struct stamp failed = {.next_try_ms = SENT_MS + 65 * S};
    cr_expect_eq(stay_ms(65 * S, paused), 60 * S);
    cr_expect_eq(stay_ms(-S, failed), 60 * S);
}
