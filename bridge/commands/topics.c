/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge topics: plan prints the changes as a table, apply makes them. */
#include "consumer/admin/topics.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/result.h"

#include <stdio.h>
#include <string.h>

/* Prints new settings as "a=1, b=2", and changed ones as "a: 1 -> 2". */
static void print_settings(const struct plan_row *row)
{
    for (size_t i = 0; i < row->settings_n; i++) {
        const struct plan_setting *s = &row->settings[i];
        fputs(i > 0 ? ", " : "", stdout);
        if (s->was == NULL)
            printf("%s=%s", s->name, s->value);
        else
            printf("%s: %s -> %s", s->name, s->was, s->value);
    }
    putchar('\n');
}

static int name_width(const struct plan *plan)
{
    int width = (int)strlen("TOPIC");
    for (size_t i = 0; i < plan->n; i++)
        if ((int)strlen(plan->rows[i].topic) > width)
            width = (int)strlen(plan->rows[i].topic);
    return width;
}

static void print_table(const struct plan *plan)
{
    int width = name_width(plan);
    if (plan->n > 0)
        printf("%-*s  DO      PARTITIONS  REPLICAS  SETTINGS\n", width, "TOPIC");
    for (size_t i = 0; i < plan->n; i++) {
        const struct plan_row *row = &plan->rows[i];
        char partitions[32];
        bool grows = !row->is_new && row->partitions != row->partitions_now;
        snprintf(partitions, sizeof partitions, grows ? "%d -> %d" : "%d",
                 grows ? row->partitions_now : row->partitions, row->partitions);
        printf("%-*s  %-6s  %10s  %8d  ", width, row->topic, row->is_new ? "create" : "change",
               partitions, row->replicas);
        print_settings(row);
    }
    for (size_t i = 0; i < plan->notes_n; i++)
        printf("note: %s\n", plan->notes[i]);
}

static json_t *row_json(const struct plan_row *row)
{
    json_t *settings = json_object();
    for (size_t i = 0; i < row->settings_n; i++) {
        const struct plan_setting *s = &row->settings[i];
        json_object_set_new(settings, s->name,
                            json_pack("{s:s, s:s?}", "value", s->value, "was", s->was));
    }
    return json_pack("{s:s, s:s, s:i, s:o, s:i, s:o}", "topic", row->topic, "do",
                     row->is_new ? "create" : "change", "partitions", row->partitions,
                     "partitions_now",
                     row->is_new ? json_null() : json_integer(row->partitions_now), "replicas",
                     row->replicas, "settings", settings);
}

/* Returns whether the finding refuses a start and apply cannot fix it. */
static bool is_by_hand(const struct finding *finding)
{
    return finding->fix == NULL && finding->kind == FINDING_REFUSE;
}

static int count_by_hand(const struct findings *findings)
{
    int n = 0;
    for (size_t i = 0; i < findings->n; i++)
        n += is_by_hand(&findings->items[i]);
    return n;
}

static void print_warnings(const struct cli *cli, const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        if (findings->items[i].kind == FINDING_SKIPPED)
            complain(cli, EXIT_DONE, "not checked: %s", findings->items[i].sentence);
        if (findings->items[i].chosen)
            complain(cli, EXIT_DONE, "warning: %s", findings->items[i].sentence);
    }
}

static void print_by_hand(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        if (is_by_hand(&findings->items[i]))
            printf("by hand: %s\n", findings->items[i].sentence);
}

static json_t *by_hand_json(const struct findings *findings)
{
    json_t *list = json_array();
    for (size_t i = 0; i < findings->n; i++)
        if (is_by_hand(&findings->items[i]))
            json_array_append_new(list, json_pack("{s:s, s:s}", "topic", findings->items[i].topic,
                                                  "sentence", findings->items[i].sentence));
    return list;
}

static void print_plan_json(const struct plan *plan, const struct findings *findings)
{
    json_t *changes = json_array(), *notes = json_array();
    for (size_t i = 0; i < plan->n; i++)
        json_array_append_new(changes, row_json(&plan->rows[i]));
    for (size_t i = 0; i < plan->notes_n; i++)
        json_array_append_new(notes, json_string(plan->notes[i]));
    print_json(json_pack("{s:o, s:o, s:o}", "changes", changes, "notes", notes, "by_hand",
                         by_hand_json(findings)));
}

static int plan(const struct cli *cli, rd_kafka_t *rk)
{
    struct error error;
    struct findings findings;
    struct plan plan;
    if (topics_plan(rk, cli->config, cli->timeout_ms, &plan, &findings, &error) != 0)
        return complain(cli, EXIT_UNREACHABLE, "%s", error.text);
    print_warnings(cli, &findings);
    bool idle = count_by_hand(&findings) == 0 && plan.n == 0;
    if (cli->json) {
        print_plan_json(&plan, &findings);
    } else {
        print_table(&plan);
        print_by_hand(&findings);
        fputs(idle ? "nothing to do\n" : "", stdout);
    }
    plan_deinit(&plan);
    findings_deinit(&findings);
    return idle ? EXIT_DONE : EXIT_CONFIG;
}

static void say_text(const char *line)
{
    puts(line);
    fflush(stdout); /* topics apply may wait for brokers next */
}

static void say_json(const char *line)
{
    print_json(json_pack("{s:s}", "done", line));
}

static void show_text(const char *line)
{
    fprintf(stderr, "delaybridge: %s\n", line);
}

static int apply(const struct cli *cli, rd_kafka_t *rk, bool fewer_replicas)
{
    struct error error;
    struct findings left;
    struct topics_job job = {.timeout_ms = cli->timeout_ms,
                             .fewer_replicas = fewer_replicas,
                             .say = cli->json ? say_json : say_text,
                             .show = cli->json ? NULL : show_text};
    int err = topics_apply(rk, cli->config, &job, &left, &error);
    if (err != 0)
        return complain(cli, err == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s", error.text);
    print_warnings(cli, &left);
    bool idle = count_by_hand(&left) == 0;
    if (cli->json) {
        print_json(json_pack("{s:i, s:i, s:i, s:o}", "created", job.created, "grown", job.grown,
                             "changed", job.changed, "by_hand", by_hand_json(&left)));
    } else {
        print_by_hand(&left);
        if (idle && job.created + job.grown + job.changed == 0)
            puts("nothing to do");
    }
    findings_deinit(&left);
    return idle ? EXIT_DONE : EXIT_CONFIG;
}

int cmd_topics(struct cli *cli)
{
    bool applies = strcmp(cli->arguments->operands[0], "apply") == 0;
    bool fewer = arguments_have(cli->arguments, "--fewer-replicas");
    if (fewer && !applies)
        return complain(cli, EXIT_USAGE, "--fewer-replicas is an option of 'topics apply'");
    rd_kafka_t *rk;
    int code = connect_kafka(cli, RD_KAFKA_PRODUCER, NULL, &rk);
    if (code != EXIT_DONE)
        return code;
    code = applies ? apply(cli, rk, fewer) : plan(cli, rk);
    rd_kafka_destroy(rk);
    return code;
}
