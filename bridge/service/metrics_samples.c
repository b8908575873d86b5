/* SPDX-License-Identifier: Apache-2.0 */
/* The writers: each writes the samples of one metric, or of metrics of one kind. */
#include "bridge/base/version.h"
#include "bridge/service/labels.h"
#include "bridge/service/metrics_parts.h"
#include "bridge/service/process.h"
#include "levels/code.h"
#include "levels/duration.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

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

/* Returns the label of a slot: the level's duration, or "schedule". */
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

/* Writers: see metrics_parts.h. */

void metrics_write_counter(FILE *out, const struct metric *metric, const struct metrics *m)
{
    const char *at = (const char *)m->stats + metric->offset;
    sample(out, metric, counter_read((const struct counter *)(const void *)at));
}

void metrics_write_counter_ms(FILE *out, const struct metric *metric, const struct metrics *m)
{
    const char *at = (const char *)m->stats + metric->offset;
    sample_ms(out, metric->name, counter_read((const struct counter *)(const void *)at));
}

void metrics_write_time(FILE *out, const struct metric *metric, const struct metrics *m)
{
    const char *at = (const char *)m->stats + metric->offset;
    uint64_t wall_ms = counter_read((const struct counter *)(const void *)at);
    if (wall_ms != 0)
        sample_ms(out, metric->name, wall_ms);
}

void metrics_write_requests(FILE *out, const struct metric *metric, const struct metrics *m)
{
    uint64_t refused = counter_read(&m->stats->refused);
    sample_labelled(out, metric, "accepted", counter_read(&m->stats->requests) - refused);
    sample_labelled(out, metric, "refused", refused);
}

void metrics_write_formats(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (enum compat format = COMPAT_NONE + 1; format < COMPAT_N; format++)
        sample_labelled(out, metric, compat_name(format), counter_read(&m->stats->formats[format]));
}

void metrics_write_forwarded(FILE *out, const struct metric *metric, const struct metrics *m)
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

void metrics_write_dead_letters(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (int label = 0; label < TARGET_LABELS; label++)
        for (int code = CODE_OK + 1; labels_text(LABEL_TARGETS, label) != NULL && code < CODE_N;
             code++)
            fprintf(out, "%s{code=\"%s\",target=\"%s\"} %" PRIu64 "\n", metric->name,
                    code_name((enum code)code), labels_text(LABEL_TARGETS, label),
                    counter_read(&m->stats->targets[label].dead[code]));
}

void metrics_write_by_target(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (int label = 0; label < TARGET_LABELS; label++) {
        const char *at = (const char *)&m->stats->targets[label] + metric->offset;
        if (labels_text(LABEL_TARGETS, label) != NULL)
            sample_labelled(out, metric, labels_text(LABEL_TARGETS, label),
                            counter_read((const struct counter *)(const void *)at));
    }
}

void metrics_write_failures(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (int label = 0; label < TARGET_LABELS; label++)
        for (unsigned error = 1;
             labels_text(LABEL_TARGETS, label) != NULL && error <= DELIVERY_ERRORS; error++)
            fprintf(out, "%s{target=\"%s\",error=\"%s\"} %" PRIu64 "\n", metric->name,
                    labels_text(LABEL_TARGETS, label), delivery_error_name(error),
                    counter_read(&m->stats->targets[label].failures[error]));
}

void metrics_write_retry(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (int label = LABEL_NONE + 1; label < TARGET_LABELS; label++)
        for (int i = 0; labels_text(LABEL_POLICIES, label) != NULL && i < RETRY_NUMBERS; i++)
            fprintf(out, "%s{policy=\"%s\",attempt=\"%d%s\"} %" PRIu64 "\n", metric->name,
                    labels_text(LABEL_POLICIES, label), i + 1, i + 1 < RETRY_NUMBERS ? "" : "+",
                    counter_read(&m->stats->retry[label].requests[i]));
}

void metrics_write_lateness(FILE *out, const struct metric *metric, const struct metrics *m)
{
    char text[DURATION_TEXT_MAX], label[DURATION_TEXT_MAX + 16];
    for (int slot = 0; slot < slots(m); slot++) {
        snprintf(label, sizeof label, "level=\"%s\"", level_name(m, slot, text));
        histogram(out, metric->name, label, &m->stats->slots[slot].lateness);
    }
}

void metrics_write_target_delay(FILE *out, const struct metric *metric, const struct metrics *m)
{
    histogram(out, metric->name, "", &m->stats->target_delay);
}

void metrics_write_withheld(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (int label = 0; label < TARGET_LABELS; label++) {
        const char *target = labels_text(LABEL_TARGETS, label);
        const struct target_stats *stats = &m->stats->targets[label];
        if (target == NULL)
            continue;
        fprintf(out, "%s{target=\"%s\",reason=\"paused\"} %" PRIu64 "\n", metric->name, target,
                counter_read(&stats->paused));
        fprintf(out, "%s{target=\"%s\",reason=\"limited\"} %" PRIu64 "\n", metric->name, target,
                counter_read(&stats->limited));
    }
}

