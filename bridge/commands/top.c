/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge top: shows running instances live, from their metrics. */
#include "bridge/base/clock.h"
#include "bridge/commands/result.h"
#include "bridge/commands/scrape.h"
#include "bridge/commands/top_lateness.h"
#include "bridge/commands/top_limits.h"
#include "bridge/commands/top_members.h"
#include "levels/duration.h"
#include "levels/instant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_MAX = 200,
    CELL_MAX = 32,
    PAIR_MAX = 2 * CELL_MAX + 2 /* two cells and a separator */
};

struct top {
    const struct cli *cli;
    char *const *addresses; /* borrowed */
    int addresses_n;
    struct top_members members; /* without an address on the command line */
    bool once;
    int64_t every_ms;
    struct scrape now, before;
    int64_t now_ms, before_ms; /* monotonic */
    int silent;                /* addresses whose last request failed */
    struct error why;          /* why one of them failed */
};

__attribute__((format(printf, 2, 3))) static double rate(const struct top *t, const char *format,
                                                         ...)
{
    char name[NAME_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    double passed_s = (double)(t->now_ms - t->before_ms) / 1000;
    double more = scrape_value(&t->now, name) - scrape_value(&t->before, name);
    return passed_s <= 0 || more < 0 ? 0 : more / passed_s; /* below 0: an instance was restarted */
}

static double total(const struct scrape *s, const char *prefix)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        if (strncmp(s->samples[i].name, prefix, strlen(prefix)) == 0)
            sum += s->samples[i].value;
    return sum;
}

static double total_rate(const struct top *t, const char *prefix)
{
    double passed_s = (double)(t->now_ms - t->before_ms) / 1000;
    double more = total(&t->now, prefix) - total(&t->before, prefix);
    return passed_s <= 0 || more < 0 ? 0 : more / passed_s;
}

