/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge levels: shows how many records wait in each level, and whether the first is overdue.
 */
#include "bridge/base/clock.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/control_view.h"
#include "bridge/commands/result.h"
#include "consumer/admin/control_topic.h"
#include "consumer/admin/heads.h"
#include "consumer/admin/open_records.h"
#include "levels/counted.h"
#include "levels/duration.h"
#include "levels/instant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WATCH_S = 2, REDELIVERING_MAX = DURATION_TEXT_MAX + 32 };

struct view {
    const struct cli *cli;
    struct offsets offsets;
    struct head *heads; /* one for each of offsets.cells */
    struct control_list control;
    struct open_records asker;
    struct open_lane *open; /* by lane */
    int64_t now_ms;
    bool lanes; /* one line for each lane of each level */
};

/* One line of the table: a level, or one lane of it. */
struct row {
    int slot;
    int lane; /* -1: all */
    int64_t waiting;
    const struct head *head;          /* the record that leaves first, or NULL */
    const struct offsets_cell *cell;  /* of one lane; NULL: all */
    const struct offsets_cell *stuck; /* a cell committed beyond the end of its log; NULL: none */
    int stuck_lane;
    struct redelivering redelivering;
};

static bool is_stuck(const struct offsets_cell *cell)
{
    return cell->committed && cell->window->base > cell->end;
}

static struct row row_of_lane(const struct view *view, int slot, int lane)
{
    const struct offsets *offsets = &view->offsets;
    const struct head *head = &view->heads[lane * offsets->slots + slot];
    const struct offsets_cell *cell = offsets_cell(offsets, lane, slot);
    return (struct row){.slot = slot,
                        .lane = lane,
                        .waiting = cell->waiting,
                        .head = head->kind == HEAD_NONE ? NULL : head,
                        .cell = cell,
                        .stuck = is_stuck(cell) ? cell : NULL,
                        .stuck_lane = lane,
                        .redelivering = {.n = head->redelivering,
                                         .due_wall_ms = head->redelivering_due_wall_ms,
                                         .withheld = head->withheld,
                                         .is_cut = head->redelivering_is_cut}};
}

static struct row row_of_slot(const struct view *view, int slot)
{
    struct row sum = {.slot = slot,
                      .lane = -1,
                      .head = heads_first(&view->offsets, view->heads, slot),
                      .redelivering = heads_redelivering(&view->offsets, view->heads, slot)};
    for (int lane = 0; lane < view->offsets.lanes; lane++) {
        const struct offsets_cell *cell = offsets_cell(&view->offsets, lane, slot);
        sum.waiting += cell->waiting;
        if (!is_stuck(cell))
            continue;
        sum.stuck = cell;
        sum.stuck_lane = lane;
    }
    return sum;
}

static const char *name_of(const struct view *view, int slot, char out[DURATION_TEXT_MAX])
{
    return duration_format(offsets_level_ms(view->cli->config, slot), out);
}

static int64_t overdue_ms(const struct view *view, const struct head *head)
{
    return head->release_wall_ms < view->now_ms ? view->now_ms - head->release_wall_ms : 0;
}

/* Returns "12, 3m5s": the records that wait because of their target, and how long the oldest is
   overdue. */
static const char *redelivering_text(const struct view *view, struct redelivering redelivering,
                                     char out[REDELIVERING_MAX])
{
    char age[DURATION_TEXT_MAX];
    snprintf(out, REDELIVERING_MAX, "%s", redelivering.is_cut ? "0+" : "0");
    if (redelivering.n > 0)
        snprintf(out, REDELIVERING_MAX, "%lld%s, %s", (long long)redelivering.n,
                 redelivering.is_cut ? "+" : "",
                 duration_format((view->now_ms - redelivering.due_wall_ms) / 1000 * 1000, age));
    return out;
}

