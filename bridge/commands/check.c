/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge check: reports whether run would start and deliver requests. The configuration is
   valid by now; this file checks the topics. */
#include "bridge/commands/connect.h"
#include "bridge/commands/result.h"
#include "consumer/admin/blocked.h"
#include "consumer/admin/commit_limits.h"
#include "consumer/admin/members.h"
#include "consumer/admin/open_records.h"
#include "consumer/admin/sample.h"
#include "consumer/admin/topics.h"
#include "consumer/client/client.h"
#include "levels/counted.h"

#include <stdio.h>

static const char *const kinds[] = {
    [FINDING_REFUSE] = "refuse",
    [FINDING_FAULT] = "fault",
    [FINDING_WARN] = "warn",
    [FINDING_SKIPPED] = "skipped",
};

static bool is_ok(const struct findings *findings)
{
    return findings_count(findings, FINDING_REFUSE) == 0 &&
           findings_count(findings, FINDING_FAULT) == 0;
}

static void print_findings_json(const struct findings *findings)
{
    json_t *list = json_array();
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *f = &findings->items[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:s?}", "kind", kinds[f->kind], "topic",
                                        f->topic, "sentence", f->sentence, "fix", f->fix));
    }
    print_json(json_pack("{s:b, s:i, s:i, s:i, s:o}", "ok", is_ok(findings), "refused",
                         findings_count(findings, FINDING_REFUSE), "faults",
                         findings_count(findings, FINDING_FAULT), "lanes", findings->partitions,
                         "findings", list));
}

static void print_findings(const struct cli *cli, const struct findings *findings)
{
    const struct config *config = cli->config;
    printf("config: ok (%s)\n", config->path != NULL ? config->path : "defaults, no file");
    for (size_t i = 0; i < findings->n; i++)
        printf("%s: %s\n", kinds[findings->items[i].kind], findings->items[i].sentence);
    char counts[COUNTED_MAX], levels[COUNTED_MAX];
    int refused = findings_count(findings, FINDING_REFUSE);
    int faults = findings_count(findings, FINDING_FAULT);
    if (refused > 0)
        printf("%s: run would refuse to start\n", counted(refused, "finding", counts));
    if (faults > 0)
        printf("%s: run starts, but requests fail, wait or get lost\n",
               counted(faults, "fault", counts));
    if (is_ok(findings))
        printf("topics: ok (schedule topic '%s', %s, %s)\n", config->schedule,
               counted(findings->partitions, "lane", counts),
               counted(config->ladder.n + config->retired_n, "level", levels));
}

static void warn_of_commits(struct cli *cli, rd_kafka_t *rk)
{
    struct commit_limits limits;
    struct admin admin = {.rk = rk, .timeout_ms = cli->timeout_ms};
    commit_limits_ask(&admin, &limits);
    if (!limits.retention_known)
        complain(cli, EXIT_DONE,
                 "warning: cannot read offsets.retention.minutes of the brokers (%s): make sure "
                 "that it is 180 or more, or allow DescribeConfigs on the cluster",
                 limits.error.text);
}

/* Open transactions do not change the exit code. Without an answer, check prints a warning. */
static void look_for_open_transactions(struct cli *cli, rd_kafka_t *rk, struct findings *findings)
{
    struct error error = {"the brokers do not answer"};
    struct open_records open;
    int err = open_records_init(&open, cli->config, rk, &error);
    if (err == 0) {
        err = open_records_judge(&open, cli->timeout_ms, findings);
        open_records_deinit(&open);
    }
    if (err != 0)
        complain(cli, EXIT_DONE, "warning: cannot look for open transactions on %s: %s",
                 cli->config->schedule, error.text);
}

/* Adds findings for blocked partitions. Without an answer (Read on the levels may be missing),
   check prints a warning and continues. */
static void look_for_blocked(struct cli *cli, struct findings *findings)
{
    struct error error;
    if (blocked_judge(cli->config, cli->timeout_ms, findings, &error) != 0)
        complain(cli, EXIT_DONE, "warning: cannot look for blocked partitions: %s", error.text);
}

/* Adds findings for requests that no cancel can meet. Without an answer, check prints a warning. */
static void judge_sample(struct cli *cli, struct findings *findings)
{
    struct error error;
    char requests[COUNTED_MAX];
    int n;
    if (sample_judge(cli->config, cli->timeout_ms, findings, &n, &error) != 0)
        complain(cli, EXIT_DONE, "warning: cannot read a sample of %s: %s", cli->config->schedule,
                 error.text);
    else if (!cli->json)
        printf("sample: %s\n", counted(n, "request", requests));
}

/* Adds findings for processes that differ. Without an answer, check prints a warning; topics_check
   has reported a missing topic. */
static void compare_processes(struct cli *cli, struct findings *findings)
{
    struct error error;
    char processes_text[COUNTED_MAX];
    size_t processes;
    int err = members_judge(cli->config, cli->timeout_ms, findings, &processes, &error);
    if (err == 0 && !cli->json)
        printf("running: %s\n", counted((int64_t)processes, "process", processes_text));
    else if (err == ERR_KAFKA)
        complain(cli, EXIT_DONE, "warning: cannot compare the running processes: %s", error.text);
}

int cmd_check(struct cli *cli)
{
    struct error error;
    if (client_try(cli->config, &error) != 0)
        return complain(cli, EXIT_CONFIG, "kafka: %s", error.text);
    if (client_scram_is_old(cli->config))
        complain(cli, EXIT_DONE, "warning: " CLIENT_OLD_SCRAM "; this is %s",
                 rd_kafka_version_str());
    rd_kafka_t *rk;
    int code = connect_kafka(cli, RD_KAFKA_PRODUCER, NULL, &rk);
    if (code != EXIT_DONE)
        return code;
    struct findings findings;
    warn_of_commits(cli, rk);
    int err = topics_check(rk, cli->config, cli->timeout_ms, &findings, &error);
    if (err == 0) {
        producers_check(cli->config, cli->timeout_ms, &findings);
        look_for_open_transactions(cli, rk, &findings);
        look_for_blocked(cli, &findings);
        compare_processes(cli, &findings);
        if (arguments_have(cli->arguments, "--sample"))
            judge_sample(cli, &findings);
    }
    rd_kafka_destroy(rk);
    if (err != 0)
        return complain(cli, EXIT_UNREACHABLE, "%s", error.text);
    if (cli->json)
        print_findings_json(&findings);
    else
        print_findings(cli, &findings);
    bool ok = is_ok(&findings);
    findings_deinit(&findings);
    return ok ? EXIT_DONE : EXIT_CONFIG;
}
