/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge top: shows running instances live, from their metrics. */
#include "bridge/base/clock.h"
#include "bridge/commands/control_list.h"
#include "bridge/commands/result.h"
#include "bridge/commands/top_dead.h"
#include "bridge/commands/top_layout.h"
#include "bridge/commands/top_levels.h"
#include "bridge/commands/top_limits.h"
#include "bridge/commands/top_members.h"
#include "bridge/commands/top_next.h"
#include "bridge/commands/top_status.h"
#include "bridge/commands/top_targets.h"
#include "levels/instant.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct top {
    const struct cli *cli;
    char *const *addresses; /* borrowed */
    int addresses_n;
    struct top_members members; /* without an address on the command line */
    struct top_next *next;      /* NULL: Kafka is not read */
    bool once;
    int64_t every_ms;
    struct top_figures figures;
    struct top_heat heat;
    struct error why; /* why one of the addresses failed */
};

/* Reads all instances once. Returns ERR_KAFKA if none answers. */
static int look(struct top *t)
{
    struct scrape fresh = {0};
    int silent = 0;
    for (int i = 0; i < t->addresses_n; i++)
        silent += scrape_read(&fresh, t->addresses[i], t->cli->timeout_ms, &t->why) != 0;
    t->figures.asked = t->addresses_n;
    t->figures.answered = t->addresses_n - silent;
    if (t->figures.answered == 0) {
        scrape_deinit(&fresh);
        return ERR_KAFKA;
    }
    bool is_first = t->figures.now_mono_ms == 0;
    top_figures_take(&t->figures, &fresh, clock_mono_ms());
    if (!is_first)
        top_heat_add(&t->heat, top_lateness_read(&t->figures, NULL));
    return 0;
}

/* Every process has the same entries, and their sum is scraped. */
static double in_force(const struct top *t, const char *op)
{
    double sum = top_figures_value(&t->figures, "delaybridge_control_entries{op=\"%s\"}", op);
    return ceil(sum / t->figures.answered);
}

static struct top_status status_of(const struct top *t, int64_t now_wall_ms)
{
    return (struct top_status){.figures = &t->figures,
                               .control = &t->members.list,
                               .recent = top_heat_recent(&t->heat),
                               .knows_all = t->members.list.members_n > 0 && t->members.far_n == 0,
                               .now_wall_ms = now_wall_ms};
}

static void print_head(const struct top *t, const struct top_status *status, FILE *out)
{
    char at[INSTANT_TEXT_MAX];
    fprintf(out, "%s  delaybridge  %s", instant_format(status->now_wall_ms, at), t->addresses[0]);
    if (t->addresses_n > 1)
        fprintf(out, " and %d more", t->addresses_n - 1);
    fprintf(out, "  ready %.0f of %d", top_figures_value(&t->figures, "delaybridge_ready"),
            t->addresses_n);
    if (t->figures.answered < t->figures.asked)
        fprintf(out, "  (%s)", t->why.text);
    fputc('\n', out);
    top_status_print(status, out);
    if (t->members.list.n == 0 && in_force(t, "pause") + in_force(t, "limit") > 0)
        fprintf(out,
                "targets PAUSED by %.0f and LIMITED by %.0f entries, see 'delaybridge levels'\n",
                in_force(t, "pause"), in_force(t, "limit"));
    top_members_print(&t->members, out);
}

static void print_next(struct top *t, FILE *out)
{
    struct error why;
    if (t->next == NULL)
        return;
    struct top_hour hour = top_next_take(t->next, t->once, &why);
    top_hour_print(&hour, chart_letters_of_locale(), out);
    if (!hour.is_known)
        fprintf(out, "NEXT HOUR: %s\n", why.text[0] == '\0' ? "reading a sample" : why.text);
}

enum section { STATUS, LEVELS, BRIEF_LEVELS, TARGETS, DEAD_LETTERS, NEXT_HOUR, LATENESS };

/* Returns the text of a section, which the caller frees. */
static char *section_text(struct top *t, enum section section, int64_t now_wall_ms)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert(out != NULL);
    struct top_status status = status_of(t, now_wall_ms);
    switch (section) {
    case STATUS:
        print_head(t, &status, out);
        break;
    case LEVELS:
    case BRIEF_LEVELS:
        top_levels_print(&t->figures, section == BRIEF_LEVELS, now_wall_ms, out);
        break;
    case TARGETS:
        top_targets_print(&t->figures, &t->members.list, out);
        break;
    case DEAD_LETTERS:
        top_dead_print(&t->figures, out);
        break;
    case NEXT_HOUR:
        print_next(t, out);
        break;
    case LATENESS:
        top_heat_print(&t->heat, chart_letters_of_locale(), out);
        break;
    }
    fclose(out);
    return text;
}