static void print_row(const struct view *view, struct row row)
{
    char level[DURATION_TEXT_MAX], release[INSTANT_TEXT_MAX], due[INSTANT_TEXT_MAX],
        late[DURATION_TEXT_MAX], lane[16] = "", redelivering[REDELIVERING_MAX];
    if (row.lane >= 0)
        snprintf(lane, sizeof lane, "%d", row.lane);
    printf("%-10s %5s %12lld", name_of(view, row.slot, level), lane, (long long)row.waiting);
    if (row.cell != NULL && row.cell->committed)
        printf(" %12lld", (long long)row.cell->window->base);
    else if (row.cell != NULL)
        printf(" %12s", "-");
    if (row.stuck != NULL)
        printf("  BLOCKED: committed offset %lld of lane %d is beyond the end of its log, %lld",
               (long long)row.stuck->window->base, row.stuck_lane, (long long)row.stuck->end);
    else if (row.head != NULL && row.head->kind == HEAD_OPENED)
        printf("  %-24s  %-24s  %-12s  %8lld%1s  %s",
               instant_format(row.head->release_wall_ms, release),
               instant_format(row.head->due_wall_ms, due),
               duration_format(overdue_ms(view, row.head), late),
               (long long)row.redelivering.withheld, row.redelivering.is_cut ? "+" : "",
               redelivering_text(view, row.redelivering, redelivering));
    else if (row.head != NULL && row.head->kind == HEAD_UNREADABLE)
        printf("  BLOCKED: a batch at offset %lld of lane %d cannot be read",
               (long long)row.head->offset, row.head->lane);
    else if (row.head != NULL && row.head->kind == HEAD_NEWER)
        printf("  BLOCKED: a newer delaybridge wrote offset %lld of lane %d",
               (long long)row.head->offset, row.head->lane);
    else if (row.head != NULL)
        printf(
            "  delaybridge did not write offset %lld of lane %d: it goes to the dead-letter topic",
            (long long)row.head->offset, row.head->lane);
    putchar('\n');
}

static json_t *integer_or_null(bool is, int64_t value)
{
    return is ? json_integer(value) : json_null();
}

static json_t *head_json(const struct view *view, const struct head *head)
{
    if (head == NULL)
        return json_null();
    bool opened = head->kind == HEAD_OPENED;
    return json_pack("{s:i, s:I, s:b, s:b, s:b, s:o, s:o, s:o}", "lane", head->lane, "offset",
                     (json_int_t)head->offset, "foreign", head->kind == HEAD_FOREIGN, "unreadable",
                     head->kind == HEAD_UNREADABLE, "newer", head->kind == HEAD_NEWER, "release",
                     opened ? instant_json(head->release_wall_ms) : json_null(), "due",
                     opened ? instant_json(head->due_wall_ms) : json_null(), "overdue_ms",
                     integer_or_null(opened, overdue_ms(view, head)));
}

static json_t *row_json(const struct view *view, struct row row)
{
    char level[DURATION_TEXT_MAX];
    bool committed = row.cell != NULL && row.cell->committed;
    json_t *line =
        json_pack("{s:s, s:o, s:I, s:o, s:o}", "level", name_of(view, row.slot, level), "lane",
                  integer_or_null(row.lane >= 0, row.lane), "waiting", (json_int_t)row.waiting,
                  "committed", integer_or_null(committed, committed ? row.cell->window->base : 0),
                  "blocked_lane", integer_or_null(row.stuck != NULL, row.stuck_lane));
    json_object_update_new(
        line,
        json_pack(
            "{s:I, s:b, s:o, s:I, s:o}", "redelivering", (json_int_t)row.redelivering.n,
            "redelivering_at_least", row.redelivering.is_cut, "redelivering_overdue_ms",
            integer_or_null(row.redelivering.n > 0, view->now_ms - row.redelivering.due_wall_ms),
            "withheld", (json_int_t)row.redelivering.withheld, "head", head_json(view, row.head)));
    return line;
}

