/* SPDX-License-Identifier: Apache-2.0 */
/* Targets from the metrics, and pauses and limits from S.control. */
#include "bridge/commands/top_targets.h"

#include "bridge/base/quote.h"
#include "bridge/commands/control_list.h"
#include "bridge/commands/top_dead.h"
#include "levels/instant.h"

#include <string.h>

/* Adds up the codes. */
static double dead_letters_of(const struct top_figures *f, const char *entry)
{
    struct top_dead dead;
    double sum = 0;
    for (size_t i = 0; top_dead_next(f, &i, &dead);)
        sum += strcmp(dead.target, entry) == 0 ? dead.records : 0;
    return sum;
}

bool top_target_at(const struct top_figures *f, int n, const struct control_list *control,
                   struct top_target *t)
{
    char failures[2 * TOP_LABEL_MAX];
    *t = (struct top_target){0};
    if (!top_figures_label(f, "delaybridge_target_deliveries_total{target=\"", n, t->entry))
        return false;
    const char *entry = t->entry;
    snprintf(failures, sizeof failures, "delaybridge_delivery_failures_total{target=\"%s\",",
             entry);
    t->deliveries =
        top_figures_value(f, "delaybridge_target_deliveries_total{target=\"%s\"}", entry);
    t->deliveries_per_s =
        top_figures_rate(f, "delaybridge_target_deliveries_total{target=\"%s\"}", entry);
    t->failures =
        top_figures_total(f, failures) +
        top_figures_value(f, "delaybridge_delivery_deferrals_total{target=\"%s\"}", entry);
    t->failures_per_s =
        top_figures_total_rate(f, failures) +
        top_figures_rate(f, "delaybridge_delivery_deferrals_total{target=\"%s\"}", entry);
    t->dead_letters = dead_letters_of(f, entry);
    t->limit_per_s =
        top_figures_value(f, "delaybridge_target_limit_per_second{target=\"%s\"}", entry);
    t->paused = control_list_paused(control, entry);
    return true;
}

const char *top_target_state(const struct top_target *t)
{
    if (t->paused == CONTROL_ALL)
        return "paused";
    if (t->failures_per_s > 0)
        return "failing";
    if (t->paused == CONTROL_SOME)
        return "partly_paused";
    if (t->limit_per_s > 0)
        return "limited";
    if (t->deliveries_per_s > 0)
        return "delivering";
    return t->failures > 0 ? "failed_before" : "idle";
}

static void print_target(const struct top_target *t, FILE *out)
{
    char delivered[TOP_NUMBER_MAX], failed[TOP_NUMBER_MAX], dead[TOP_NUMBER_MAX];
    char limit[TOP_NUMBER_MAX] = "-", state[TOP_NUMBER_MAX];
    if (t->limit_per_s > 0)
        snprintf(limit, sizeof limit, "%.6g", t->limit_per_s);
    fprintf(out, "%-32s  %-13s %10.1f %14s %10.1f %10s %10s %10s\n", t->entry,
            top_word(top_target_state(t), state), t->deliveries_per_s,
            top_number(t->deliveries, delivered), t->failures_per_s,
            top_number(t->failures, failed), top_number(t->dead_letters, dead), limit);
}

static void print_control(const struct control_record *record, FILE *out)
{
    const struct control *c = &record->control;
    char at[INSTANT_TEXT_MAX], until[INSTANT_TEXT_MAX], rate[RATE_TEXT_MAX];
    char by[QUOTE_BYTES_TEXT_MAX];
    fprintf(out, "%s: %s%s since %s", c->pattern, c->op == CONTROL_PAUSE ? "paused" : "limited to ",
            c->op == CONTROL_PAUSE ? "" : rate_format(&c->rate, rate),
            instant_format(c->at_wall_ms, at));
    if (c->until_wall_ms != CONTROL_ENDLESS)
        fprintf(out, " until %s", instant_format(c->until_wall_ms, until));
    if (record->by[0] != '\0')
        fprintf(out, " by %s", quote_bytes(bytes_text(record->by), by));
    fputc('\n', out);
}

void top_targets_print(const struct top_figures *f, const struct control_list *control, FILE *out)
{
    struct top_target t;
    double slow = top_figures_value(f, "delaybridge_slow_targets");
    fprintf(out, "%-32s  %-13s %10s %14s %10s %10s %10s %10s\n", "TARGET", "STATE", "DELIVER/S",
            "DELIVERED", "FAIL/S", "FAILED", "DEAD", "LIMIT/S");
    for (int i = 0; top_target_at(f, i, control, &t); i++)
        if (t.entry[0] != '(' || t.deliveries + t.dead_letters > 0) /* "(none)", "(other)" */
            print_target(&t, out);
    if (slow > 0)
        fprintf(out, "slow targets, which delay the others: %.0f\n", slow);
    for (size_t i = 0; i < control->n; i++)
        print_control(&control->all[i], out);
}

json_t *top_targets_json(const struct top_figures *f, const struct control_list *control)
{
    struct top_target t;
    json_t *list = json_array();
    for (int i = 0; top_target_at(f, i, control, &t); i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I, s:f, s:I, s:f, s:I, s:o}", "target", t.entry, "state",
                            top_target_state(&t), "deliveries", (json_int_t)t.deliveries,
                            "deliveries_per_s", t.deliveries_per_s, "failures",
                            (json_int_t)t.failures, "failures_per_s", t.failures_per_s,
                            "dead_letters", (json_int_t)t.dead_letters, "limit_per_s",
                            t.limit_per_s > 0 ? json_real(t.limit_per_s) : json_null()));
    return list;
}
