/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge topics: plan shows what apply would do, apply does it. */
#include "consumer/topics.h"
#include "bridge/commands/connect.h"

#include <stdio.h>
#include <string.h>

static void print_text(const struct finding *finding)
{
    if (finding->fix != NULL)
        printf("%s\n", finding->fix);
    else
        printf("by hand: %s\n", finding->sentence);
}

static void print_plan(const struct cli *cli, const struct finding *finding)
{
    if (!cli->json) {
        print_text(finding);
        return;
    }
    print_json(json_pack("{s:s, s:s?, s:s}", "topic", finding->topic, "fix", finding->fix, "reason",
                         finding->sentence));
}

/* What apply can mend, and what it cannot but refuses a start; frees the findings. */
static int show(const struct cli *cli, struct findings *findings)
{
    int n = 0;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->kind == FINDING_SKIPPED)
            complain(0, "not checked: %s", finding->sentence);
        if (finding->fix == NULL && finding->kind != FINDING_REFUSE)
            continue;
        print_plan(cli, finding);
        n++;
    }
    findings_deinit(findings);
    if (n == 0 && !cli->json)
        puts("nothing to do");
    return n == 0 ? EXIT_DONE : EXIT_CONFIG;
}

static int plan(const struct cli *cli, rd_kafka_t *rk)
{
    char error[512];
    struct findings findings;
    if (topics_check(rk, cli->config, cli->timeout_ms, &findings, error, sizeof error) != 0)
        return complain(EXIT_UNREACHABLE, "%s", error);
    return show(cli, &findings);
}

static void say_text(const char *line)
{
    puts(line);
}

static void say_json(const char *line)
{
    print_json(json_pack("{s:s}", "done", line));
}

static int apply(const struct cli *cli, rd_kafka_t *rk)
{
    char error[512];
    struct findings left;
    int err = topics_apply(rk, cli->config, cli->timeout_ms, cli->json ? say_json : say_text, &left,
                           error, sizeof error);
    if (err != 0)
        return complain(err == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s", error);
    return show(cli, &left); /* for the operator */
}

int cmd_topics(struct cli *cli)
{
    bool applies = cli->argc > 0 && strcmp(cli->argv[0], "apply") == 0;
    if (cli->argc == 0)
        return complain(EXIT_USAGE, "topics takes 'plan' or 'apply'");
    if (cli->argc > 1 || (!applies && strcmp(cli->argv[0], "plan") != 0))
        return complain(EXIT_USAGE, "topics takes 'plan' or 'apply', not '%s'",
                        cli->argv[cli->argc - 1]);
    rd_kafka_t *rk;
    int code = connect_kafka(cli, RD_KAFKA_PRODUCER, NULL, &rk);
    if (code != EXIT_DONE)
        return code;
    code = applies ? apply(cli, rk) : plan(cli, rk);
    rd_kafka_destroy(rk);
    return code;
}