/* Calls emit for each row: for each level, or for each lane of each level. */
static void each_row(const struct view *view,
                     void (*emit)(const struct view *, struct row, json_t *), json_t *list)
{
    for (int slot = 1; slot < view->offsets.slots; slot++) {
        if (!view->lanes)
            emit(view, row_of_slot(view, slot), list);
        for (int lane = 0; view->lanes && lane < view->offsets.lanes; lane++)
            emit(view, row_of_lane(view, slot, lane), list);
    }
}

static void as_text(const struct view *view, struct row row, json_t *list)
{
    (void)list;
    print_row(view, row);
}

static void as_json(const struct view *view, struct row row, json_t *list)
{
    json_array_append_new(list, row_json(view, row));
}

/* Calls emit for each lane of the schedule topic that an unreadable batch blocks. */
static void each_blocked(const struct view *view, void (*emit)(const struct head *, json_t *),
                         json_t *list)
{
    for (int lane = 0; lane < view->offsets.lanes; lane++) {
        const struct head *head = &view->heads[lane * view->offsets.slots];
        if (head->kind == HEAD_UNREADABLE)
            emit(head, list);
    }
}

static void blocked_as_text(const struct head *head, json_t *list)
{
    (void)list;
    printf(
        "BLOCKED: a batch of requests at offset %lld of lane %d cannot be read, run 'delaybridge "
        "check'\n",
        (long long)head->offset, head->lane);
}

static void blocked_as_json(const struct head *head, json_t *list)
{
    json_array_append_new(
        list, json_pack("{s:i, s:I}", "lane", head->lane, "offset", (json_int_t)head->offset));
}

/* Calls emit for each lane of the schedule topic with records behind an open transaction. */
static void each_open(const struct view *view,
                      void (*emit)(int lane, const struct open_lane *, json_t *), json_t *list)
{
    for (int lane = 0; lane < view->offsets.lanes; lane++) {
        if (open_records_of(&view->open[lane]) > 0)
            emit(lane, &view->open[lane], list);
    }
}

static void open_as_text(int lane, const struct open_lane *open, json_t *list)
{
    char records[COUNTED_MAX];
    (void)list;
    printf("OPEN TRANSACTION: a producer holds back %s of lane %d, from offset %lld\n",
           counted(open_records_of(open), "record", records), lane, (long long)open->stable_offset);
}

static void open_as_json(int lane, const struct open_lane *open, json_t *list)
{
    json_array_append_new(list, json_pack("{s:i, s:I, s:I, s:I}", "lane", lane, "records",
                                          (json_int_t)open_records_of(open), "stable_offset",
                                          (json_int_t)open->stable_offset, "end_offset",
                                          (json_int_t)open->end_offset));
}

static void print_view(const struct view *view)
{
    char at[INSTANT_TEXT_MAX];
    const struct offsets *offsets = &view->offsets;
    const char *schedule = view->cli->config->schedule;
    int64_t backlog = 0, in_memory = 0;
    for (int lane = 0; lane < offsets->lanes; lane++) {
        const struct offsets_cell *cell = offsets_cell(offsets, lane, 0);
        backlog += cell->unread;
        in_memory += cell->waiting - cell->unread;
    }
    instant_format(view->now_ms, at);
    if (view->cli->json) {
        json_t *list = json_array();
        each_row(view, as_json, list);
        json_t *blocked = json_array();
        each_blocked(view, blocked_as_json, blocked);
        json_t *open = json_array();
        each_open(view, open_as_json, open);
        json_t *control = json_array();
        for (size_t i = 0; i < view->control.n; i++)
            if (view->control.all[i].control.until_wall_ms > view->now_ms)
                json_array_append_new(control,
                                      control_lanes_json(&view->control.all[i], offsets->lanes));
        give_json(view->cli,
                  json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "at", at,
                            "schedule", schedule, "lanes", offsets->lanes, "backlog",
                            (json_int_t)backlog, "in_memory", (json_int_t)in_memory, "dead_letters",
                            (json_int_t)offsets->dead_letters, "cancels_at_most",
                            (json_int_t)offsets->cancel_records, "unreadable", blocked,
                            "open_transactions", open, "control", control, "levels", list));
        return;
    }
    printf("%s  %s: lanes %d, backlog %lld, in memory %lld, dead letters %lld, "
           "cancels at most %lld\n",
           at, schedule, offsets->lanes, (long long)backlog, (long long)in_memory,
           (long long)offsets->dead_letters, (long long)offsets->cancel_records);
    each_blocked(view, blocked_as_text, NULL);
    each_open(view, open_as_text, NULL);
    for (size_t i = 0; i < view->control.n; i++)
        if (view->control.all[i].control.until_wall_ms > view->now_ms)
            control_print(&view->control.all[i], offsets->lanes);
    printf("%-10s %5s %12s%s  %-24s  %-24s  %-12s  %9s  %s\n", "LEVEL", view->lanes ? "LANE" : "",
           "WAITING", view->lanes ? "    COMMITTED" : "", "HEAD LEAVES", "HEAD DUE", "OVERDUE",
           "WITHHELD", "REDELIVERING");
    each_row(view, as_text, NULL);
}