/* Formats a count with separators: 1234567 is 1,234,567. */
static const char *grouped(double value, char out[CELL_MAX])
{
    char digits[CELL_MAX];
    int n = snprintf(digits, sizeof digits, "%.0f", value < 0 ? 0 : value), at = 0;
    for (int i = 0; i < n && at < CELL_MAX - 2; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

/* Formats the time until at_s: "1.2 s", "3h4m", "3.1 s ago". */
static void countdown(double at_s, char out[CELL_MAX])
{
    char text[DURATION_TEXT_MAX];
    double left_s = at_s - (double)clock_wall_ms() / 1000;
    if (fabs(left_s) < 100)
        snprintf(out, CELL_MAX, left_s < -1 ? "%.1f s ago" : "%.1f s", fabs(left_s));
    else
        snprintf(out, CELL_MAX, "%s%s", duration_format((int64_t)fabs(left_s) * 1000, text),
                 left_s < 0 ? " ago" : "");
}

/* Reads all instances once. Returns ERR_KAFKA if none answers. */
static int look(struct top *t)
{
    struct scrape fresh = {0};
    t->silent = 0;
    for (int i = 0; i < t->addresses_n; i++)
        t->silent += scrape_read(&fresh, t->addresses[i], t->cli->timeout_ms, &t->why) != 0;
    if (t->silent == t->addresses_n) {
        scrape_deinit(&fresh);
        return ERR_KAFKA;
    }
    scrape_deinit(&t->before);
    t->before = t->now;
    t->before_ms = t->now_ms;
    t->now = fresh;
    t->now_ms = clock_mono_ms();
    return 0;
}

/* Finds the n-th level in the order of the metrics. Returns false if there are fewer. */
static bool level_at(const struct top *t, int n, char level[CELL_MAX])
{
    static const char PREFIX[] = "delaybridge_level_pending_records{level=\"";
    for (size_t i = 0; i < t->now.n; i++) {
        const char *name = t->now.samples[i].name;
        if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 || n-- > 0)
            continue;
        name += sizeof PREFIX - 1;
        snprintf(level, CELL_MAX, "%.*s", (int)strcspn(name, "\""), name);
        return true;
    }
    return false;
}

struct row {
    char level[CELL_MAX];
    double waiting, hops, deliveries, blocked;
    const struct scrape_sample *head;
    double retrying, withheld;
    const struct scrape_sample *oldest; /* when it was due; NULL: none retries */
    struct lateness p50, p99;
    double counted; /* deliveries since the last update, the base of p50 and p99 */
};

static bool row_at(const struct top *t, int n, struct row *row)
{
    char name[NAME_MAX];
    if (!level_at(t, n, row->level))
        return false;
    snprintf(name, sizeof name, "delaybridge_level_pending_records{level=\"%s\"}", row->level);
    row->waiting = scrape_value(&t->now, name);
    snprintf(name, sizeof name, "delaybridge_level_head_deadline_timestamp_seconds{level=\"%s\"}",
             row->level);
    row->head = scrape_find(&t->now, name);
    snprintf(name, sizeof name, "delaybridge_retrying_records{level=\"%s\"}", row->level);
    row->retrying = scrape_value(&t->now, name);
    snprintf(name, sizeof name, "delaybridge_withheld_records{level=\"%s\"}", row->level);
    row->withheld = scrape_value(&t->now, name);
    snprintf(name, sizeof name, "delaybridge_retrying_oldest_due_timestamp_seconds{level=\"%s\"}",
             row->level);
    row->oldest = scrape_find(&t->now, name);
    snprintf(name, sizeof name, "delaybridge_partitions{level=\"%s\",state=\"blocked\"}",
             row->level);
    row->blocked = scrape_value(&t->now, name);
    row->hops =
        rate(t, "delaybridge_forwarded_records_total{level=\"%s\",kind=\"hop\"}", row->level);
    row->deliveries =
        rate(t, "delaybridge_forwarded_records_total{level=\"%s\",kind=\"delivery\"}", row->level);
    row->counted = lateness_count(&t->now, &t->before, row->level);
    row->p50 = lateness_quantile(&t->now, &t->before, row->level, 0.5);
    row->p99 = lateness_quantile(&t->now, &t->before, row->level, 0.99);
    return true;
}

/* Lanes that read their cancels and forward nothing. */
static double restoring(const struct top *t)
{
    return scrape_value(&t->now, "delaybridge_lanes_restoring");
}

static double cancels(const struct top *t)
{
    return scrape_value(&t->now, "delaybridge_cancel_entries");
}

/* Every process has the same entries, and their sum is scraped. */
static double in_force(const struct top *t, const char *op)
{
    char name[NAME_MAX];
    int answered = t->addresses_n - t->silent;
    snprintf(name, sizeof name, "delaybridge_control_entries{op=\"%s\"}", op);
    return answered > 0 ? ceil(scrape_value(&t->now, name) / answered) : 0;
}

static void print_head(const struct top *t)
{
    char at[INSTANT_TEXT_MAX], buffered[CELL_MAX], entries[CELL_MAX], lanes[CELL_MAX] = "";
    instant_format(clock_wall_ms(), at);
    double ready = scrape_value(&t->now, "delaybridge_ready");
    int answered = t->addresses_n - t->silent;
    printf("%s  delaybridge  %s", at, t->addresses[0]);
    if (t->addresses_n > 1)
        printf(" and %d more", t->addresses_n - 1);
    printf("  ready %.0f of %d", ready, t->addresses_n);
    if (answered < t->addresses_n)
        printf("  (%s)", t->why.text);
    if (restoring(t) > 0)
        snprintf(lanes, sizeof lanes, " (%.0f RESTORING)", restoring(t));
    printf("\nlanes %.0f of %.0f%s  cancels %s  buffered %s (%.0f of %.0f MiB)  "
           "unsafe topic settings %.0f\n",
           scrape_value(&t->now, "delaybridge_lanes"),
           scrape_value(&t->now, "delaybridge_lanes_configured"), lanes,
           grouped(cancels(t), entries),
           grouped(scrape_value(&t->now, "delaybridge_buffered_records"), buffered),
           scrape_value(&t->now, "delaybridge_buffered_bytes") / (1 << 20),
           scrape_value(&t->now, "delaybridge_memory_limit_bytes") / (1 << 20),
           scrape_value(&t->now, "delaybridge_topic_findings{kind=\"refuse\"}"));
    printf(
        "requests/s %.1f  refused/s %.1f  dead letters/s %.1f  retries/s %.1f  rebalances %.0f\n",
        total_rate(t, "delaybridge_schedule_records_total"),
        rate(t, "delaybridge_schedule_records_total{result=\"refused\"}"),
        total_rate(t, "delaybridge_dead_letter_records_total"),
        rate(t, "delaybridge_delivery_retries_total"),
        scrape_value(&t->now, "delaybridge_rebalances_total"));
    if (in_force(t, "pause") > 0 || in_force(t, "limit") > 0)
        printf("targets PAUSED by %.0f and LIMITED by %.0f entries, see 'delaybridge levels'\n",
               in_force(t, "pause"), in_force(t, "limit"));
    top_limits_print(&t->now);
    top_members_print(&t->members);
    putchar('\n');
}

/* Returns "12, 3.1 s ago": the records that wait because of their target, and when the oldest was
   due. */
static const char *retrying_text(const struct row *row, char out[PAIR_MAX])
{
    char count[CELL_MAX], oldest[CELL_MAX];
    snprintf(out, PAIR_MAX, "%s", grouped(row->retrying, count));
    if (row->oldest == NULL)
        return out;
    countdown(row->oldest->value, oldest);
    snprintf(out, PAIR_MAX, "%s, %s", count, oldest);
    return out;
}

static void print_row(const struct row *row)
{
    char waiting[CELL_MAX], head[CELL_MAX] = "", retrying[PAIR_MAX], withheld[CELL_MAX];
    char p50[LATENESS_TEXT_MAX], p99[LATENESS_TEXT_MAX];
    if (row->head != NULL)
        countdown(row->head->value, head);
    else if (row->waiting > 0)
        snprintf(head, sizeof head, "now"); /* the first record is in memory */
    printf("%-10s %14s  %14s %10.1f %10.1f %8s %8s %10s  %s", row->level,
           grouped(row->waiting, waiting), head, row->hops, row->deliveries,
           lateness_text(row->p50, p50), lateness_text(row->p99, p99),
           grouped(row->withheld, withheld), retrying_text(row, retrying));
    if (row->blocked > 0)
        printf("  %.0f BLOCKED: run 'delaybridge check'", row->blocked);
    putchar('\n');
}

static void print_text(const struct top *t)
{
    struct row row;
    if (isatty(STDOUT_FILENO) && !t->once)
        fputs("\033[H\033[J", stdout);
    print_head(t);
    printf("%-10s %14s  %14s %10s %10s %8s %8s %10s  %s\n", "LEVEL", "WAITING", "HEAD LEAVES",
           "HOPS/S", "DELIVER/S", "P50 <=", "P99 <=", "WITHHELD", "RETRYING");
    for (int i = 0; row_at(t, i, &row); i++)
        print_row(&row);
}

static json_t *count_json(double value)
{
    return json_integer((json_int_t)value);
}

/* Converts a metric in seconds since the epoch. */
static json_t *sample_instant_json(const struct scrape_sample *sample)
{
    return sample == NULL ? json_null() : instant_json((int64_t)(sample->value * 1000));
}

static json_t *row_json(const struct row *row)
{
    json_t *level =
        json_pack("{s:s, s:o, s:f, s:f}", "level", row->level, "waiting", count_json(row->waiting),
                  "hops_per_s", row->hops, "deliveries_per_s", row->deliveries);
    json_object_update_new(
        level, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "deliveries",
                         count_json(row->counted), "late_p50_at_most_ms", lateness_json(row->p50),
                         "late_p99_at_most_ms", lateness_json(row->p99), "blocked_partitions",
                         count_json(row->blocked), "retrying", count_json(row->retrying),
                         "retrying_oldest_due", sample_instant_json(row->oldest), "withheld",
                         count_json(row->withheld), "head_leaves", sample_instant_json(row->head)));
    return level;
}

