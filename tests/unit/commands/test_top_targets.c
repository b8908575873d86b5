/* SPDX-License-Identifier: Apache-2.0 */
/* top_targets, top_dead: the state of a target, its pauses, and dead letters. */
#include "bridge/commands/top_dead.h"
#include "bridge/commands/top_targets.h"

#include "readings.h"

#define DELIVERED "delaybridge_target_deliveries_total{target=\""
#define FAILED    "delaybridge_delivery_failures_total{target=\""
#define DEAD      "delaybridge_dead_letter_records_total{code=\""
#define FIRST                                                                         \
    DELIVERED "(none)\"} 0\n" DELIVERED "a.*\"} 10\n" DELIVERED "b\"} 5\n" FAILED     \
              "a.*\",error=\"missing\"} 1\n" FAILED "b\",error=\"missing\"} 3\n" DEAD \
              "expired\",target=\"b\"} 2\n" DEAD "too_far\",target=\"b\"} 1\n" DEAD   \
              "expired\",target=\"a.*\"} 0\n"
#define SECOND                                                                        \
    DELIVERED "(none)\"} 0\n" DELIVERED "a.*\"} 14\n" DELIVERED "b\"} 5\n" FAILED     \
              "a.*\",error=\"missing\"} 3\n" FAILED "b\",error=\"missing\"} 3\n" DEAD \
              "expired\",target=\"b\"} 4\n" DEAD "too_far\",target=\"b\"} 1\n" DEAD   \
              "expired\",target=\"a.*\"} 0\n"                                         \
              "delaybridge_target_limit_per_second{target=\"b\"} 1.5\n"

static struct top_figures figures;

static void read_twice(void)
{
    figures = (struct top_figures){0};
    reading(&figures, 1000, FIRST);
    reading(&figures, 3000, SECOND);
}

static void end(void)
{
    top_figures_deinit(&figures);
}
TestSuite(top_targets, .init = read_twice, .fini = end);

static const struct control_list NO_CONTROL;

Test(top_targets, figures_of_an_entry_are_its_own)
{
    struct top_target a, b, more;
    cr_assert(top_target_at(&figures, 1, &NO_CONTROL, &a));
    cr_assert(top_target_at(&figures, 2, &NO_CONTROL, &b));
    cr_expect_not(top_target_at(&figures, 3, &NO_CONTROL, &more));
    cr_expect_str_eq(a.entry, "a.*");
    cr_expect_eq(a.deliveries_per_s, 2);
    cr_expect_eq(a.failures, 3);
    cr_expect_eq(a.failures_per_s, 1);
    cr_expect_eq(a.dead_letters, 0);
    cr_expect_eq(b.dead_letters, 5, "of all codes");
    cr_expect_eq(b.limit_per_s, 1.5);
    cr_expect_str_eq(top_target_state(&a), "failing");
    cr_expect_str_eq(top_target_state(&b), "limited");
}

Test(top_targets, pause_is_that_of_a_pattern_that_matches_the_entry)
{
    struct top_target a, b;
    struct control_record records[] = {
        {.control = {.pattern = "a*", .op = CONTROL_PAUSE, .until_wall_ms = CONTROL_ENDLESS}},
        {.control = {.pattern = "b.more", .op = CONTROL_PAUSE, .until_wall_ms = CONTROL_ENDLESS}},
    };
    const struct control_list list = {.all = records, .n = 2};
    cr_assert(top_target_at(&figures, 1, &list, &a));
    cr_assert(top_target_at(&figures, 2, &list, &b));
    cr_expect_str_eq(top_target_state(&a), "paused");
    const char *text = PRINTED(top_targets_print(&figures, &list, out));
    cr_expect_not_null(strstr(text, "\na*: paused since 1970-01-01T00:00:00.000Z\n"), "%s", text);
    cr_expect_str_eq(top_target_state(&b), "limited");
}

Test(top_targets, entry_with_a_paused_topic_is_partly_paused)
{
    struct top_target a, b;
    struct control_record records[] = {
        {.control = {.pattern = "a.x", .op = CONTROL_PAUSE, .until_wall_ms = CONTROL_ENDLESS}},
        {.control = {.pattern = "b", .op = CONTROL_LIMIT, .until_wall_ms = CONTROL_ENDLESS}},
    };
    const struct control_list list = {.all = records, .n = 2};
    reading(&figures, 4000, SECOND); /* no more failures */
    cr_assert(top_target_at(&figures, 1, &list, &a));
    cr_assert(top_target_at(&figures, 2, &list, &b));
    cr_expect_str_eq(top_target_state(&a), "partly_paused");
    cr_expect_str_eq(top_target_state(&b), "limited");
}

Test(top_targets, slow_targets_are_counted)
{
    const char *text = PRINTED(top_targets_print(&figures, &NO_CONTROL, out));
    cr_expect_null(strstr(text, "slow"), "%s", text);
    reading(&figures, 4000, SECOND "delaybridge_slow_targets 2\n");
    text = PRINTED(top_targets_print(&figures, &NO_CONTROL, out));
    cr_expect_not_null(strstr(text, "\nslow targets, which delay the others: 2\n"), "%s", text);
}

Test(top_targets, name_of_an_operator_cannot_control_a_terminal)
{
    struct control_record record = {
        .control = {.pattern = "a", .op = CONTROL_PAUSE, .until_wall_ms = CONTROL_ENDLESS},
        .by = "\x1b[2Jx"};
    const struct control_list list = {.all = &record, .n = 1};
    const char *text = PRINTED(top_targets_print(&figures, &list, out));
    cr_expect_null(strchr(text, '\x1b'), "%s", text);
}

Test(top_targets, dead_letters_are_listed_by_code_and_target)
{
    struct top_dead dead;
    size_t i = 0;
    cr_assert(top_dead_next(&figures, &i, &dead));
    cr_expect_str_eq(dead.code, "expired");
    cr_expect_str_eq(dead.target, "b");
    cr_expect_eq(dead.records, 4);
    cr_expect_eq(dead.records_per_s, 1);
    cr_assert(top_dead_next(&figures, &i, &dead));
    cr_expect_str_eq(dead.code, "too_far");
    cr_expect_not(top_dead_next(&figures, &i, &dead), "a kind without records is left out");
}