/* Returns 0, or an error with a sentence. */
static int look_for_open(struct view *view, struct error *error)
{
    int lanes = view->offsets.lanes;
    view->open = calloc((size_t)lanes, sizeof *view->open);
    int err = view->open == NULL
                  ? ERR_NO_MEMORY
                  : open_records_ask(&view->asker, view->open, lanes, view->cli->timeout_ms);
    if (err != 0)
        (void)error_set(error, err, "cannot read the high watermarks of %.100s: %s",
                        view->cli->config->schedule, err_text(err));
    return err;
}

/* There are no entries without the topic. */
static int look_for_control(struct view *view, rd_kafka_t *rk, struct error *error)
{
    char topic[TOPIC_TEXT_MAX];
    int partitions;
    topic_of_control(view->cli->config->schedule, topic);
    if (connect_topic(view->cli, rk, topic, &partitions) != EXIT_DONE || partitions == 0)
        return 0;
    return control_topic_read(rk, topic, view->cli->timeout_ms, &view->control, error);
}

static int look(struct view *view, rd_kafka_t *rk)
{
    struct error error;
    view->offsets.config = view->cli->config;
    /* Reading takes up to seconds, in which records that were not overdue would become so. */
    view->now_ms = clock_wall_ms();
    int err = offsets_read(&view->offsets, rk, view->cli->timeout_ms, &error);
    if (err == 0) {
        view->heads = heads_read(&view->offsets, rk, view->cli->timeout_ms, &error);
        err = view->heads == NULL ? ERR_KAFKA : 0;
    }
    if (err == 0)
        err = look_for_open(view, &error);
    if (err == 0)
        err = look_for_control(view, rk, &error);
    if (err == 0)
        print_view(view);
    free(view->heads);
    free(view->open);
    control_list_deinit(&view->control);
    view->heads = NULL;
    view->open = NULL;
    offsets_deinit(&view->offsets);
    if (err == 0)
        return EXIT_DONE;
    return complain(view->cli, err == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s",
                    error.text);
}

int cmd_levels(struct cli *cli)
{
    struct view view = {.cli = cli};
    bool watch = arguments_have(cli->arguments, "--watch");
    view.lanes = arguments_have(cli->arguments, "--lanes");
    rd_kafka_t *rk;
    int code = connect_to_look(cli, &rk);
    if (code != EXIT_DONE)
        return code;
    struct error error;
    if (open_records_init(&view.asker, cli->config, rk, &error) != 0) {
        rd_kafka_destroy(rk);
        return complain(cli, EXIT_CONFIG, "%s", error.text);
    }
    while ((code = look(&view, rk)) == EXIT_DONE && watch) {
        fflush(stdout);
        sleep(WATCH_S);
        if (isatty(STDOUT_FILENO))
            fputs("\033[H\033[J", stdout);
    }
    open_records_deinit(&view.asker);
    disconnect(cli, rk, code == EXIT_DONE);
    return code;
}
