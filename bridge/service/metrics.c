/* SPDX-License-Identifier: Apache-2.0 */
/* The table of metrics, and how each is written. */
#include "bridge/service/metrics.h"

#include "bridge/base/version.h"
#include "bridge/service/labels.h"
#include "bridge/service/process.h"
#include "levels/code.h"
#include "levels/duration.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

struct metric {
    const char *name, *type, *labels, *help;
    /* One of: a counter at offset in struct stats, or whatever write makes of it. */
    void (*write)(FILE *out, const struct metric *metric, const struct metrics *m);
    size_t offset;
};

/* Samples. */

static void sample(FILE *out, const struct metric *metric, uint64_t value)
{
    fprintf(out, "%s %" PRIu64 "\n", metric->name, value);
}

static void sample_labelled(FILE *out, const struct metric *metric, const char *value_of_label,
                            uint64_t value)
{
    fprintf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", metric->name, metric->labels, value_of_label,
            value);
}

static void sample_ms(FILE *out, const char *name, uint64_t ms)
{
    fprintf(out, "%s %" PRIu64 ".%03" PRIu64 "\n", name, ms / 1000, ms % 1000);
}

static int slots(const struct metrics *m)
{
    return 1 + m->config->ladder.n + m->config->retired_n;
}

/* The label of a level; the schedule topic's is its role. */
static const char *level_name(const struct metrics *m, int slot, char text[DURATION_TEXT_MAX])
{
    if (slot == 0)
        return "schedule";
    return duration_format(ladder_slot_ms(&m->config->ladder, m->config->retired_ms, slot), text);
}

static uint64_t slot_value(const struct metrics *m, int slot, size_t offset)
{
    const char *at = (const char *)&m->stats->slots[slot] + offset;
    return counter_read((const struct counter *)(const void *)at);
}

/* labels: "" or LABEL="VALUE". */
static void histogram(FILE *out, const char *name, const char *labels, const struct spans *spans)
{
    const char *comma = labels[0] == '\0' ? "" : ",";
    uint64_t n = 0;
    for (int i = 0; i < SPAN_BUCKETS; i++) {
        n += counter_read(&spans->n[i]);
        if (i < SPAN_BUCKETS - 1)
            fprintf(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, labels, comma,
                    SPAN_BOUNDS_MS[i] / 1000, n);
        else
            fprintf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, n);
    }
    char sum[128], count[128];
    const char *open = labels[0] == '\0' ? "" : "{", *close = labels[0] == '\0' ? "" : "}";
    snprintf(sum, sizeof sum, "%s_sum%s%s%s", name, open, labels, close);
    snprintf(count, sizeof count, "%s_count%s%s%s", name, open, labels, close);
    sample_ms(out, sum, counter_read(&spans->sum_ms));
    fprintf(out, "%s %" PRIu64 "\n", count, n);
}

/* Writers. */

static void write_counter(FILE *out, const struct metric *metric, const struct metrics *m)
{
    const char *at = (const char *)m->stats + metric->offset;
    sample(out, metric, counter_read((const struct counter *)(const void *)at));
}

static void write_counter_ms(FILE *out, const struct metric *metric, const struct metrics *m)
{
    const char *at = (const char *)m->stats + metric->offset;
    sample_ms(out, metric->name, counter_read((const struct counter *)(const void *)at));
}

static void write_requests(FILE *out, const struct metric *metric, const struct metrics *m)
{
    uint64_t refused = counter_read(&m->stats->refused);
    sample_labelled(out, metric, "accepted", counter_read(&m->stats->requests) - refused);
    sample_labelled(out, metric, "refused", refused);
}

static void write_forwarded(FILE *out, const struct metric *metric, const struct metrics *m)
{
    static const struct {
        const char *name;
        size_t offset;
    } KINDS[] = {{"hop", offsetof(struct slot_stats, hops)},
                 {"delivery", offsetof(struct slot_stats, deliveries)},
                 {"dead_letter", offsetof(struct slot_stats, dead)}};
    char text[DURATION_TEXT_MAX];
    for (int slot = 0; slot < slots(m); slot++)
        for (int kind = 0; kind < 3; kind++)
            fprintf(out, "%s{level=\"%s\",kind=\"%s\"} %" PRIu64 "\n", metric->name,
                    level_name(m, slot, text), KINDS[kind].name,
                    slot_value(m, slot, KINDS[kind].offset));
}

