/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the text that Prometheus reads, and the table that names its series. */
#include "bridge/service/metrics.h"

#include "bridge/base/version.h"
#include "bridge/service/labels.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct config config;
static struct stats stats;
static struct canary_stats canary;
static struct metrics metrics;
static char text[1 << 18];

static void prepare(void)
{
    config = (struct config){.memory_bytes = 1 << 20, .canary_ms = 10000};
    config.ladder = (struct ladder){.level_ms = {1000, 5000}, .n = 2};
    config.retired_ms[0] = 60000;
    config.retired_n = 1;
    metrics = (struct metrics){
        .config = &config, .stats = &stats, .lanes = 8, .librdkafka = "2.0.2", .ready = true};
}
TestSuite(metrics, .init = prepare);

static const char *written(void)
{
    FILE *out = fmemopen(text, sizeof text, "w");
    metrics_write(out, &metrics);
    fclose(out);
    return text;
}

/* Returns whether the text has exactly this line. */
static bool says(const char *line)
{
    size_t n = strlen(line);
    for (const char *at = written(); (at = strstr(at, line)) != NULL; at += n)
        if ((at == text || at[-1] == '\n') && at[n] == '\n')
            return true;
    return false;
}

Test(metrics, every_line_is_a_comment_or_a_sample_with_a_number)
{
    metrics.canary = &canary;
    config.exactly_once = true;
    int samples = 0;
    for (char *line = strtok((char *)written(), "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (line[0] == '#')
            continue;
        size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz_");
        char *value = strrchr(line, ' '), *end;
        cr_assert(name > 0 && value != NULL, "%s", line);
        cr_expect(line[name] == '{' || line[name] == ' ', "%s", line);
        strtod(value + 1, &end);
        cr_expect(*end == '\0' && end > value + 1, "%s", line);
        samples++;
    }
    cr_expect_gt(samples, 150);
}

Test(metrics, the_table_names_each_metric_once_with_its_help_and_type)
{
    char table[16384], seen[16384] = "", row[512];
    FILE *out = fmemopen(table, sizeof table, "w");
    metrics_print_table(out);
    fclose(out);
    for (char *line = strtok(table, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char name[100], type[20];
        cr_assert_eq(sscanf(line, "%99[^\t]\t%19[^\t]\t", name, type), 2, "%s", line);
        bool total = strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0;
        cr_expect_eq(total, strcmp(type, "counter") == 0, "%s", line);
        snprintf(row, sizeof row, " %s ", name);
        cr_expect(strstr(seen, row) == NULL, "twice: %s", name);
        strncat(seen, row, sizeof seen - strlen(seen) - 1);
    }
    for (char *at = (char *)written(); (at = strstr(at, "# TYPE ")) != NULL; at++) {
        cr_assert_eq(sscanf(at, "# TYPE %99s", row + 1), 1);
        row[0] = ' ';
        strcat(row, " ");
        cr_expect(strstr(seen, row) != NULL, "not in the table: %s", row);
    }
}

Test(metrics, counters_have_the_labels_of_their_origin)
{
    static const char *const entries[] = {"orders.*", "billing"};
    uint8_t numbers[TARGET_LABELS];
    counter_set(&stats.requests, 10);
    counter_set(&stats.refused, 3);
    counter_set(&stats.redeliveries, 4);
    labels_number(LABEL_TARGETS, entries, 2, numbers);
    counter_set(&stats.targets[numbers[0]].dead[CODE_EXPIRED], 6);
    counter_set(&stats.targets[numbers[1]].failures[DELIVERY_MISSING], 5);
    counter_set(&stats.targets[numbers[0]].deliveries, 11);
    counter_set(&stats.targets[LABEL_NONE].deferrals, 12);
    counter_set(&stats.slots[1].hops, 7);
    counter_set(&stats.slots[0].deliveries, 8);
    counter_set(&stats.slots[3].dead, 9);
    cr_expect(says("delaybridge_schedule_records_total{result=\"accepted\"} 7"));
    cr_expect(says("delaybridge_schedule_records_total{result=\"refused\"} 3"));
    cr_expect(says("delaybridge_redeliveries_total 4"));
    cr_expect(
        says("delaybridge_dead_letter_records_total{code=\"expired\",target=\"orders.*\"} 6"));
    cr_expect(says("delaybridge_dead_letter_records_total{code=\"bad_time\",target=\"(none)\"} 0"));
    cr_expect(says("delaybridge_delivery_failures_total{target=\"billing\",error=\"missing\"} 5"));
    cr_expect(
        says("delaybridge_delivery_failures_total{target=\"orders.*\",error=\"timed_out\"} 0"));
    cr_expect(says("delaybridge_target_deliveries_total{target=\"orders.*\"} 11"));
    cr_expect(says("delaybridge_delivery_deferrals_total{target=\"(none)\"} 12"));
    cr_expect(says("delaybridge_forwarded_records_total{level=\"1s\",kind=\"hop\"} 7"));
    cr_expect(says("delaybridge_forwarded_records_total{level=\"schedule\",kind=\"delivery\"} 8"));
    cr_expect(says("delaybridge_forwarded_records_total{level=\"1m\",kind=\"dead_letter\"} 9"));
    cr_expect(says("delaybridge_lanes_configured 8"));
    metrics.watched.lanes_unserved = 2;
    cr_expect(says("delaybridge_lanes_unserved 2"));
    cr_expect(says("delaybridge_memory_limit_bytes 1048576"));
}

Test(metrics, retries_have_their_policy_and_number)
{
    char fast[] = "fast", slow[] = "slow";
    const struct retry_policy policies[] = {{.name = fast}, {.name = slow}};
    uint8_t numbers[TARGET_LABELS];
    labels_number_policies(policies, 2, numbers);
    stats_retry(&stats, numbers[0], 1);
    stats_retry(&stats, numbers[1], 10);
    stats_retry(&stats, numbers[1], 11);
    stats_retry(&stats, numbers[1], 65535);
    cr_expect(says("delaybridge_retry_requests_total{policy=\"fast\",attempt=\"1\"} 1"));
    cr_expect(says("delaybridge_retry_requests_total{policy=\"fast\",attempt=\"2\"} 0"));
    cr_expect(says("delaybridge_retry_requests_total{policy=\"slow\",attempt=\"10\"} 1"));
    cr_expect(says("delaybridge_retry_requests_total{policy=\"slow\",attempt=\"11+\"} 2"));
}

Test(metrics, the_hash_of_the_configuration_differs_where_members_must_agree)
{
    char *one[] = {(char *)"a", (char *)"b"}, *other[] = {(char *)"b", (char *)"a"};
    config.targets = one;
    config.targets_n = 2;
    uint32_t hash = config_hash(&config);
    config.targets = other;
    cr_expect_eq(config_hash(&config), hash, "their order means nothing");
    config.memory_bytes *= 2;
    cr_expect_eq(config_hash(&config), hash, "each process may have its own");
    config.targets_n = 1;
    cr_expect_neq(config_hash(&config), hash);
    config.targets_n = 2;
    config.default_target = (char *)"a";
    cr_expect_neq(config_hash(&config), hash);
    config.default_target = NULL;
    struct retry_policy policies[] = {{.name = (char *)"a", .delays_ms = {5, 6}, .delays_n = 2},
                                      {.name = (char *)"b", .delays_ms = {7}, .delays_n = 1}};
    config.retry = policies;
    config.retry_n = 2;
    uint32_t with_policies = config_hash(&config);
    cr_expect_neq(with_policies, hash);
    policies[0].delays_ms[1] = 8;
    cr_expect_neq(config_hash(&config), with_policies);
    config.retry = NULL;
    config.retry_n = 0;
    config.ladder.level_ms[1] = 6000;
    cr_expect_neq(config_hash(&config), hash);
    config.ladder.level_ms[1] = 5000;
    config.exactly_once = true;
    cr_expect_neq(config_hash(&config), hash);
    metrics.config_hash = 7;
    cr_expect(says("delaybridge_config_hash 7"));
}

Test(metrics, unknown_open_transactions_have_no_series)
{
    metrics.watched.open_records = -1;
    cr_expect_not(says("delaybridge_schedule_open_transaction_records 0"));
    metrics.watched.open_records = 12;
    cr_expect(says("delaybridge_schedule_open_transaction_records 12"));
}

Test(metrics, buckets_are_cumulative_and_in_seconds)
{
    stats_lateness(&stats, 1, 2);
    stats_lateness(&stats, 1, 40);
    stats_lateness(&stats, 1, 400000);
    cr_expect(says("delaybridge_lateness_seconds_bucket{level=\"1s\",le=\"0.001\"} 0"));
    cr_expect(says("delaybridge_lateness_seconds_bucket{level=\"1s\",le=\"0.0025\"} 1"));
    cr_expect(says("delaybridge_lateness_seconds_bucket{level=\"1s\",le=\"0.05\"} 2"));
    cr_expect(says("delaybridge_lateness_seconds_bucket{level=\"1s\",le=\"300\"} 2"));
    cr_expect(says("delaybridge_lateness_seconds_bucket{level=\"1s\",le=\"+Inf\"} 3"));
    cr_expect(says("delaybridge_lateness_seconds_sum{level=\"1s\"} 400.042"));
    cr_expect(says("delaybridge_lateness_seconds_count{level=\"1s\"} 3"));
    cr_expect(says("delaybridge_lateness_seconds_count{level=\"5s\"} 0"));
}

Test(metrics, a_head_is_exported_only_while_records_wait)
{
    cr_expect(strstr(written(), "head_deadline_timestamp_seconds{") == NULL);
    counter_set(&stats.slots[2].head_deadline_wall_ms, 1700000000123);
    cr_expect(
        says("delaybridge_level_head_deadline_timestamp_seconds{level=\"5s\"} 1700000000.123"));
}

Test(metrics, delay_by_targets_is_separate_from_lateness)
{
    cr_expect(strstr(written(), "redelivering_oldest_due_timestamp_seconds{") == NULL);
    spans_add(&stats.target_delay, 61000);
    counter_set(&stats.slots[2].redelivering, 12);
    counter_set(&stats.slots[2].redelivering_due_wall_ms, 1700000000123);
    cr_expect(says("delaybridge_target_delay_seconds_bucket{le=\"60\"} 0"));
    cr_expect(says("delaybridge_target_delay_seconds_bucket{le=\"300\"} 1"));
    cr_expect(says("delaybridge_target_delay_seconds_sum 61.000"));
    cr_expect(says("delaybridge_redelivering_records{level=\"5s\"} 12"));
    cr_expect(
        says("delaybridge_redelivering_oldest_due_timestamp_seconds{level=\"5s\"} 1700000000.123"));
}

Test(metrics, delay_by_operators_is_separate_from_lateness)
{
    static const char *const entries[] = {"orders.*"};
    uint8_t numbers[TARGET_LABELS];
    labels_number(LABEL_TARGETS, entries, 1, numbers);
    cr_expect(strstr(written(), "\ndelaybridge_oldest_pause_timestamp_seconds ") == NULL);
    counter_set(&stats.targets[numbers[0]].paused, 5);
    counter_set(&stats.targets[numbers[0]].limited, 6);
    cr_expect(strstr(written(), "\ndelaybridge_target_limit_per_second{") == NULL);
    counter_set(&stats.targets[numbers[0]].limit_per_minute, 90);
    counter_set(&stats.slots[2].withheld, 12);
    spans_add(&stats.withheld_delay, 61000);
    counter_set(&stats.pauses, 2);
    counter_set(&stats.limits, 3);
    counter_set(&stats.oldest_pause_wall_ms, 1700000000123);
    counter_set(&stats.limits_full, 4);
    cr_expect(says("delaybridge_limits_full_total 4"));
    cr_expect(says("delaybridge_withheld_total{target=\"orders.*\",reason=\"paused\"} 5"));
    cr_expect(says("delaybridge_withheld_total{target=\"orders.*\",reason=\"limited\"} 6"));
    cr_expect(says("delaybridge_withheld_records{level=\"5s\"} 12"));
    cr_expect(says("delaybridge_withheld_delay_seconds_sum 61.000"));
    cr_expect(says("delaybridge_target_limit_per_second{target=\"orders.*\"} 1.5"));
    cr_expect(says("delaybridge_control_entries{op=\"pause\"} 2"));
    cr_expect(says("delaybridge_control_entries{op=\"limit\"} 3"));
    cr_expect(says("delaybridge_oldest_pause_timestamp_seconds 1700000000.123"));
}

Test(metrics, disabled_feature_has_no_series)
{
    cr_expect(strstr(written(), "delaybridge_transactions_total{") == NULL);
    cr_expect(strstr(written(), "\ndelaybridge_canary_sent_total ") == NULL);
    config.exactly_once = true;
    counter_set(&stats.commits, 3);
    metrics.canary = &canary;
    cr_expect(says("delaybridge_transactions_total{result=\"committed\"} 3"));
    cr_expect(says("delaybridge_canary_sent_total 0"));
    cr_expect(says("delaybridge_canary_interval_seconds 10.000"));
    cr_expect(strstr(written(), "canary_last_received_timestamp_seconds 0") == NULL);
}

Test(metrics, each_plain_counter_has_its_name)
{
    counter_set(&stats.window_full, 21);
    counter_set(&stats.already_done, 22);
    counter_set(&stats.missing_offsets, 23);
    counter_set(&stats.lost_positions, 24);
    counter_set(&stats.stall_recoveries, 25);
    counter_set(&stats.rebalances, 26);
    counter_set(&stats.resends, 27);
    counter_set(&stats.order_violations, 28);
    counter_set(&stats.throttled_ms, 2900);
    counter_set(&stats.kept, 61);
    counter_set(&stats.spilled, 62);
    counter_set(&stats.reread, 63);
    cr_expect(says("delaybridge_kept_total 61"));
    cr_expect(says("delaybridge_spilled_total 62"));
    cr_expect(says("delaybridge_reread_records_total 63"));
    cr_expect(says("delaybridge_window_full_total 21"));
    cr_expect(says("delaybridge_already_done_records_total 22"));
    cr_expect(says("delaybridge_missing_offsets_total 23"));
    cr_expect(says("delaybridge_lost_positions_total 24"));
    cr_expect(says("delaybridge_stall_recoveries_total 25"));
    cr_expect(says("delaybridge_rebalances_total 26"));
    cr_expect(says("delaybridge_resends_total 27"));
    cr_expect(says("delaybridge_order_violations_total 28"));
    cr_expect(says("delaybridge_throttle_seconds_total 2.900"));
}

Test(metrics, findings_are_absent_until_the_topics_are_checked)
{
    metrics.refusals = metrics.faults = -1;
    cr_expect(strstr(written(), "delaybridge_topic_findings{") == NULL);
}

Test(metrics, each_gauge_of_lanes_and_records_has_its_name)
{
    counter_set(&stats.lanes, 31);
    counter_set(&stats.buffered_records, 32);
    counter_set(&stats.buffered_bytes, 33);
    counter_set(&stats.slots[0].pending, 34);
    counter_set(&stats.slots[0].blocked, 35);
    counter_set(&stats.slots[1].paused, 36);
    counter_set(&stats.slots[2].reading, 37);
    counter_set(&stats.schedule_unread, 30);
    counter_set(&stats.kept_records, 64);
    counter_set(&stats.kept_bytes, 65);
    metrics.refusals = 38;
    metrics.faults = 39;
    cr_expect(says("delaybridge_schedule_unread_records 30"));
    cr_expect(says("delaybridge_kept_records 64"));
    cr_expect(says("delaybridge_kept_bytes 65"));
    metrics.reload_failed = true;
    cr_expect(says("delaybridge_lanes 31"));
    cr_expect(says("delaybridge_buffered_records 32"));
    cr_expect(says("delaybridge_buffered_bytes 33"));
    cr_expect(says("delaybridge_level_pending_records{level=\"schedule\"} 34"));
    cr_expect(says("delaybridge_partitions{level=\"schedule\",state=\"blocked\"} 35"));
    cr_expect(says("delaybridge_partitions{level=\"1s\",state=\"paused\"} 36"));
    cr_expect(says("delaybridge_partitions{level=\"5s\",state=\"reading\"} 37"));
    cr_expect(says("delaybridge_topic_findings{kind=\"refuse\"} 38"));
    cr_expect(says("delaybridge_topic_findings{kind=\"fault\"} 39"));
    cr_expect(says("delaybridge_reload_failed 1"));
}

Test(metrics, slow_targets_are_counted)
{
    counter_set(&stats.targets_slow, 74);
    cr_expect(says("delaybridge_slow_targets 74"));
}

Test(metrics, events_are_counted_by_type)
{
    counter_set(&stats.events[EVENT_CANCELLED], 71);
    counter_set(&stats.events_lost, 72);
    counter_set(&stats.events_blocked, 73);
    cr_expect(says("delaybridge_events_total{type=\"cancelled\"} 71"));
    cr_expect(says("delaybridge_events_total{type=\"delivered\"} 0"));
    cr_expect(says("delaybridge_events_lost_total 72"));
    cr_expect(says("delaybridge_events_blocked_lanes 73"));
}

Test(metrics, cancels_are_counted_by_op_and_void_records_by_level)
{
    counter_set(&stats.cancels, 61);
    counter_set(&stats.replaces, 62);
    counter_set(&stats.cancels_refused, 63);
    counter_set(&stats.slots[1].cancelled, 64);
    counter_set(&stats.cancel_entries, 65);
    counter_set(&stats.lanes_restoring, 66);
    counter_set(&stats.cancel_entries_limit, 67);
    counter_set(&stats.cancels_misplaced, 68);
    counter_set(&stats.schedule_lag_ms, 1069);
    spans_add(&stats.restore, 2500);
    cr_expect(says("delaybridge_cancels_total{op=\"cancel\"} 61"));
    cr_expect(says("delaybridge_cancels_total{op=\"replace\"} 62"));
    cr_expect(says("delaybridge_cancels_refused_total 63"));
    cr_expect(says("delaybridge_cancelled_records_total{level=\"1s\"} 64"));
    cr_expect(says("delaybridge_cancel_entries 65"));
    cr_expect(says("delaybridge_cancel_entries_limit 67"));
    cr_expect(says("delaybridge_cancels_misplaced_total 68"));
    cr_expect(says("delaybridge_lanes_restoring 66"));
    cr_expect(says("delaybridge_lane_restore_seconds_sum 2.500"));
    cr_expect(says("delaybridge_lane_restore_seconds_bucket{le=\"2.5\"} 1"));
    cr_expect(says("delaybridge_schedule_read_behind_seconds 1.069"));
}

Test(metrics, oldest_seal_has_no_series_without_cancels)
{
    cr_expect_null(strstr(written(), "\ndelaybridge_cancel_oldest_seal_timestamp_seconds "));
    counter_set(&stats.oldest_seal_wall_ms, 1700000000456);
    cr_expect(says("delaybridge_cancel_oldest_seal_timestamp_seconds 1700000000.456"));
}

Test(metrics, translated_requests_are_counted_by_format)
{
    counter_set(&stats.formats[COMPAT_ROCKETMQ], 71);
    counter_set(&stats.formats[COMPAT_KARAFKA], 72);
    cr_expect(says("delaybridge_translated_requests_total{format=\"rocketmq\"} 71"));
    cr_expect(says("delaybridge_translated_requests_total{format=\"karafka\"} 72"));
    cr_expect(says("delaybridge_translated_requests_total{format=\"etf1\"} 0"));
}

Test(metrics, commits_are_counted_by_result_and_timed)
{
    counter_set(&stats.commits, 41);
    counter_set(&stats.commits_failed, 42);
    spans_add(&stats.commit, 43);
    cr_expect(says("delaybridge_commits_total{result=\"ok\"} 41"));
    cr_expect(says("delaybridge_commits_total{result=\"failed\"} 42"));
    cr_expect(says("delaybridge_commit_seconds_sum 0.043"));
    cr_expect(says("delaybridge_commit_seconds_count 1"));
}

Test(metrics, ready_follows_readyz)
{
    cr_expect(says("delaybridge_ready 1"));
    metrics.ready = false;
    cr_expect(says("delaybridge_ready 0"));
}

Test(metrics, a_canary_is_counted_and_timed)
{
    metrics.canary = &canary;
    counter_set(&canary.sent, 51);
    counter_set(&canary.received, 52);
    counter_set(&canary.received_wall_ms, 1700000000123);
    spans_add(&canary.round_trip, 1053);
    spans_add(&canary.lateness, 54);
    cr_expect(says("delaybridge_canary_sent_total 51"));
    cr_expect(says("delaybridge_canary_received_total 52"));
    cr_expect(says("delaybridge_canary_last_received_timestamp_seconds 1700000000.123"));
    cr_expect(says("delaybridge_canary_round_trip_seconds_sum 1.053"));
    cr_expect(says("delaybridge_canary_lateness_seconds_sum 0.054"));
}

/* Returns the value of a sample without labels, or -1. */
static double value_of(const char *name)
{
    size_t n = strlen(name);
    for (const char *at = written(); (at = strstr(at, name)) != NULL; at += n)
        if ((at == text || at[-1] == '\n') && at[n] == ' ')
            return strtod(at + n, NULL);
    return -1;
}

Test(metrics, process_metrics_describe_this_process)
{
    while (clock() <
           CLOCKS_PER_SEC / 20) /* uses enough CPU: the system counts hundredths of a second */
        continue;
    double now_s = (double)time(NULL), fds = value_of("process_open_fds");
    cr_expect_gt(value_of("process_cpu_seconds_total"), 0);
    cr_expect_gt(value_of("process_resident_memory_bytes"), 1 << 20);
    cr_expect_lt(now_s - value_of("process_start_time_seconds"), 600);
    cr_expect_geq(value_of("process_max_fds"), fds);
    FILE *one_more = fopen("/dev/null", "r");
    cr_assert_not_null(one_more);
    cr_expect_eq(value_of("process_open_fds"), fds + 1);
    fclose(one_more);
}

Test(metrics, the_build_names_its_version_and_its_client)
{
    char sample[256];
    snprintf(sample, sizeof sample,
             "delaybridge_build_info{version=\"%s\",commit=\"%s\",librdkafka=\"2.0.2\"} 1",
             version_number, version_commit);
    cr_expect(says(sample));
}
