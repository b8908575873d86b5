/* SPDX-License-Identifier: Apache-2.0 */
/* Levels from the metrics, as text and as JSON. */
#include "bridge/commands/top_levels.h"

#include "bridge/commands/result.h"
#include "levels/duration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIR_MAX = 2 * TOP_NUMBER_MAX + 2 /* two cells and a separator */ };
enum { OVERDUE_MS = 5000 /* progress is committed a little later than a delivery */ };

bool top_level_at(const struct top_figures *f, int n, struct top_level *l)
{
    *l = (struct top_level){0};
    if (!top_figures_label(f, "delaybridge_level_pending_records{level=\"", n, l->level))
        return false;
    const char *level = l->level;
    l->waiting = top_figures_value(f, "delaybridge_level_pending_records{level=\"%s\"}", level);
    l->redelivering = top_figures_value(f, "delaybridge_redelivering_records{level=\"%s\"}", level);
    l->withheld = top_figures_value(f, "delaybridge_withheld_records{level=\"%s\"}", level);
    l->blocked =
        top_figures_value(f, "delaybridge_partitions{level=\"%s\",state=\"blocked\"}", level);
    l->hops_per_s = top_figures_rate(
        f, "delaybridge_forwarded_records_total{level=\"%s\",kind=\"hop\"}", level);
    l->deliveries_per_s = top_figures_rate(
        f, "delaybridge_forwarded_records_total{level=\"%s\",kind=\"delivery\"}", level);
    l->head = top_figures_find(f, "delaybridge_level_head_deadline_timestamp_seconds{level=\"%s\"}",
                               level);
    l->oldest = top_figures_find(
        f, "delaybridge_redelivering_oldest_due_timestamp_seconds{level=\"%s\"}", level);
    l->lateness = top_lateness_read(f, level);
    return true;
}

static int64_t wall_ms(const struct scrape_sample *sample)
{
    return (int64_t)(sample->value * 1000);
}

const char *top_level_state(const struct top_level *l, int64_t now_wall_ms)
{
    if (l->blocked > 0)
        return "blocked";
    if (l->waiting <= 0)
        return "empty";
    if (l->head != NULL && wall_ms(l->head) < now_wall_ms - OVERDUE_MS)
        return "overdue";
    if (l->withheld > 0)
        return "withheld";
    return l->redelivering > 0 ? "redelivering" : "flowing";
}

/* Formats the time until an instant: "1.2 s", "3h4m", "3.1 s ago". */
static const char *countdown(int64_t at_wall_ms, int64_t now_wall_ms, char out[TOP_NUMBER_MAX])
{
    char text[DURATION_TEXT_MAX];
    double left_s = (double)(at_wall_ms - now_wall_ms) / 1000;
    if (fabs(left_s) < 100)
        snprintf(out, TOP_NUMBER_MAX, left_s < -1 ? "%.1f s ago" : "%.1f s", fabs(left_s));
    else
        snprintf(out, TOP_NUMBER_MAX, "%s%s", duration_format((int64_t)fabs(left_s) * 1000, text),
                 left_s < 0 ? " ago" : "");
    return out;
}

/* Returns "12, 3.1 s ago": the records that wait because of their target, and when the oldest was
   due. */
static const char *redelivering_text(const struct top_level *l, int64_t now_wall_ms,
                                     char out[PAIR_MAX])
{
    char count[TOP_NUMBER_MAX], oldest[TOP_NUMBER_MAX];
    snprintf(out, PAIR_MAX, "%s", top_number(l->redelivering, count));
    if (l->oldest != NULL)
        snprintf(out, PAIR_MAX, "%s, %s", count,
                 countdown(wall_ms(l->oldest), now_wall_ms, oldest));
    return out;
}