static void write_dead_letters(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (int label = 0; label < TARGET_LABELS; label++)
        for (int code = CODE_OK + 1; labels_text(label) != NULL && code < CODE_N; code++)
            fprintf(out, "%s{code=\"%s\",target=\"%s\"} %" PRIu64 "\n", metric->name,
                    code_name((enum code)code), labels_text(label),
                    counter_read(&m->stats->targets[label].dead[code]));
}

static void write_by_target(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (int label = 0; label < TARGET_LABELS; label++) {
        const char *at = (const char *)&m->stats->targets[label] + metric->offset;
        if (labels_text(label) != NULL)
            sample_labelled(out, metric, labels_text(label),
                            counter_read((const struct counter *)(const void *)at));
    }
}

static void write_failures(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (int label = 0; label < TARGET_LABELS; label++)
        for (unsigned error = 1; labels_text(label) != NULL && error <= DELIVERY_ERRORS; error++)
            fprintf(out, "%s{target=\"%s\",error=\"%s\"} %" PRIu64 "\n", metric->name,
                    labels_text(label), delivery_error_name(error),
                    counter_read(&m->stats->targets[label].failures[error]));
}

static void write_lateness(FILE *out, const struct metric *metric, const struct metrics *m)
{
    char text[DURATION_TEXT_MAX], label[DURATION_TEXT_MAX + 16];
    for (int slot = 0; slot < slots(m); slot++) {
        snprintf(label, sizeof label, "level=\"%s\"", level_name(m, slot, text));
        histogram(out, metric->name, label, &m->stats->slots[slot].lateness);
    }
}

static void write_target_delay(FILE *out, const struct metric *metric, const struct metrics *m)
{
    histogram(out, metric->name, "", &m->stats->target_delay);
}

static void write_commit(FILE *out, const struct metric *metric, const struct metrics *m)
{
    histogram(out, metric->name, "", &m->stats->commit);
}

static void write_commits(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample_labelled(out, metric, "ok", counter_read(&m->stats->commits));
    sample_labelled(out, metric, "failed", counter_read(&m->stats->commits_failed));
}

static void write_transactions(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (!m->config->exactly_once)
        return;
    sample_labelled(out, metric, "committed", counter_read(&m->stats->commits));
    sample_labelled(out, metric, "aborted", counter_read(&m->stats->aborts));
}

static void write_pending(FILE *out, const struct metric *metric, const struct metrics *m)
{
    char text[DURATION_TEXT_MAX];
    for (int slot = 0; slot < slots(m); slot++)
        sample_labelled(out, metric, level_name(m, slot, text),
                        slot_value(m, slot, metric->offset));
}

static void write_heads(FILE *out, const struct metric *metric, const struct metrics *m)
{
    char text[DURATION_TEXT_MAX], sample_name[128];
    for (int slot = 0; slot < slots(m); slot++) {
        uint64_t head_ms = slot_value(m, slot, metric->offset);
        snprintf(sample_name, sizeof sample_name, "%s{level=\"%s\"}", metric->name,
                 level_name(m, slot, text));
        if (head_ms != 0)
            sample_ms(out, sample_name, head_ms);
    }
}

static void write_partitions(FILE *out, const struct metric *metric, const struct metrics *m)
{
    static const struct {
        const char *name;
        size_t offset;
    } STATES[] = {{"reading", offsetof(struct slot_stats, reading)},
                  {"paused", offsetof(struct slot_stats, paused)},
                  {"blocked", offsetof(struct slot_stats, blocked)}};
    char text[DURATION_TEXT_MAX];
    for (int slot = 0; slot < slots(m); slot++)
        for (int state = 0; state < 3; state++)
            fprintf(out, "%s{level=\"%s\",state=\"%s\"} %" PRIu64 "\n", metric->name,
                    level_name(m, slot, text), STATES[state].name,
                    slot_value(m, slot, STATES[state].offset));
}

static void write_lanes(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->lanes > 0)
        sample(out, metric, (uint64_t)m->lanes);
}

static void write_memory_limit(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample(out, metric, (uint64_t)m->config->memory_bytes);
}

static void write_ready(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample(out, metric, m->ready);
}

static void write_config_hash(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample(out, metric, m->config_hash);
}

static void write_open_records(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->open_records >= 0)
        sample(out, metric, (uint64_t)m->open_records);
}

static void write_findings(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample_labelled(out, metric, "refuse", (uint64_t)m->refusals);
    sample_labelled(out, metric, "fault", (uint64_t)m->faults);
}

static void write_canary(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->canary == NULL)
        return;
    const char *at = (const char *)m->canary + metric->offset;
    sample(out, metric, counter_read((const struct counter *)(const void *)at));
}

