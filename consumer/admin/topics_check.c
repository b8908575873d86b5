/* SPDX-License-Identifier: Apache-2.0 */
/* The checks before a start. Each broken rule becomes a finding with the command to run. */
#include "bridge/base/memory.h"
#include "consumer/admin/topics_survey.h"
#include "levels/cancels.h"
#include "levels/counted.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN_APPLY "run 'delaybridge topics apply'"

__attribute__((format(printf, 1, 2))) static char *words(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    return memory_or_end(len < 0 ? NULL : text);
}

static void check_partitions(struct findings *findings, const struct survey *survey,
                             const struct topic_seen *topic)
{
    int lanes = survey->lanes;
    char partitions[COUNTED_MAX];
    counted(topic->partitions, "partition", partitions);
    if (topic->partitions == 0 && topic->kind == TOPIC_CONTROL)
        finding_add(
            findings, FINDING_WARN, topic->name, words("create %s", topic->name),
            "topic %s does not exist, or this login may not see it, so pause, resume and limit are "
            "unavailable: " RUN_APPLY ", or allow Read on it",
            topic->name);
    else if (topic->partitions == 0) {
        finding_add(findings, FINDING_REFUSE, topic->name, words("create %s", topic->name),
                    "topic %s does not exist: " RUN_APPLY, topic->name);
        findings->items[findings->n - 1].missing = true;
    } else if (!topic_has_lanes(topic->kind))
        return;
    else if (topic->partitions < lanes)
        finding_add(
            findings, FINDING_REFUSE, topic->name,
            words("grow %s from %d to %d partitions", topic->name, topic->partitions, lanes),
            "topic %s has %s and %s has %d: " RUN_APPLY, topic->name, partitions,
            survey->topics[0].name, lanes);
    else if (topic->partitions > lanes &&
             (topic->kind == TOPIC_EVENTS || topic->kind == TOPIC_DEAD_LETTER))
        finding_add(findings, FINDING_WARN, topic->name, NULL,
                    "topic %s has %s and %s has %d: the bridge writes to the first %d, and the "
                    "others stay empty",
                    topic->name, partitions, survey->topics[0].name, lanes, lanes);
    else if (topic->partitions > lanes)
        finding_add(
            findings, FINDING_REFUSE, topic->name, NULL,
            "topic %s has %s and %s has %d. Kafka cannot remove partitions, so give %s %d as well "
            "('kafka-topics.sh --alter --topic %s --partitions %d'). If it does not exist yet, set "
            "'partitions: %d'. Then " RUN_APPLY,
            topic->name, partitions, survey->topics[0].name, lanes, survey->topics[0].name,
            topic->partitions, survey->topics[0].name, topic->partitions, topic->partitions);
}

/* Each lane of a worker has a number in its table of cancels. */
static void check_lanes(struct findings *findings, const struct topic_seen *schedule)
{
    char partitions[COUNTED_MAX];
    if (schedule->partitions > CANCELS_LANES_MAX)
        finding_add(findings, FINDING_REFUSE, schedule->name, NULL,
                    "topic %s has %s, where a bridge serves %d at most. Kafka cannot remove "
                    "partitions: set 'schedule' to a new topic, and let producers use it",
                    schedule->name, counted(schedule->partitions, "partition", partitions),
                    CANCELS_LANES_MAX);
}

static void check_settings(struct findings *findings, const struct config *config,
                           const struct topic_seen *topic)
{
    struct topic_rule rules[TOPIC_RULES_MAX];
    size_t n = topic_rules(topic, config, rules);
    for (size_t i = 0; i < n; i++) {
        const struct topic_rule *rule = &rules[i];
        const char *value = topic_setting(topic, rule->name);
        if (value == NULL || topic_rule_holds(rule, value))
            continue;
        const char *set = rule->set != NULL ? rule->set : rule->value;
        finding_add(findings, rule->kind, topic->name,
                    words("set %s of %s to %s (it is %s)", rule->name, topic->name, set, value),
                    "topic %s has %s=%s where %s%s is needed (%s): " RUN_APPLY, topic->name,
                    rule->name, value, rule->value, topic_rule_bound(rule), rule->why);
    }
}

/* Warns of a retention below a day, for which operators plan to run without a bridge. A retention
   below an hour breaks a rule already. apply does not change it, since the operator chooses. */
