/* SPDX-License-Identifier: Apache-2.0 */
/* The table of metrics. */
#include "bridge/service/metrics.h"

#include "bridge/service/metrics_parts.h"
#include "bridge/service/process.h"

#include <stddef.h>

#define STATS(member)        metrics_write_counter, offsetof(struct stats, member)
#define TARGET(member)       metrics_write_by_target, offsetof(struct target_stats, member)
#define LEVEL(member)        metrics_write_by_level, offsetof(struct slot_stats, member)
#define LEVEL_TIME(member)   metrics_write_level_time, offsetof(struct slot_stats, member)
#define CANARY(member)       metrics_write_canary, offsetof(struct canary_stats, member)
#define CANARY_SPANS(member) metrics_write_canary_spans, offsetof(struct canary_stats, member)

static const struct metric METRICS[] = {
    {"delaybridge_schedule_records_total", "counter", "result",
     "Requests read from the schedule topic. Refused ones go to the dead-letter topic.",
     metrics_write_requests, 0},
    {"delaybridge_translated_requests_total", "counter", "format",
     "Requests with headers of another scheduler that the bridge translated, by the format "
     "(compat). Refused ones count too.",
     metrics_write_formats, 0},
    {"delaybridge_retry_requests_total", "counter", "policy,attempt",
     "Accepted requests with dlb-retry, by policy and number of the retry, from 1. A policy that "
     "stays at 1 has a consumer that drops dlb-attempt, and so retries indefinitely.",
     metrics_write_retry, 0},
    {"delaybridge_forwarded_records_total", "counter", "level,kind",
     "Records that a level topic (hop), a target (delivery) or the dead-letter topic acknowledged, "
     "by their last level. With exactly-once, records of aborted transactions count again.",
     metrics_write_forwarded, 0},
    {"delaybridge_dead_letter_records_total", "counter", "code,target",
     "Records that the dead-letter topic acknowledged, by the code in dlb-error and the entry of "
     "targets.",
     metrics_write_dead_letters, 0},
    {"delaybridge_target_deliveries_total", "counter", "target",
     "Acknowledged deliveries, by the entry of targets.", TARGET(deliveries)},
    {"delaybridge_delivery_failures_total", "counter", "target,error",
     "Deliveries that failed because of their target, by the entry of targets and the kind of "
     "error.",
     metrics_write_failures, 0},
    {"delaybridge_redeliveries_total", "counter", "",
     "Deliveries that failed and returned to a level for another attempt.", STATS(redeliveries)},
    {"delaybridge_delivery_deferrals_total", "counter", "target",
     "Deliveries that returned to a level without an attempt because their target was unavailable, "
     "by the entry of targets.",
     TARGET(deferrals)},
    {"delaybridge_resends_total", "counter", "",
     "Records sent again because of the client or the cluster, not because of their target.",
     STATS(resends)},
    {"delaybridge_throttle_seconds_total", "counter", "",
     "Time for which a broker quota stopped the bridge's producers, summed over workers.",
     metrics_write_counter_ms, offsetof(struct stats, throttled_ms)},
    {"delaybridge_lateness_seconds", "histogram", "level",
     "Lateness that the bridge causes: from the latest of due time, request timestamp and next try "
     "to the delivery, by the last level.",
     metrics_write_lateness, 0},
    {"delaybridge_target_delay_seconds", "histogram", "",
     "Lateness that targets cause: from the later of due time and request timestamp to the last "
     "try, of deliveries that needed another try.",
     metrics_write_target_delay, 0},
    {"delaybridge_redelivering_records", "gauge", "level",
     "Records in this level that wait because of their target, as far as this process wrote or "
     "read them.",
     LEVEL(redelivering)},
    {"delaybridge_redelivering_oldest_due_timestamp_seconds", "gauge", "level",
     "Oldest due time of these records, if they are in memory or at the head of a partition. No "
     "series if there are none.",
     LEVEL_TIME(redelivering_due_wall_ms)},
    {"delaybridge_withheld_total", "counter", "target,reason",
     "Due records that returned to a level because operators pause or limit their target, by the "
     "entry of targets.",
     metrics_write_withheld, 0},
    {"delaybridge_withheld_records", "gauge", "level",
     "Records in this level that wait because their target was paused or over its limit, as far as "
     "this process wrote or read them.",
     LEVEL(withheld)},
    {"delaybridge_withheld_delay_seconds", "histogram", "",
     "Lateness that pauses and limits cause, of deliveries that were withheld before the last try. "
     "It counts from the later of due time and request timestamp to that try.",
     metrics_write_withheld_delay, 0},
    {"delaybridge_limits_full_total", "counter", "",
     "Due records that returned to a level because too many other targets were limited at the same "
     "time. They are part of delaybridge_withheld_total.",
     STATS(limits_full)},
    {"delaybridge_control_entries", "gauge", "op",
     "Entries of the topic of control in force: pauses and limits of targets.",
     metrics_write_control, 0},
    {"delaybridge_target_limit_per_second", "gauge", "target",
     "Lowest limit in force for a target, in records a second, by the entry of targets. It counts "
     "for all workers together. No series without a limit.",
     metrics_write_limits, 0},
    {"delaybridge_oldest_pause_timestamp_seconds", "gauge", "",
     "Time at which the oldest pause in force began. No series if there is none.",
     metrics_write_time, offsetof(struct stats, oldest_pause_wall_ms)},
    {"delaybridge_level_pending_records", "gauge", "level",
     "Records that are not done, on owned partitions. In level schedule: requests in memory, and "
     "those not read yet. With exactly-once, ends of transactions are included.",
     LEVEL(pending)},
    {"delaybridge_schedule_unread_records", "gauge", "",
     "Requests that are not read yet, on owned partitions. They are part of "
     "delaybridge_level_pending_records.",
     STATS(schedule_unread)},
    {"delaybridge_level_head_deadline_timestamp_seconds", "gauge", "level",
     "Time at which the first record that is not in memory leaves its level. A time in the past "
     "belongs to an overdue record, in memory or not. No series if there is none.",
     LEVEL_TIME(head_deadline_wall_ms)},
    {"delaybridge_order_violations_total", "counter", "",
     "Records further out of order in their level than its plan allows. A clock stepped, clocks "
     "differ, or levels were changed.",
     STATS(order_violations)},
    {"delaybridge_partitions", "gauge", "level,state",
     "Owned partitions: reading, paused until the next record is near, or blocked until an "
     "operator acts.",
     metrics_write_partitions, 0},
    {"delaybridge_lanes", "gauge", "", "Lanes that this process owns.", STATS(lanes)},
    {"delaybridge_lanes_configured", "gauge", "",
     "Lanes of the cluster: the partitions of the schedule topic.", metrics_write_lanes, 0},
    {"delaybridge_lanes_unserved", "gauge", "",
     "Partitions that were added to the schedule topic after the start of this process. It does "
     "not serve them before a restart.",
     metrics_write_lanes_unserved, 0},
    {"delaybridge_buffered_records", "gauge", "", "Records in memory or in flight.",
     STATS(buffered_records)},
    {"delaybridge_buffered_bytes", "gauge", "",
     "Memory of these records. The limit is delaybridge_memory_limit_bytes.",
     STATS(buffered_bytes)},
    {"delaybridge_kept_records", "gauge", "",
     "Records that wait in memory in place of a level, for at most the configuration key hold.",
     STATS(kept_records)},
    {"delaybridge_kept_bytes", "gauge", "",
     "Memory of these records. They are part of delaybridge_buffered_bytes.", STATS(kept_bytes)},
    {"delaybridge_kept_total", "counter", "",
     "Records that began to wait in memory in place of a level.", STATS(kept)},
    {"delaybridge_spilled_total", "counter", "",
     "Records of delaybridge_kept_total that went to a level after all, for lack of room.",
     STATS(spilled)},
    {"delaybridge_memory_limit_bytes", "gauge", "", "The configuration key memory.",
     metrics_write_memory_limit, 0},
    {"delaybridge_cancels_total", "counter", "op",
     "Cancels and replaces that the topic of cancels acknowledged.", metrics_write_cancels, 0},
    {"delaybridge_cancels_refused_total", "counter", "",
     "Cancels and replaces that were refused because the share of their lane was full "
     "(cancels_full).",
     STATS(cancels_refused)},
    {"delaybridge_cancels_misplaced_total", "counter", "",
     "Cancels and replaces in another lane than murmur2 computes for their key, so they may void "
     "nothing. Those of cancel --all-lanes count as well.",
     STATS(cancels_misplaced)},
    {"delaybridge_cancelled_records_total", "counter", "level",
     "Records that were dropped because a cancel voids them, by their last level.",
     LEVEL(cancelled)},
    {"delaybridge_cancel_entries", "gauge", "", "Cancels in force.", STATS(cancel_entries)},
    {"delaybridge_cancel_entries_limit", "gauge", "",
     "Cancels that fit in the lanes of this process. Each lane has its share of the part of "
     "cancel_memory that one worker has.",
     STATS(cancel_entries_limit)},
    {"delaybridge_cancel_oldest_seal_timestamp_seconds", "gauge", "",
     "Time of the oldest seal that keeps cancels in memory. They end when their lane is committed "
     "past it. No series if none does.",
     metrics_write_time, offsetof(struct stats, oldest_seal_wall_ms)},
    {"delaybridge_events_total", "counter", "type", "Events that the topic of events acknowledged.",
     metrics_write_events, 0},
    {"delaybridge_events_lost_total", "counter", "",
     "With events_lossy: events that were dropped because their partition was unavailable.",
     STATS(events_lost)},
    {"delaybridge_events_blocked_lanes", "gauge", "",
     "Lanes whose partition of the topic of events is unavailable.", STATS(events_blocked)},
    {"delaybridge_lanes_restoring", "gauge", "",
     "Lanes that read their cancels before they open, and forward nothing.",
     STATS(lanes_restoring)},
    {"delaybridge_lane_restore_seconds", "histogram", "",
     "Time from the assignment of a lane until its cancels are in force and it opens.",
     metrics_write_restore, 0},
    {"delaybridge_schedule_read_behind_seconds", "gauge", "",
     "Time for which requests of a lane have waited to be read, since this process saw them. The "
     "longest of all lanes. Requests behind an open transaction do not count.",
     metrics_write_counter_ms, offsetof(struct stats, schedule_lag_ms)},
    {"delaybridge_window_full_total", "counter", "",
     "Records that waited for room in memory or in the window of their partition.",
     STATS(window_full)},
    {"delaybridge_already_done_records_total", "counter", "",
     "Records that were read again although they were done. They were not delivered again.",
     STATS(already_done)},
    {"delaybridge_reread_records_total", "counter", "",
     "Records that were read again because they were not done: after a rebalance, a restart, an "
     "aborted transaction or a step of the clock.",
     STATS(reread)},
    {"delaybridge_missing_offsets_total", "counter", "",
     "Offsets that do not exist, counted as done. With transactions, their ends are included.",
     STATS(missing_offsets)},
    {"delaybridge_lost_positions_total", "counter", "",
     "Times that records were deleted before they were read.", STATS(lost_positions)},
    {"delaybridge_stall_recoveries_total", "counter", "",
     "Partitions that should have had a record, were silent, and were read again.",
     STATS(stall_recoveries)},
    {"delaybridge_rebalances_total", "counter", "",
     "Rebalances of the consumer group, summed over workers.", STATS(rebalances)},
    {"delaybridge_commits_total", "counter", "result", "Commits of progress, by result.",
     metrics_write_commits, 0},
    {"delaybridge_commit_seconds", "histogram", "",
     "Time from a commit to its answer. With exactly-once: from the end of a transaction.",
     metrics_write_commit, 0},
    {"delaybridge_transactions_total", "counter", "result",
     "Transactions by result. With exactly-once only.", metrics_write_transactions, 0},
    {"delaybridge_slow_targets", "gauge", "",
     "Targets that acknowledge clearly slower than others and delay them. With exactly-once only.",
     STATS(targets_slow)},
    {"delaybridge_ready", "gauge", "", "1 if /readyz answers 200, else 0.", metrics_write_ready, 0},
    {"delaybridge_config_hash", "gauge", "",
     "Hash of targets, default_target, levels, delivery, compat and retry, which must be equal on "
     "all members of a group. 0 before the start.",
     metrics_write_config_hash, 0},
    {"delaybridge_reload_failed", "gauge", "",
     "1 if the last SIGHUP changed nothing, because a start would refuse the new configuration or "
     "Kafka did not answer. Else 0.",
     metrics_write_reload_failed, 0},
    {"delaybridge_schedule_open_transaction_records", "gauge", "",
     "Requests, in all lanes, that wait behind a producer's transaction of ten seconds or more. No "
     "series before a broker reports them.",
     metrics_write_open_records, 0},
    {"delaybridge_topic_findings", "gauge", "kind",
     "Findings of the hourly check of topics. refuse: prevents a start. fault: requests fail or "
     "get lost. No series before the first check.",
     metrics_write_findings, 0},
    {"delaybridge_canary_sent_total", "counter", "",
     "Requests of the canary that the schedule topic acknowledged.", CANARY(sent)},
    {"delaybridge_canary_received_total", "counter", "", "Deliveries that the canary read.",
     CANARY(received)},
    {"delaybridge_canary_last_received_timestamp_seconds", "gauge", "",
     "Time of the last delivery that the canary read.", metrics_write_canary_last, 0},
    {"delaybridge_canary_interval_seconds", "gauge", "",
     "Configured interval between requests of the canary.", metrics_write_canary_interval, 0},
    {"delaybridge_canary_round_trip_seconds", "histogram", "",
     "Time from sending a canary request to reading its delivery.", CANARY_SPANS(round_trip)},
    {"delaybridge_canary_lateness_seconds", "histogram", "",
     "Time from the due time of a canary request to reading its delivery.", CANARY_SPANS(lateness)},
    {"delaybridge_build_info", "gauge", "version,commit,librdkafka", "Always 1.",
     metrics_write_build, 0},
    {"process_cpu_seconds_total", "counter", "", "CPU time, user and system.",
     metrics_write_process, PROCESS_CPU_S},
    {"process_resident_memory_bytes", "gauge", "", "Resident memory.", metrics_write_process,
     PROCESS_RSS_BYTES},
    {"process_start_time_seconds", "gauge", "", "Start of the process.", metrics_write_process,
     PROCESS_START_S},
    {"process_open_fds", "gauge", "", "Open file descriptors.", metrics_write_process, PROCESS_FDS},
    {"process_max_fds", "gauge", "", "Limit of open file descriptors.", metrics_write_process,
     PROCESS_FDS_MAX},
};
enum { METRICS_N = sizeof METRICS / sizeof METRICS[0] };

void metrics_write(FILE *out, const struct metrics *m)
{
    for (int i = 0; i < METRICS_N; i++) {
        const struct metric *metric = &METRICS[i];
        fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
                metric->type);
        metric->write(out, metric, m);
    }
}

void metrics_print_table(FILE *out)
{
    for (int i = 0; i < METRICS_N; i++)
        fprintf(out, "%s\t%s\t%s\t%s\n", METRICS[i].name, METRICS[i].type,
                METRICS[i].labels[0] == '\0' ? "-" : METRICS[i].labels, METRICS[i].help);
}