static void print_as_json(const struct top *t)
{
    struct row row;
    json_t *levels = json_array();
    for (int i = 0; row_at(t, i, &row); i++)
        json_array_append_new(levels, row_json(&row));
    print_json(json_pack(
        "{s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "at",
        instant_json(clock_wall_ms()), "answered", t->addresses_n - t->silent, "ready",
        count_json(scrape_value(&t->now, "delaybridge_ready")), "lanes",
        count_json(scrape_value(&t->now, "delaybridge_lanes")), "lanes_restoring",
        count_json(restoring(t)), "cancels", count_json(cancels(t)), "buffered_records",
        count_json(scrape_value(&t->now, "delaybridge_buffered_records")), "pauses",
        count_json(in_force(t, "pause")), "limits", count_json(in_force(t, "limit")),
        "target_limits", top_limits_json(&t->now), "processes", top_members_json(&t->members),
        "differences", top_members_differences(&t->members), "levels", levels));
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
    for (int looks = 0; code == EXIT_DONE && !(t.once && looks == 2); looks++) {
        if (looks > 0)
            code = choose_addresses(&t);
        if (look(&t) != 0)
            code = complain(cli, EXIT_UNREACHABLE, "%s", t.why.text);
        else if (looks > 0) /* rates need two samples */
            cli->json ? print_as_json(&t) : print_text(&t);
        fflush(stdout);
        if (code == EXIT_DONE && !(t.once && looks == 1))
            usleep((useconds_t)t.every_ms * 1000);
    }
    scrape_deinit(&t.now);
    scrape_deinit(&t.before);
    top_members_deinit(&t.members);
    return code;
}