static void check_retention(struct findings *findings, const struct topic_seen *schedule)
{
    enum { HOUR_MS = 3600 * 1000, DAY_MS = 24 * HOUR_MS };
    const char *span = topic_setting(schedule, "retention.ms");
    const char *size = topic_setting(schedule, "retention.bytes");
    long long ms = span == NULL ? -1 : strtoll(span, NULL, 10);
    if (ms >= HOUR_MS && ms < DAY_MS)
        finding_add(
            findings, FINDING_WARN, schedule->name, NULL,
            "topic %s has retention.ms=%lld: requests are deleted unread when no bridge runs for "
            "that long. A day (86400000) or more is usual",
            schedule->name, ms);
    if (size != NULL && strtoll(size, NULL, 10) >= 0)
        finding_add(
            findings, FINDING_WARN, schedule->name, NULL,
            "topic %s has retention.bytes=%s: requests are deleted unread when a partition holds "
            "more than that. retention.ms alone keeps them for a known time",
            schedule->name, size);
}

/* Warns of events that are never deleted. */
static void check_events(struct findings *findings, const struct topic_seen *events)
{
    const char *span = topic_setting(events, "retention.ms");
    const char *size = topic_setting(events, "retention.bytes");
    if (span == NULL || size == NULL || strtoll(span, NULL, 10) >= 0 ||
        strtoll(size, NULL, 10) >= 0)
        return;
    finding_add(findings, FINDING_WARN, events->name, NULL,
                "topic %s has retention.ms=-1 and retention.bytes=-1: events are never deleted. A "
                "week (604800000) is usual: 'kafka-configs.sh --alter --add-config "
                "retention.ms=604800000'",
                events->name);
}

/* Adds one finding for all topics that can lose records with one broker. Usually these are all
   topics of the bridge. */
static void check_replicas(struct findings *findings, const struct survey *survey)
{
    const struct topic_seen *alone = NULL, *acked_alone = NULL;
    int alone_n = 0, acked_alone_n = 0;
    char topics[COUNTED_MAX];
    for (size_t i = 0; i < survey->topics_n; i++) {
        const struct topic_seen *topic = &survey->topics[i];
        const char *insync = topic_setting(topic, "min.insync.replicas");
        if (topic->partitions == 0 || topic->kind == TOPIC_PULSE || topic->kind == TOPIC_CANARY)
            continue;
        if (topic->replicas == 1) {
            alone = alone == NULL ? topic : alone;
            alone_n++;
        } else if (insync != NULL && strcmp(insync, "1") == 0) {
            acked_alone = acked_alone == NULL ? topic : acked_alone;
            acked_alone_n++;
        }
    }
    if (alone != NULL)
        finding_add(findings, FINDING_WARN, alone->name, NULL,
                    "%s, for example %s, have partitions with a single replica: the loss of one "
                    "broker loses their records. Use three replicas "
                    "(kafka-reassign-partitions.sh)",
                    counted(alone_n, "topic", topics), alone->name);
    if (acked_alone != NULL)
        finding_add(
            findings, FINDING_WARN, acked_alone->name, NULL,
            "min.insync.replicas=1 in %s, for example %s: one broker alone may acknowledge a "
            "write, which is lost with that broker. With three replicas, set it to 2 with "
            "'kafka-configs.sh --alter --add-config min.insync.replicas=2'",
            counted(acked_alone_n, "topic", topics), acked_alone->name);
}

/* Adds one finding for the partitions of these topics that have no leader. */
static void check_leaders(struct findings *findings, const struct topic_seen *topics, size_t n,
                          const char *effect)
{
    const struct topic_seen *first = NULL;
    char partitions[COUNTED_MAX];
    int leaderless_n = 0;
    for (size_t i = 0; i < n; i++) {
        leaderless_n += topics[i].leaderless_n;
        if (first == NULL && topics[i].leaderless_n > 0)
            first = &topics[i];
    }
    if (first != NULL)
        finding_add(findings, FINDING_FAULT, first->name, NULL,
                    "no leader for %s, for example %s/%d: %s. Start their brokers; "
                    "'kafka-topics.sh --describe --unavailable-partitions' lists them",
                    counted(leaderless_n, "partition", partitions), first->name, first->leaderless,
                    effect);
}

