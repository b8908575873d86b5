/* SPDX-License-Identifier: Apache-2.0 */
/* control_list: entries in force, and the bound that resume prints. */
#include "bridge/commands/control_list.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define NOW ((int64_t)1795680000000)

enum { SECOND = 1000, MINUTE = 60000, HOUR = 3600000, MARGIN_MS = 2000, LEVEL_MS = 2 * HOUR };

static struct control_record entries[CONTROLS_MAX];
static struct control_list list = {.all = entries};

static struct control_record *add(const char *pattern, int64_t at_ms, int64_t until_ms)
{
    struct control_record *record = &entries[list.n++];
    *record = (struct control_record){
        .control = {.op = CONTROL_PAUSE, .at_wall_ms = at_ms, .until_wall_ms = until_ms}};
    snprintf(record->control.pattern, sizeof record->control.pattern, "%s", pattern);
    return record;
}

static int64_t wait_after(const struct control_record *record)
{
    return control_wait_ms(&list, record, LEVEL_MS, NOW) - MARGIN_MS;
}

Test(control_list, bound_is_a_quarter_of_the_pause_within_its_bounds)
{
    struct control_record *record = add("orders", NOW, CONTROL_ENDLESS);
    cr_expect_eq(wait_after(record), PAUSE_WAIT_MIN_MS);
    record->control.at_wall_ms = NOW - 8 * MINUTE;
    cr_expect_eq(wait_after(record), 2 * MINUTE);
    record->control.at_wall_ms = NOW - 10 * HOUR;
    cr_expect_eq(wait_after(record), PAUSE_WAIT_MAX_MS);
    cr_expect_eq(control_wait_ms(&list, record, 30 * SECOND, NOW), 30 * SECOND + MARGIN_MS,
                 "a record checks its target at each hop");
}

Test(control_list, bound_of_a_limit_is_the_longest_level)
{
    struct control_record *record = add("orders", NOW, CONTROL_ENDLESS);
    record->control.op = CONTROL_LIMIT;
    cr_expect_eq(wait_after(record), LEVEL_MS);
}

Test(control_list, older_pause_of_a_matching_pattern_lengthens_the_bound)
{
    struct control_record *record = add("orders", NOW, CONTROL_ENDLESS);
    add("payments", NOW - 8 * MINUTE, CONTROL_ENDLESS);
    cr_expect_eq(wait_after(record), PAUSE_WAIT_MIN_MS);
    add("ord*", NOW - 4 * MINUTE, CONTROL_ENDLESS);
    cr_expect_eq(wait_after(record), MINUTE);
    add("*", NOW - 8 * MINUTE, NOW - PAUSE_WAIT_MAX_MS + 1);
    cr_expect_eq(wait_after(record), 2 * MINUTE, "records may still wait because of it");
}

Test(control_list, older_pause_of_a_part_lengthens_the_bound)
{
    struct control_record *record = add("orders.*", NOW, CONTROL_ENDLESS);
    add("*.timeout", NOW - 8 * MINUTE, CONTROL_ENDLESS);
    cr_expect_eq(wait_after(record), 2 * MINUTE);
    cr_expect_eq(control_list_paused(&list, "orders.*"), CONTROL_ALL);
    cr_expect_eq(control_list_paused(&list, "bills.*"), CONTROL_SOME);
    cr_expect_eq(control_list_paused(&list, "bills.*.retry"), CONTROL_NONE);
}

Test(control_list, pause_that_has_ended_for_long_does_not_lengthen_the_bound)
{
    struct control_record *record = add("orders", NOW, CONTROL_ENDLESS);
    add("ord*", NOW - 10 * HOUR, NOW - PAUSE_WAIT_MAX_MS);
    add("*", NOW - 10 * HOUR, NOW - HOUR);
    cr_expect_eq(wait_after(record), PAUSE_WAIT_MIN_MS);
}

Test(control_list, earlier_pause_of_the_pattern_lengthens_the_bound)
{
    struct control_record past = {.control = {.pattern = "orders",
                                              .op = CONTROL_PAUSE,
                                              .at_wall_ms = NOW - 10 * HOUR,
                                              .until_wall_ms = NOW - MINUTE}};
    struct control_record *record = add("orders", NOW - SECOND, CONTROL_ENDLESS);
    list.past = &past;
    list.past_n = 1;
    cr_expect_eq(wait_after(record), PAUSE_WAIT_MAX_MS);
    past.control.until_wall_ms = NOW - PAUSE_WAIT_MAX_MS;
    cr_expect_eq(wait_after(record), PAUSE_WAIT_MIN_MS, "its records have come");
}

Test(control_list, entries_that_have_ended_do_not_count)
{
    char pattern[32];
    for (int i = 0; i < CONTROLS_MAX; i++) {
        snprintf(pattern, sizeof pattern, "orders.%d", i);
        add(pattern, NOW - HOUR, i % 4 == 0 ? CONTROL_ENDLESS : NOW - (i % 2));
    }
    cr_expect_eq(control_count(&list, NOW), CONTROLS_MAX / 4);
}

Test(control_list, only_entries_in_force_stay)
{
    add("ended", NOW - HOUR, NOW);
    add("orders", NOW - HOUR, CONTROL_ENDLESS);
    add("ended.before", NOW - HOUR, NOW - 1);
    add("payments", NOW - HOUR, NOW + 1);
    control_list_drop_ended(&list, NOW);
    cr_assert_eq(list.n, 2);
    cr_expect_str_eq(list.all[0].control.pattern, "orders");
    cr_expect_str_eq(list.all[1].control.pattern, "payments");
}