static void print_level(const struct top_level *l, int64_t now_wall_ms, FILE *out)
{
    char waiting[TOP_NUMBER_MAX], head[TOP_NUMBER_MAX] = "", redelivering[PAIR_MAX];
    char p50[TOP_NUMBER_MAX], p99[TOP_NUMBER_MAX], withheld[TOP_NUMBER_MAX];
    if (l->head != NULL)
        countdown(wall_ms(l->head), now_wall_ms, head);
    else if (l->waiting > 0)
        snprintf(head, sizeof head, "in memory");
    fprintf(out, "%-10s %14s  %14s  %-12s %9.1f %10.1f %7s %7s %10s  %s", l->level,
            top_number(l->waiting, waiting), head, top_level_state(l, now_wall_ms), l->hops_per_s,
            l->deliveries_per_s, top_quantile_text(top_lateness_quantile(&l->lateness, 0.5), p50),
            top_quantile_text(top_lateness_quantile(&l->lateness, 0.99), p99),
            top_number(l->withheld, withheld), redelivering_text(l, now_wall_ms, redelivering));
    if (l->blocked > 0)
        fprintf(out, "  %.0f BLOCKED: run 'delaybridge check'", l->blocked);
    fputc('\n', out);
}

static bool is_quiet(const struct top_level *l)
{
    return l->waiting <= 0 && l->blocked <= 0 && l->hops_per_s <= 0 && l->deliveries_per_s <= 0;
}

/* Prints the names of the levels that have nothing to show, on one line. */
static void print_quiet(const struct top_figures *f, FILE *out)
{
    struct top_level level;
    int n = 0;
    for (int i = 0; top_level_at(f, i, &level); i++)
        if (is_quiet(&level))
            fprintf(out, n++ == 0 ? "empty: %s" : ", %s", level.level);
    if (n > 0)
        fputc('\n', out);
}

void top_levels_print(const struct top_figures *f, bool brief, int64_t now_wall_ms, FILE *out)
{
    struct top_level level;
    fprintf(out, "%-10s %14s  %14s  %-12s %9s %10s %7s %7s %10s  %s\n", "LEVEL", "WAITING",
            "HEAD LEAVES", "STATE", "HOPS/S", "DELIVER/S", "P50 <=", "P99 <=", "WITHHELD",
            "REDELIVERING");
    for (int i = 0; top_level_at(f, i, &level); i++)
        if (!brief || !is_quiet(&level))
            print_level(&level, now_wall_ms, out);
    if (brief)
        print_quiet(f, out);
}

static json_t *sample_json(const struct scrape_sample *sample)
{
    return sample == NULL ? json_null() : instant_json(wall_ms(sample));
}

static json_t *level_json(const struct top_level *l, int64_t now_wall_ms)
{
    json_t *level = json_pack("{s:s, s:I, s:s, s:f, s:f, s:I}", "level", l->level, "waiting",
                              (json_int_t)l->waiting, "state", top_level_state(l, now_wall_ms),
                              "hops_per_s", l->hops_per_s, "deliveries_per_s", l->deliveries_per_s,
                              "deliveries", (json_int_t)top_lateness_n(&l->lateness));
    json_object_update_new(level,
                           json_pack("{s:o, s:o, s:I, s:I, s:o, s:I, s:o}", "late_p50_at_most_ms",
                                     top_quantile_json(top_lateness_quantile(&l->lateness, 0.5)),
                                     "late_p99_at_most_ms",
                                     top_quantile_json(top_lateness_quantile(&l->lateness, 0.99)),
                                     "blocked_partitions", (json_int_t)l->blocked, "redelivering",
                                     (json_int_t)l->redelivering, "redelivering_oldest_due",
                                     sample_json(l->oldest), "withheld", (json_int_t)l->withheld,
                                     "head_leaves", sample_json(l->head)));
    return level;
}

json_t *top_levels_json(const struct top_figures *f, int64_t now_wall_ms)
{
    struct top_level level;
    json_t *list = json_array();
    for (int i = 0; top_level_at(f, i, &level); i++)
        json_array_append_new(list, level_json(&level, now_wall_ms));
    return list;
}
