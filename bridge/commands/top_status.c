/* SPDX-License-Identifier: Apache-2.0 */
/* The status strip and the alerts. */
#include "bridge/commands/top_status.h"

#include "bridge/commands/top_levels.h"
#include "bridge/commands/top_targets.h"
#include "levels/duration.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { SENTENCE_MAX = 512, LATE_MS = 1000, OVERDUE_MS = 60000, MIB = 1 << 20 };
static const double CANCELS_FULL = 0.8;

/* A receiver of alerts. */
struct report {
    void (*each)(void *ctx, const char *sentence, const char *section);
    void *ctx;
};

__attribute__((format(printf, 3, 4))) static void say(const struct report *r, const char *section,
                                                      const char *format, ...)
{
    char sentence[SENTENCE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    r->each(r->ctx, sentence, section);
}

static void report_group(const struct top_status *s, const struct report *r)
{
    const struct top_figures *f = s->figures;
    double ready = top_figures_value(f, "delaybridge_ready");
    double unowned = top_figures_value(f, "delaybridge_lanes_configured") -
                     top_figures_value(f, "delaybridge_lanes");
    double unserved = top_figures_value(f, "delaybridge_lanes_unserved");
    double refusals = top_figures_value(f, "delaybridge_topic_findings{kind=\"refuse\"}");
    if (ready < f->answered)
        say(r, "nothing-is-delivered", "Processes that are not ready: %.0f of %d.",
            f->answered - ready, f->answered);
    if (s->knows_all && f->answered == f->asked && unowned > 0)
        say(r, "a-lane-is-not-served", "Lanes without an owner: %.0f.", unowned);
    if (unserved > 0)
        say(r, "a-lane-is-not-served", "Lanes that were added and are not served: %.0f.", unserved);
    if (refusals > 0)
        say(r, "unsafe-topic-settings", "Settings that could lose waiting records: %.0f.",
            refusals);
}

static void report_levels(const struct top_status *s, const struct report *r)
{
    struct top_level level;
    char text[DURATION_TEXT_MAX];
    for (int i = 0; top_level_at(s->figures, i, &level); i++) {
        int64_t overdue_ms =
            level.head == NULL ? 0 : s->now_wall_ms - (int64_t)(level.head->value * 1000);
        if (level.blocked > 0)
            say(r, "a-partition-is-blocked", "Level %s: %.0f partitions are blocked.", level.level,
                level.blocked);
        else if (overdue_ms >= OVERDUE_MS)
            say(r, "deliveries-are-late", "The first record of level %s is %s overdue.",
                level.level, duration_format(overdue_ms - overdue_ms % 1000, text));
    }
}

static void report_targets(const struct top_status *s, const struct report *r)
{
    struct top_target target;
    for (int i = 0; top_target_at(s->figures, i, s->control, &target); i++)
        if (target.failures_per_s > 0)
            say(r, "target-unavailable", "Deliveries to %s fail.", target.entry);
}

/* Metrics that should be 0, or not be above another one. */
static void report_figures(const struct top_status *s, const struct report *r)
{
    const struct top_figures *f = s->figures;
    char p99[TOP_NUMBER_MAX];
    struct top_quantile late = top_lateness_quantile(&s->recent, 0.99);
    double behind_s = top_figures_value(f, "delaybridge_schedule_read_behind_seconds");
    double restoring = top_figures_value(f, "delaybridge_lanes_restoring");
    double events = top_figures_value(f, "delaybridge_events_blocked_lanes");
    double cancels = top_figures_value(f, "delaybridge_cancel_entries");
    double room = top_figures_value(f, "delaybridge_cancel_entries_limit");
    double faults = top_figures_value(f, "delaybridge_topic_findings{kind=\"fault\"}");
    if (late.kind == QUANTILE_ABOVE || late.at_most_ms > LATE_MS)
        say(r, "deliveries-are-late", "One delivery in a hundred is late by more than 1s, p99: %s.",
            top_quantile_text(late, p99));
    if (behind_s > 1)
        say(r, "requests-are-read-late", "Requests wait %.1f s before they are read.", behind_s);
    if (restoring > 0)
        say(r, "lanes-restore-for-long", "Lanes that read cancels, and deliver nothing yet: %.0f.",
            restoring);
    if (events > 0)
        say(r, "events-are-blocked", "Lanes that wait, because events cannot be written: %.0f.",
            events);
    if (room > 0 && cancels > CANCELS_FULL * room)
        say(r, "cancels-are-nearly-full", "The memory for cancels is %.0f %% full.",
            floor(100 * cancels / room));
    if (top_figures_total_rate(f, "delaybridge_dead_letter_records_total{") > 0)
        say(r, "requests-are-dead-lettered", "Requests are dead-lettered.");
    if (faults > 0)
        say(r, "unsafe-topic-settings", "Topic faults that make requests fail or lose them: %.0f.",
            faults);
}

static void report_bad(const struct top_status *s, const struct report *r)
{
    report_group(s, r);
    report_levels(s, r);
    report_targets(s, r);
}

void top_status_alerts(const struct top_status *s,
                       void (*each)(void *ctx, const char *sentence, const char *section),
                       void *ctx)
{
    const struct report r = {each, ctx};
    report_bad(s, &r);
    report_figures(s, &r);
}

static void count_alert(void *ctx, const char *sentence, const char *section)
{
    (void)sentence, (void)section;
    ++*(int *)ctx;
}

const char *top_status_word(const struct top_status *s)
{
    int bad = 0;
    const struct report r = {count_alert, &bad};
    struct top_quantile late = top_lateness_quantile(&s->recent, 0.99);
    if (top_figures_value(s->figures, "delaybridge_ready") <= 0)
        return "not_ready";
    if (late.kind == QUANTILE_ABOVE || late.at_most_ms > LATE_MS)
        return "late";
    report_bad(s, &r);
    return bad > 0 ? "needs_attention" : "on_time";
}

static void print_alert(void *ctx, const char *sentence, const char *section)
{
    fprintf(ctx, "! %s See troubleshooting.md#%s\n", sentence, section);
}

static void print_verdict(const struct top_status *s, FILE *out)
{
    char p50[TOP_NUMBER_MAX], p99[TOP_NUMBER_MAX], word[TOP_NUMBER_MAX];
    top_word(top_status_word(s), word);
    for (const char *at = word; *at != '\0'; at++)
        fputc(toupper((unsigned char)*at), out);
    if (top_lateness_n(&s->recent) > 0)
        fprintf(out, "  late p50 <= %s, p99 <= %s\n",
                top_quantile_text(top_lateness_quantile(&s->recent, 0.5), p50),
                top_quantile_text(top_lateness_quantile(&s->recent, 0.99), p99));
    else
        fputs("  nothing was due\n", out);
}

static void print_memory(const struct top_figures *f, FILE *out)
{
    char buffered[TOP_NUMBER_MAX], cancels[TOP_NUMBER_MAX], lanes[TOP_NUMBER_MAX] = "";
    double restoring = top_figures_value(f, "delaybridge_lanes_restoring");
    if (restoring > 0)
        snprintf(lanes, sizeof lanes, " (%.0f RESTORING)", restoring);
    fprintf(out,
            "lanes %.0f of %.0f%s  cancels %s  buffered %s (%.0f of %.0f MiB)  "
            "unsafe topic settings %.0f\n",
            top_figures_value(f, "delaybridge_lanes"),
            top_figures_value(f, "delaybridge_lanes_configured"), lanes,
            top_number(top_figures_value(f, "delaybridge_cancel_entries"), cancels),
            top_number(top_figures_value(f, "delaybridge_buffered_records"), buffered),
            top_figures_value(f, "delaybridge_buffered_bytes") / MIB,
            top_figures_value(f, "delaybridge_memory_limit_bytes") / MIB,
            top_figures_value(f, "delaybridge_topic_findings{kind=\"refuse\"}"));
}

static void print_rates(const struct top_figures *f, FILE *out)
{
    char waiting[TOP_NUMBER_MAX];
    double unread = top_figures_value(f, "delaybridge_schedule_unread_records");
    double all = top_figures_total(f, "delaybridge_level_pending_records{");
    fprintf(out,
            "requests/s %.1f  deliveries/s %.1f  waiting %s  refused/s %.1f  dead letters/s %.1f  "
            "redeliveries/s %.1f  rebalances %.0f\n",
            top_figures_total_rate(f, "delaybridge_schedule_records_total{"),
            top_figures_total_rate(f, "delaybridge_target_deliveries_total{"),
            top_number(all - unread, waiting),
            top_figures_rate(f, "delaybridge_schedule_records_total{result=\"refused\"}"),
            top_figures_total_rate(f, "delaybridge_dead_letter_records_total{"),
            top_figures_rate(f, "delaybridge_redeliveries_total"),
            top_figures_value(f, "delaybridge_rebalances_total"));
}

void top_status_print(const struct top_status *s, FILE *out)
{
    print_verdict(s, out);
    print_memory(s->figures, out);
    print_rates(s->figures, out);
    top_status_alerts(s, print_alert, out);
}

static void add_alert(void *ctx, const char *sentence, const char *section)
{
    json_array_append_new(ctx, json_pack("{s:s, s:s}", "text", sentence, "section", section));
}

json_t *top_status_alerts_json(const struct top_status *s)
{
    json_t *list = json_array();
    top_status_alerts(s, add_alert, list);
    return list;
}