static void write_canary_last(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->canary != NULL && counter_read(&m->canary->received_wall_ms) != 0)
        sample_ms(out, metric->name, counter_read(&m->canary->received_wall_ms));
}

static void write_canary_interval(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->config->canary_ms > 0) /* also if it could not be started */
        sample_ms(out, metric->name, (uint64_t)m->config->canary_ms);
}

static void write_canary_spans(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->canary == NULL)
        return;
    const char *at = (const char *)m->canary + metric->offset;
    histogram(out, metric->name, "", (const struct spans *)(const void *)at);
}

static void write_build(FILE *out, const struct metric *metric, const struct metrics *m)
{
    fprintf(out, "%s{version=\"%s\",commit=\"%s\",librdkafka=\"%s\"} 1\n", metric->name,
            version_number, version_commit, m->librdkafka);
}

static void write_process(FILE *out, const struct metric *metric, const struct metrics *m)
{
    (void)m;
    double value;
    if (process_figure((enum process_figure)metric->offset, &value))
        fprintf(out, "%s %.15g\n", metric->name, value);
}

/* The table. */

#define STATS(member) write_counter, offsetof(struct stats, member)
#define SLOT(member)  offsetof(struct slot_stats, member)

static const struct metric METRICS[] = {
    {"delaybridge_schedule_records_total", "counter", "result",
     "Requests taken from the schedule topic; those refused went to the dead-letter topic.",
     write_requests, 0},
    {"delaybridge_forwarded_records_total", "counter", "level,kind",
     "Records acknowledged by a level topic (hop), a target (delivery) or the dead-letter topic, "
     "by the level that they came from; exactly once again if their transaction is given up.",
     write_forwarded, 0},
    {"delaybridge_dead_letter_records_total", "counter", "code,target",
     "Records acknowledged by the dead-letter topic, by the code in dlb-error and the entry of "
     "targets.",
     write_dead_letters, 0},
    {"delaybridge_target_deliveries_total", "counter", "target",
     "Deliveries acknowledged, by the entry of targets.", write_by_target,
     offsetof(struct target_stats, deliveries)},
    {"delaybridge_delivery_failures_total", "counter", "target,error",
     "Deliveries that a target did not take, by the entry of targets and the kind of error.",
     write_failures, 0},
    {"delaybridge_delivery_retries_total", "counter", "",
     "Deliveries that failed and went back to a level for another attempt.", STATS(retries)},
    {"delaybridge_delivery_deferrals_total", "counter", "target",
     "Deliveries that went back to a level untried because their target was unavailable, by the "
     "entry of targets.",
     write_by_target, offsetof(struct target_stats, deferrals)},
    {"delaybridge_resends_total", "counter", "",
     "Records sent again for reasons of the client or the cluster, not of their target.",
     STATS(resends)},
    {"delaybridge_throttle_seconds_total", "counter", "",
     "Time for which brokers read nothing from the bridge's producers, because a quota was "
     "exceeded; for each worker.",
     write_counter_ms, offsetof(struct stats, throttled_ms)},
    {"delaybridge_lateness_seconds", "histogram", "level",
     "From the latest of due, the request's timestamp and the next try to forwarding, by the last "
     "level: the bridge's own part.",
     write_lateness, 0},
    {"delaybridge_target_delay_seconds", "histogram", "",
     "From the later of due and the request's timestamp to the next try, of deliveries that their "
     "target delayed: its part of the lateness.",
     write_target_delay, 0},
    {"delaybridge_retrying_records", "gauge", "level",
     "Records in this level that wait because of their target, as far as this process wrote or "
     "read them.",
     write_pending, SLOT(retrying)},
    {"delaybridge_retrying_oldest_due_timestamp_seconds", "gauge", "level",
     "When the oldest of those was due, of heads and of what is in memory; no series while none "
     "is seen.",
     write_heads, SLOT(retrying_due_wall_ms)},
    {"delaybridge_level_pending_records", "gauge", "level",
     "Records not done yet on owned partitions (level schedule: requests not taken in); exactly "
     "once the ends of transactions among them count.",
     write_pending, SLOT(pending)},
    {"delaybridge_level_head_deadline_timestamp_seconds", "gauge", "level",
     "When the first record that waits is to leave its level, or when the first that is overdue "
     "was to leave; no series while nothing waits.",
     write_heads, SLOT(head_deadline_wall_ms)},
    {"delaybridge_order_violations_total", "counter", "",
     "Records further out of order in their level than slack and hold allow: a clock stepped.",
     STATS(order_violations)},
    {"delaybridge_partitions", "gauge", "level,state",
     "Owned partitions: reading, paused until the head is near, or blocked until an operator acts.",
     write_partitions, 0},
    {"delaybridge_lanes", "gauge", "", "Lanes owned by this process.", STATS(lanes)},
    {"delaybridge_lanes_configured", "gauge", "",
     "Lanes that there are: the schedule topic's partitions.", write_lanes, 0},
    {"delaybridge_buffered_records", "gauge", "", "Records in memory or in flight.",
     STATS(buffered_records)},
    {"delaybridge_buffered_bytes", "gauge", "",
     "Memory of these records; delaybridge_memory_limit_bytes is the limit.",
     STATS(buffered_bytes)},
    {"delaybridge_memory_limit_bytes", "gauge", "", "The configured memory.", write_memory_limit,
     0},
    {"delaybridge_window_full_total", "counter", "",
     "Records that waited for room: in the window of their partition, or in memory.",
     STATS(window_full)},
    {"delaybridge_already_done_records_total", "counter", "",
     "Records read again and known to be done: what a restart did not repeat.",
     STATS(already_done)},
    {"delaybridge_missing_offsets_total", "counter", "",
     "Offsets that do not exist any more, counted as done; with transactions, their ends.",
     STATS(missing_offsets)},
    {"delaybridge_lost_positions_total", "counter", "",
     "Times that a partition's position was gone: records were deleted before they were read.",
     STATS(lost_positions)},
    {"delaybridge_stall_recoveries_total", "counter", "",
     "Partitions that were to be read, gave nothing, and were woken again.",
     STATS(stall_recoveries)},
    {"delaybridge_rebalances_total", "counter", "", "Times that the group gave out lanes anew.",
     STATS(rebalances)},
    {"delaybridge_commits_total", "counter", "result", "Commits of progress, by their end.",
     write_commits, 0},
    {"delaybridge_commit_seconds", "histogram", "",
     "From the request of a commit (exactly once: of a transaction's end) to its answer.",
     write_commit, 0},
    {"delaybridge_transactions_total", "counter", "result",
     "Exactly once: transactions, by their end.", write_transactions, 0},
    {"delaybridge_ready", "gauge", "", "1 if /readyz says so.", write_ready, 0},
    {"delaybridge_config_hash", "gauge", "",
     "A number made of targets, default_target, levels and delivery, which all members of a group "
     "must share; 0 before the start.",
     write_config_hash, 0},
    {"delaybridge_schedule_open_transaction_records", "gauge", "",
     "Records of the schedule topic, of all its lanes, behind a producer's transaction that is "
     "open "
     "for ten seconds or longer; no series until a broker has told.",
     write_open_records, 0},
    {"delaybridge_topic_findings", "gauge", "kind",
     "Findings about topics when they were last read (hourly): refuse would prevent a start, fault "
     "makes requests fail or get lost.",
     write_findings, 0},
    {"delaybridge_canary_sent_total", "counter", "", "The canary's requests, acknowledged.",
     write_canary, offsetof(struct canary_stats, sent)},
    {"delaybridge_canary_received_total", "counter", "", "Those that came back.", write_canary,
     offsetof(struct canary_stats, received)},
    {"delaybridge_canary_last_received_timestamp_seconds", "gauge", "",
     "When the last one came back.", write_canary_last, 0},
    {"delaybridge_canary_interval_seconds", "gauge", "", "How often one is sent.",
     write_canary_interval, 0},
    {"delaybridge_canary_round_trip_seconds", "histogram", "",
     "From sending the canary's request to reading its delivery.", write_canary_spans,
     offsetof(struct canary_stats, round_trip)},
    {"delaybridge_canary_lateness_seconds", "histogram", "",
     "From the canary's due time to reading its delivery.", write_canary_spans,
     offsetof(struct canary_stats, lateness)},
    {"delaybridge_build_info", "gauge", "version,commit,librdkafka", "Always 1.", write_build, 0},
    {"process_cpu_seconds_total", "counter", "", "CPU time, user and system.", write_process,
     PROCESS_CPU_S},
    {"process_resident_memory_bytes", "gauge", "", "Resident memory.", write_process,
     PROCESS_RSS_BYTES},
    {"process_start_time_seconds", "gauge", "", "When the process started.", write_process,
     PROCESS_START_S},
    {"process_open_fds", "gauge", "", "Open file descriptors.", write_process, PROCESS_FDS},
    {"process_max_fds", "gauge", "", "The most that may be open.", write_process, PROCESS_FDS_MAX},
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