static void check_stray(struct findings *findings, const struct topic_seen *stray, int64_t waiting,
                        rd_kafka_resp_err_t unread)
{
    const char *level = strrchr(stray->name, '.') + 1;
    char records[COUNTED_MAX];
    if (waiting > 0)
        finding_add(
            findings, FINDING_REFUSE, stray->name, NULL,
            "topic %s holds up to %s but %s is not a level, so no bridge would forward them. "
            "Add %s to retired_levels, to drain the topic, or to levels",
            stray->name, counted(waiting, "record", records), level, level);
    else if (waiting == 0)
        finding_add(
            findings, FINDING_WARN, stray->name, NULL,
            "nothing waits in topic %s and %s is neither a level nor retired. If no other program "
            "uses it, delete it with 'kafka-topics.sh --delete --topic %s'",
            stray->name, level, stray->name);
    else
        finding_add(
            findings, FINDING_SKIPPED, stray->name, NULL,
            "topic %s is not a level, and its records could not be counted (%s): if it holds any, "
            "add %s to retired_levels",
            stray->name, rd_kafka_err2str(unread), level);
}

static void check_strays(struct findings *findings, const struct survey *survey,
                         struct admin *admin, const struct config *config)
{
    rd_kafka_t *reader = survey->strays_n == 0 ? NULL : stray_reader(admin, config);
    for (size_t i = 0; i < survey->strays_n; i++) {
        const struct topic_seen *stray = &survey->strays[i];
        int64_t waiting = stray_waiting(admin, reader, stray);
        check_stray(findings, stray, waiting, admin->code);
    }
    /* It has no group to leave, and closing may wait for a deleted topic. */
    if (reader != NULL)
        rd_kafka_destroy_flags(reader, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

static bool has_login(rd_kafka_t *rk)
{
    char protocol[32];
    size_t size = sizeof protocol;
    return rd_kafka_conf_get(rd_kafka_conf(rk), "security.protocol", protocol, &size) ==
               RD_KAFKA_CONF_OK &&
           strcmp(protocol, "plaintext") != 0;
}

void survey_judge(const struct survey *survey, struct admin *admin, const struct config *config,
                  struct findings *findings)
{
    findings->partitions = survey->topics[0].partitions;
    for (size_t i = 0; i < survey->topics_n; i++) {
        check_partitions(findings, survey, &survey->topics[i]);
        check_settings(findings, config, &survey->topics[i]);
        if (survey->topics[i].kind == TOPIC_EVENTS)
            check_events(findings, &survey->topics[i]);
    }
    check_lanes(findings, &survey->topics[0]);
    overrides_judge(survey, config, findings);
    check_retention(findings, &survey->topics[0]);
    check_strays(findings, survey, admin, config);
    targets_judge(survey, config, findings);
    check_leaders(findings, survey->topics, survey->topics_n, "the records of their lanes wait");
    check_leaders(findings, survey->targets, survey->targets_n, "deliveries to them wait");
    check_replicas(findings, survey);
    if (findings->partitions == 0 && has_login(admin->rk))
        finding_add(findings, FINDING_WARN, survey->topics[0].name, NULL,
                    "this login may lack the right to see the topic: if it exists, allow Describe "
                    "on %s and "
                    "on topics that begin with %s.",
                    survey->topics[0].name, survey->topics[0].name);
    if (survey->unread[0] != '\0')
        finding_add(
            findings, FINDING_SKIPPED, survey->topics[0].name, NULL,
            "the settings of topics could not be read (%s): allow DescribeConfigs. Or check "
            "yourself that level topics have retention.ms=-1, retention.bytes=-1 and "
            "message.timestamp.type=CreateTime. They, the schedule topic and the dead-letter topic "
            "need "
            "cleanup.policy=delete",
            survey->unread);
}

int topics_check(rd_kafka_t *rk, const struct config *config, int timeout_ms,
                 struct findings *findings, struct error *error)
{
    struct admin admin = {.rk = rk, .timeout_ms = timeout_ms};
    struct survey survey;
    *findings = (struct findings){0};
    int err = survey_take(&admin, config, &survey);
    if (err == 0)
        survey_judge(&survey, &admin, config, findings);
    else
        *error = admin.error;
    survey_deinit(&survey);
    return err;
}
