/* SPDX-License-Identifier: Apache-2.0 */
/* top_levels: the state of a level, and the table. */
#include "bridge/commands/top_levels.h"

#include "readings.h"

#define OF(metric, level) "delaybridge_" metric "{level=\"" level "\"} "
enum { NOW_MS = 1000000 };

static struct top_figures figures;

static void end(void)
{
    top_figures_deinit(&figures);
    figures = (struct top_figures){0};
}
TestSuite(top_levels, .fini = end);

static const char *state(const char *samples)
{
    struct top_level level;
    end();
    reading(&figures, 1000, samples);
    cr_assert(top_level_at(&figures, 0, &level));
    return top_level_state(&level, NOW_MS);
}

Test(top_levels, the_worst_state_is_shown)
{
    cr_expect_str_eq(state(OF("level_pending_records", "5s") "0\n"), "empty");
#define WAITS OF("level_pending_records", "5s") "3\n"
    cr_expect_str_eq(state(WAITS), "flowing", "its first record is in memory");
#define RETRIES WAITS OF("redelivering_records", "5s") "1\n"
    cr_expect_str_eq(state(RETRIES), "redelivering");
#define WITHHOLDS RETRIES OF("withheld_records", "5s") "1\n"
    cr_expect_str_eq(state(WITHHOLDS), "withheld");
#define HEAD WITHHOLDS OF("level_head_deadline_timestamp_seconds", "5s")
    cr_expect_str_eq(state(HEAD "994\n"), "overdue");
    cr_expect_str_eq(state(HEAD "996\n"), "withheld", "progress is committed a little later");
    cr_expect_str_eq(state(HEAD "994\ndelaybridge_partitions{level=\"5s\",state=\"blocked\"} 1\n"),
                     "blocked");
}

#define TWO                           \
    OF("level_pending_records", "5s") \
    "1234\n" OF("level_pending_records", "1m") "0\n" OF("level_pending_records", "1h") "0\n"

Test(top_levels, brief_table_joins_empty_levels)
{
    reading(&figures, 1000, TWO);
    reading(&figures, 2000, TWO OF("level_head_deadline_timestamp_seconds", "5s") "1002.5\n");
    const char *brief = PRINTED(top_levels_print(&figures, true, NOW_MS, out));
    cr_expect_not_null(strstr(brief, "\n5s                  1,234           2.5 s  flowing "), "%s",
                       brief);
    cr_expect_not_null(strstr(brief, "\nempty: 1m, 1h\n"), "%s", brief);
    const char *full = PRINTED(top_levels_print(&figures, false, NOW_MS, out));
    cr_expect_not_null(strstr(full, "\n1h "), "%s", full);
    cr_expect_null(strstr(full, "empty:"), "%s", full);
}

Test(top_levels, level_without_a_head_has_its_first_record_in_memory)
{
    reading(&figures, 1000, TWO);
    const char *table = PRINTED(top_levels_print(&figures, true, NOW_MS, out));
    cr_expect_not_null(strstr(table, "\n5s                  1,234       in memory  flowing "), "%s",
                       table);
}

Test(top_levels, json_has_what_the_table_has)
{
    reading(&figures, 1000, TWO);
    reading(&figures, 3000,
            TWO "delaybridge_forwarded_records_total{level=\"5s\",kind=\"hop\"} 8\n");
    json_t *levels = top_levels_json(&figures, NOW_MS), *first = json_array_get(levels, 0);
    cr_expect_eq(json_array_size(levels), 3);
    cr_expect_eq(json_integer_value(json_object_get(first, "waiting")), 1234);
    cr_expect_eq(json_real_value(json_object_get(first, "hops_per_s")), 4);
    cr_expect_str_eq(json_string_value(json_object_get(first, "state")), "flowing");
    cr_expect(json_is_null(json_object_get(first, "head_leaves")));
    json_decref(levels);
}