static void lay_out(struct top *t, struct top_layout *layout, bool brief, int64_t now_wall_ms)
{
    static const char *const NAMES[] = {[STATUS] = "status",
                                        [LEVELS] = "levels",
                                        [BRIEF_LEVELS] = "levels",
                                        [TARGETS] = "targets",
                                        [DEAD_LETTERS] = "dead letters",
                                        [NEXT_HOUR] = "next hour",
                                        [LATENESS] = "lateness"};
    for (enum section section = STATUS; section <= LATENESS; section++)
        if (section != (brief ? LEVELS : BRIEF_LEVELS))
            top_layout_add(layout, NAMES[section], section_text(t, section, now_wall_ms));
}

static void print_text(struct top *t)
{
    struct top_layout layout = {0};
    int64_t now_wall_ms = clock_wall_ms();
    bool is_screen = isatty(STDOUT_FILENO) && !t->once;
    if (is_screen)
        top_layout_measure(&layout, STDOUT_FILENO);
    lay_out(t, &layout, false, now_wall_ms);
    if (layout.rows > 0 && top_layout_rows(&layout) >= layout.rows) {
        top_layout_deinit(&layout);
        lay_out(t, &layout, true, now_wall_ms);
    }
    if (is_screen)
        fputs("\033[H\033[J", stdout);
    top_layout_print(&layout, stdout);
    top_layout_deinit(&layout);
}

static json_t *count_json(const struct top *t, const char *metric)
{
    return json_integer((json_int_t)top_figures_value(&t->figures, "%s", metric));
}

static json_t *next_json(struct top *t)
{
    struct error why;
    if (t->next == NULL)
        return json_null();
    struct top_hour hour = top_next_take(t->next, t->once, &why);
    return top_hour_json(&hour);
}

static void print_as_json(struct top *t)
{
    const struct top_figures *f = &t->figures;
    struct top_status status = status_of(t, clock_wall_ms());
    json_t *json = json_pack(
        "{s:o, s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "at",
        instant_json(status.now_wall_ms), "answered", f->answered, "ready",
        count_json(t, "delaybridge_ready"), "status", top_status_word(&status), "attention",
        top_status_alerts_json(&status), "lanes", count_json(t, "delaybridge_lanes"),
        "lanes_restoring", count_json(t, "delaybridge_lanes_restoring"), "cancels",
        count_json(t, "delaybridge_cancel_entries"), "buffered_records",
        count_json(t, "delaybridge_buffered_records"), "pauses", (json_int_t)in_force(t, "pause"),
        "limits", (json_int_t)in_force(t, "limit"));
    json_object_update_new(json, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "target_limits",
                                           top_limits_json(&f->now), "targets",
                                           top_targets_json(f, &t->members.list), "dead_letters",
                                           top_dead_json(f), "next_hour", next_json(t), "processes",
                                           top_members_json(&t->members), "differences",
                                           top_members_differences(&t->members), "levels",
                                           top_levels_json(f, status.now_wall_ms)));
    print_json(json);
}

/* Sets the addresses of the command line, or those of the processes of the group, or else the one
   of the configuration. */
static int choose_addresses(struct top *t)
{
    const struct arguments *arguments = t->cli->arguments;
    t->addresses = arguments->operands;
    t->addresses_n = arguments->operands_n;
    if (t->addresses_n > 0)
        return EXIT_DONE;
    (void)top_members_look(&t->members, t->cli, &t->why);
    t->addresses = t->members.addresses;
    t->addresses_n = t->members.addresses_n;
    if (t->addresses_n > 0)
        return EXIT_DONE;
    if (t->members.far_n > 0)
        return complain(t->cli, EXIT_UNREACHABLE, "%s", top_members_far(&t->members, &t->why));
    if (t->cli->config->listen == NULL)
        return complain(t->cli, EXIT_USAGE,
                        "no process has published its address, and 'listen' is empty: pass the "
                        "HOST:PORT of an instance");
    t->addresses = (char *const *)&t->cli->config->listen;
    t->addresses_n = 1;
    return EXIT_DONE;
}

int cmd_top(struct cli *cli)
{
    struct top t = {.cli = cli,
                    .once = arguments_have(cli->arguments, "--once"),
                    .every_ms = arguments_number(cli->arguments, "--every")};
    int code = choose_addresses(&t);
    if (code == EXIT_DONE && t.members.addresses_n > 0)
        t.next = top_next_start(cli);
    for (int looks = 0; code == EXIT_DONE && !(t.once && looks == 2); looks++) {
        if (looks > 0)
            code = choose_addresses(&t);
        control_list_drop_ended(&t.members.list, clock_wall_ms());
        if (look(&t) != 0)
            code = complain(cli, EXIT_UNREACHABLE, "%s", t.why.text);
        else if (looks > 0) /* rates need two samples */
            cli->json ? print_as_json(&t) : print_text(&t);
        fflush(stdout);
        if (code == EXIT_DONE && !(t.once && looks == 1))
            usleep((useconds_t)t.every_ms * 1000);
    }
    top_next_stop(t.next);
    top_figures_deinit(&t.figures);
    top_members_deinit(&t.members);
    return code;
}
