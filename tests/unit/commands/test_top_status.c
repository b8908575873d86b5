/* SPDX-License-Identifier: Apache-2.0 */
/* top_status: each trouble is an alert with its section, and none is shown in calm. */
#include "bridge/commands/top_status.h"

#include "readings.h"

enum { NOW_MS = 1000000 };

static void add_section(void *ctx, const char *sentence, const char *section)
{
    (void)sentence;
    strcat(strcat(ctx, section), " ");
}

/* A trouble, as samples of a process. late_ms: of all deliveries. */
static const struct trouble {
    const char *samples;
    int bucket; /* of lateness */
    const char *section, *word;
} TROUBLES[] = {
    {"", 0, "", "on_time"},
    {"delaybridge_cancel_entries 80\ndelaybridge_cancel_entries_limit 100\n", 0, "", "on_time"},
    {"", SPAN_BUCKETS - 1, "deliveries-are-late ", "late"},
    {"delaybridge_lanes 3\ndelaybridge_lanes_configured 4\n", 0, "a-lane-is-not-served ",
     "needs_attention"},
    {"delaybridge_lanes_unserved 1\n", 0, "a-lane-is-not-served ", "needs_attention"},
    {"delaybridge_topic_findings{kind=\"refuse\"} 1\n", 0, "unsafe-topic-settings ",
     "needs_attention"},
    {"delaybridge_topic_findings{kind=\"fault\"} 1\n", 0, "unsafe-topic-settings ", "on_time"},
    {"delaybridge_level_pending_records{level=\"5s\"} 1\n"
     "delaybridge_partitions{level=\"5s\",state=\"blocked\"} 1\n",
     0, "a-partition-is-blocked ", "needs_attention"},
    {"delaybridge_level_pending_records{level=\"5s\"} 1\n"
     "delaybridge_level_head_deadline_timestamp_seconds{level=\"5s\"} 939\n",
     0, "deliveries-are-late ", "needs_attention"},
    {"delaybridge_target_deliveries_total{target=\"a\"} 0\n"
     "delaybridge_delivery_deferrals_total{target=\"a\"} 1\n",
     0, "target-unavailable ", "needs_attention"},
    {"delaybridge_schedule_read_behind_seconds 1.5\n", 0, "requests-are-read-late ", "on_time"},
    {"delaybridge_lanes_restoring 1\n", 0, "lanes-restore-for-long ", "on_time"},
    {"delaybridge_events_blocked_lanes 1\n", 0, "events-are-blocked ", "on_time"},
    {"delaybridge_cancel_entries 81\ndelaybridge_cancel_entries_limit 100\n", 0,
     "cancels-are-nearly-full ", "on_time"},
    {"delaybridge_dead_letter_records_total{code=\"expired\",target=\"a\"} 1\n", 0,
     "requests-are-dead-lettered ", "on_time"},
};

Test(top_status, each_trouble_has_its_section)
{
    static const struct control_list control;
    for (size_t i = 0; i < sizeof TROUBLES / sizeof *TROUBLES; i++) {
        char sections[512] = "";
        struct top_figures figures = {0};
        reading(&figures, 1000, "");
        reading(&figures, 2000, TROUBLES[i].samples);
        struct top_status status = {
            .figures = &figures, .control = &control, .knows_all = true, .now_wall_ms = NOW_MS};
        status.recent.n[TROUBLES[i].bucket] = 1;
        top_status_alerts(&status, add_section, sections);
        cr_expect_str_eq(sections, TROUBLES[i].section, "trouble %zu: %s", i, sections);
        cr_expect_str_eq(top_status_word(&status), TROUBLES[i].word, "trouble %zu", i);
        top_figures_deinit(&figures);
    }
}

Test(top_status, requests_in_memory_wait_and_unread_ones_do_not)
{
    static const struct control_list control;
    struct top_figures figures = {0};
    reading(&figures, 1000, "");
    reading(&figures, 2000,
            "delaybridge_level_pending_records{level=\"schedule\"} 50\n"
            "delaybridge_level_pending_records{level=\"5s\"} 3\n"
            "delaybridge_schedule_unread_records 10\n");
    struct top_status status = {.figures = &figures, .control = &control, .now_wall_ms = NOW_MS};
    const char *text = PRINTED(top_status_print(&status, out));
    cr_expect_not_null(strstr(text, "  waiting 43  "), "%s", text);
    top_figures_deinit(&figures);
}

Test(top_status, process_that_is_not_ready_comes_first)
{
    static const struct control_list control;
    char sections[512] = "";
    struct top_figures figures = {0};
    reading(&figures, 1000, "");
    figures.now.samples[1].value = 0; /* delaybridge_ready */
    struct top_status status = {.figures = &figures, .control = &control, .now_wall_ms = NOW_MS};
    top_status_alerts(&status, add_section, sections);
    cr_expect_str_eq(sections, "nothing-is-delivered ");
    cr_expect_str_eq(top_status_word(&status), "not_ready");
    top_figures_deinit(&figures);
}
