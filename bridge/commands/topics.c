/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge topics: plan shows what apply would do, as a table; apply does it. */
#include "consumer/admin/topics.h"
#include "bridge/commands/connect.h"

#include <stdio.h>
#include <string.h>

/* "a=1, b=2", or "a: 1 -> 2" of one that changes. */
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

static void print_row_json(const struct plan_row *row)
{
    json_t *settings = json_object();
    for (size_t i = 0; i < row->settings_n; i++)
        json_object_set_new(settings, row->settings[i].name, json_string(row->settings[i].value));
    print_json(json_pack("{s:s, s:s, s:i, s:o, s:i, s:o}", "topic", row->topic, "do",
                         row->is_new ? "create" : "change", "partitions", row->partitions,
                         "partitions_now",
                         row->is_new ? json_null() : json_integer(row->partitions_now), "replicas",
                         row->replicas, "settings", settings));
}

static void print_plan(const struct cli *cli, const struct plan *plan)
{
    if (!cli->json) {
        print_table(plan);
        return;
    }
    for (size_t i = 0; i < plan->n; i++)
        print_row_json(&plan->rows[i]);
    for (size_t i = 0; i < plan->notes_n; i++)
        print_json(json_pack("{s:s}", "note", plan->notes[i]));
}

/* What refuses a start and apply cannot change; returns how many. */
static int print_by_hand(const struct cli *cli, const struct findings *findings)
{
    int n = 0;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->kind == FINDING_SKIPPED)
            complain(0, "not checked: %s", finding->sentence);
        if (finding->chosen)
            complain(0, "warning: %s", finding->sentence);
        if (finding->fix != NULL || finding->kind != FINDING_REFUSE)
            continue;
        if (cli->json)
            print_json(
                json_pack("{s:s, s:s}", "topic", finding->topic, "by_hand", finding->sentence));
        else
            printf("by hand: %s\n", finding->sentence);
        n++;
    }
    return n;
}

static int plan(const struct cli *cli, rd_kafka_t *rk)
{
    char error[1024];
    struct findings findings;
    struct plan plan;
    if (topics_plan(rk, cli->config, cli->timeout_ms, &plan, &findings, error, sizeof error) != 0)
        return complain(EXIT_UNREACHABLE, "%s", error);
    print_plan(cli, &plan);
    bool idle = print_by_hand(cli, &findings) == 0 && plan.n == 0;
    if (idle && !cli->json)
        puts("nothing to do");
    plan_deinit(&plan);
    findings_deinit(&findings);
    return idle ? EXIT_DONE : EXIT_CONFIG;
}

static void say_text(const char *line)
{
    puts(line);
}

static void say_json(const char *line)
{
    print_json(json_pack("{s:s}", "done", line));
}

static int apply(const struct cli *cli, rd_kafka_t *rk, bool fewer_replicas)
{
    char error[1024];
    struct findings left;
    struct topics_job job = {.timeout_ms = cli->timeout_ms,
                             .fewer_replicas = fewer_replicas,
                             .say = cli->json ? say_json : say_text};
    int err = topics_apply(rk, cli->config, &job, &left, error, sizeof error);
    if (err != 0)
        return complain(err == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s", error);
    bool idle = print_by_hand(cli, &left) == 0;
    if (idle && !cli->json && job.created + job.grown + job.changed == 0)
        puts("nothing to do");
    findings_deinit(&left);
    return idle ? EXIT_DONE : EXIT_CONFIG;
}

int cmd_topics(struct cli *cli)
{
    bool applies = strcmp(cli->arguments->operands[0], "apply") == 0;
    bool fewer = arguments_have(cli->arguments, "--fewer-replicas");
    if (fewer && !applies)
        return complain(EXIT_USAGE, "--fewer-replicas is an option of 'topics apply'");
    rd_kafka_t *rk;
    int code = connect_kafka(cli, RD_KAFKA_PRODUCER, NULL, &rk);
    if (code != EXIT_DONE)
        return code;
    code = applies ? apply(cli, rk, fewer) : plan(cli, rk);
    rd_kafka_destroy(rk);
    return code;
}
