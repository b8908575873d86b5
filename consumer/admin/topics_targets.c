/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the targets that the configuration names in full: whether they exist, and how their
   settings affect deliveries. apply never changes a target, which has its own operator. */
#include "consumer/admin/topics_survey.h"

#include <string.h>

static bool is_default(const struct config *config, const char *name)
{
    return config->default_target != NULL && strcmp(config->default_target, name) == 0;
}

static void judge_existence(const struct topic_seen *target, const struct config *config,
                            struct findings *findings)
{
    finding_add(findings, FINDING_FAULT, target->name, NULL,
                "%s %s does not exist, or this login may not see it: its requests become dead "
                "letters after max_attempts. Create it ('kafka-topics.sh --create --topic %s "
                "--partitions %d'), or allow Write on it",
                is_default(config, target->name) ? "the default target" : "target", target->name,
                target->name, config->partitions);
}

static void judge_settings(const struct topic_seen *target, struct findings *findings)
{
    struct topic_rule rules[TOPIC_RULES_MAX];
    size_t n = topic_rules_own(target, rules);
    for (size_t i = 0; i < n; i++) {
        const struct topic_rule *rule = &rules[i];
        const char *value = topic_setting(target, rule->name);
        if (value == NULL || topic_rule_holds(rule, value))
            continue;
        finding_add(findings, rule->kind, target->name, NULL,
                    "target %s has %s=%s where %s%s is needed (%s): change it with "
                    "'kafka-configs.sh --alter --topic %s --add-config %s=%s'",
                    target->name, rule->name, value, rule->value, topic_rule_bound(rule), rule->why,
                    target->name, rule->name, rule->set != NULL ? rule->set : rule->value);
    }
    const char *policy = topic_setting(target, "cleanup.policy");
    if (policy != NULL && strstr(policy, "compact") != NULL)
        finding_add(findings, FINDING_WARN, target->name, NULL,
                    "target %s has cleanup.policy=%s: brokers refuse deliveries without a key "
                    "there, and they become dead letters. Give such requests a key or dlb-key",
                    target->name, policy);
}

void targets_judge(const struct survey *survey, const struct config *config,
                   struct findings *findings)
{
    for (size_t i = 0; i < survey->targets_n; i++) {
        if (survey->targets[i].partitions == 0)
            judge_existence(&survey->targets[i], config, findings);
        else
            judge_settings(&survey->targets[i], findings);
    }
    if (survey->targets_unread[0] != '\0')
        finding_add(findings, FINDING_SKIPPED, survey->targets[0].name, NULL,
                    "the settings of targets could not be read (%s): allow DescribeConfigs on "
                    "them to have compaction, replicas and bounds of timestamps checked",
                    survey->targets_unread);
}