void metrics_write_withheld_delay(FILE *out, const struct metric *metric, const struct metrics *m)
{
    histogram(out, metric->name, "", &m->stats->withheld_delay);
}

void metrics_write_control(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample_labelled(out, metric, "pause", counter_read(&m->stats->pauses));
    sample_labelled(out, metric, "limit", counter_read(&m->stats->limits));
}

void metrics_write_limits(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (int label = 0; label < TARGET_LABELS; label++) {
        const char *target = labels_text(LABEL_TARGETS, label);
        uint64_t rate = counter_read(&m->stats->targets[label].limit_per_minute);
        if (target != NULL && rate > 0)
            fprintf(out, "%s{target=\"%s\"} %.6g\n", metric->name, target, (double)rate / 60);
    }
}

void metrics_write_commit(FILE *out, const struct metric *metric, const struct metrics *m)
{
    histogram(out, metric->name, "", &m->stats->commit);
}

void metrics_write_restore(FILE *out, const struct metric *metric, const struct metrics *m)
{
    histogram(out, metric->name, "", &m->stats->restore);
}

void metrics_write_commits(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample_labelled(out, metric, "ok", counter_read(&m->stats->commits));
    sample_labelled(out, metric, "failed", counter_read(&m->stats->commits_failed));
}

void metrics_write_transactions(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (!m->config->exactly_once)
        return;
    sample_labelled(out, metric, "committed", counter_read(&m->stats->commits));
    sample_labelled(out, metric, "aborted", counter_read(&m->stats->aborts));
}

void metrics_write_by_level(FILE *out, const struct metric *metric, const struct metrics *m)
{
    char text[DURATION_TEXT_MAX];
    for (int slot = 0; slot < slots(m); slot++)
        sample_labelled(out, metric, level_name(m, slot, text),
                        slot_value(m, slot, metric->offset));
}

void metrics_write_level_time(FILE *out, const struct metric *metric, const struct metrics *m)
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

void metrics_write_partitions(FILE *out, const struct metric *metric, const struct metrics *m)
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

void metrics_write_lanes(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->lanes > 0)
        sample(out, metric, (uint64_t)m->lanes);
}

void metrics_write_memory_limit(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample(out, metric, (uint64_t)m->config->memory_bytes);
}

void metrics_write_cancels(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample_labelled(out, metric, "cancel", counter_read(&m->stats->cancels));
    sample_labelled(out, metric, "replace", counter_read(&m->stats->replaces));
}

void metrics_write_events(FILE *out, const struct metric *metric, const struct metrics *m)
{
    for (int type = 0; type < EVENT_TYPES; type++)
        if (type != EVENT_REDRIVEN) /* written by a command */
            sample_labelled(out, metric, event_name((enum event_type)type),
                            counter_read(&m->stats->events[type]));
}

void metrics_write_ready(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample(out, metric, m->ready);
}

void metrics_write_config_hash(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample(out, metric, m->config_hash);
}

void metrics_write_reload_failed(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample(out, metric, m->reload_failed);
}

void metrics_write_open_records(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->watched.open_records >= 0)
        sample(out, metric, (uint64_t)m->watched.open_records);
}

void metrics_write_lanes_unserved(FILE *out, const struct metric *metric, const struct metrics *m)
{
    sample(out, metric, (uint64_t)m->watched.lanes_unserved);
}

void metrics_write_findings(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->refusals < 0)
        return;
    sample_labelled(out, metric, "refuse", (uint64_t)m->refusals);
    sample_labelled(out, metric, "fault", (uint64_t)m->faults);
}

void metrics_write_canary(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->canary == NULL)
        return;
    const char *at = (const char *)m->canary + metric->offset;
    sample(out, metric, counter_read((const struct counter *)(const void *)at));
}

void metrics_write_canary_last(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->canary != NULL && counter_read(&m->canary->received_wall_ms) != 0)
        sample_ms(out, metric->name, counter_read(&m->canary->received_wall_ms));
}

void metrics_write_canary_interval(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->config->canary_ms > 0) /* also if the canary could not be started */
        sample_ms(out, metric->name, (uint64_t)m->config->canary_ms);
}

void metrics_write_canary_spans(FILE *out, const struct metric *metric, const struct metrics *m)
{
    if (m->canary == NULL)
        return;
    const char *at = (const char *)m->canary + metric->offset;
    histogram(out, metric->name, "", (const struct spans *)(const void *)at);
}

void metrics_write_build(FILE *out, const struct metric *metric, const struct metrics *m)
{
    fprintf(out, "%s{version=\"%s\",commit=\"%s\",librdkafka=\"%s\"} 1\n", metric->name,
            version_number, version_commit, m->librdkafka);
}

void metrics_write_process(FILE *out, const struct metric *metric, const struct metrics *m)
{
    (void)m;
    double value;
    if (process_figure((enum process_figure)metric->offset, &value))
        fprintf(out, "%s %.15g\n", metric->name, value);
}
