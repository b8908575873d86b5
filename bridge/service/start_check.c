/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/service/start_check.h"

#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/client/client.h"
#include "levels/counted.h"

#include <poll.h>
#include <stdio.h>

enum { SETTLE_MS = 3000, SETTLE_STEP_MS = 250 };
enum { NAMES_MAX = 1000 }; /* of the list of missing topics in the log */

/* Checks the topics, and checks again after a refusal. A broker may learn of new topics later than
   the others, and its early answer must not end the process. */
static int check_topics_settled(const struct config *config, rd_kafka_t *admin,
                                struct findings *findings, struct error *error)
{
    int64_t until_ms = clock_mono_ms() + SETTLE_MS;
    for (;;) {
        int err = topics_check(admin, config, START_QUERY_MS, findings, error);
        if (err != 0 || findings_count(findings, FINDING_REFUSE) == 0 ||
            clock_mono_ms() >= until_ms)
            return err;
        findings_deinit(findings);
        poll(NULL, 0, SETTLE_STEP_MS);
    }
}

/* Checks the producers, and checks again after a refusal. A broker may not know yet of a right that
   was just granted, and its early answer must not end the process. */
static void check_producers_settled(const struct config *config, struct findings *findings)
{
    size_t earlier_n = findings->n;
    int refused = findings_count(findings, FINDING_REFUSE);
    int64_t until_mono_ms = clock_mono_ms() + SETTLE_MS;
    for (;;) {
        producers_check(config, START_QUERY_MS, findings);
        if (findings_count(findings, FINDING_REFUSE) == refused || clock_mono_ms() >= until_mono_ms)
            return;
        findings_cut(findings, earlier_n);
        poll(NULL, 0, SETTLE_STEP_MS);
    }
}

int start_check(const struct config *config, rd_kafka_t *admin, struct findings *findings,
                struct error *error)
{
    char refused_text[COUNTED_MAX];
    int err = client_reach(admin, START_QUERY_MS, error);
    if (err == 0)
        err = check_topics_settled(config, admin, findings, error);
    if (err != 0)
        return err;
    check_producers_settled(config, findings);
    int refused = findings_count(findings, FINDING_REFUSE);
    if (refused == 0 && findings->partitions > 0)
        return 0;
    return error_set(
        error, ERR_TOPICS,
        "%s about the topics: run 'delaybridge check' for the details and 'delaybridge topics "
        "apply' to correct them",
        counted(refused, "finding", refused_text));
}

static void log_finding(const struct finding *f)
{
    if (f->kind == FINDING_REFUSE || f->kind == FINDING_FAULT)
        log_error("topic check found a fault: run 'delaybridge check'", F_TEXT("topic", f->topic),
                  F_TEXT("reason", f->sentence));
    else if (f->kind == FINDING_WARN)
        log_warn("topic check found a risk, continuing", F_TEXT("topic", f->topic),
                 F_TEXT("reason", f->sentence));
    else
        log_info("topic not checked, continuing", F_TEXT("topic", f->topic),
                 F_TEXT("reason", f->sentence));
}

/* Logs all missing topics in one line. Before the first 'topics apply' every topic is missing. */
static void log_missing(const struct findings *findings)
{
    char names[NAMES_MAX] = "";
    size_t len = 0, n = 0;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *f = &findings->items[i];
        if (!f->missing)
            continue;
        if (len < sizeof names)
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", n == 0 ? "" : " ",
                                    f->topic);
        n++;
    }
    if (n > 0)
        log_error("topics do not exist: run 'delaybridge topics apply'", F_COUNT("topics", n),
                  F_TEXT("names", names));
}

void start_check_log(const struct findings *findings)
{
    log_missing(findings);
    for (size_t i = 0; i < findings->n; i++)
        if (!findings->items[i].missing)
            log_finding(&findings->items[i]);
}
