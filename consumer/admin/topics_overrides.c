/* SPDX-License-Identifier: Apache-2.0 */
/* The key topic_settings: the consequences of its values, and the advice when a broker refuses
   one. */
#include "bridge/config/topic_settings.h"
#include "consumer/admin/topics_survey.h"
#include "levels/counted.h"

#include <stdio.h>
#include <string.h>

/* Returns the consequence of a value that the bridge would not choose, or else the reason of the
   rule. */
static const char *consequence_of(const struct topic_rule *rule)
{
    if (strcmp(rule->name, "max.message.bytes") == 0)
        return "records that are larger with their envelope are dead-lettered as too_large, "
               "without their value if the dead letter does not fit either";
    if (strcmp(rule->name, "segment.bytes") == 0)
        return "trimming frees whole segments only, so each partition keeps up to one segment of "
               "finished records on disk";
    return rule->why;
}

/* Returns the value that the topic has or will have. Returns "" if the broker does not show it,
   NULL if it could not be read. */
static const char *value_of(const struct topic_seen *topic, const struct topic_override *override)
{
    if (override->value != NULL)
        return override->value;
    if (topic->settings_n == 0)
        return NULL;
    const char *value = topic_setting(topic, override->name);
    return value == NULL ? "" : value;
}

/* Returns whether the override breaks one of the topic's own rules, and fills broken. */
static bool breaks(const struct topic_seen *topic, const struct topic_override *override,
                   struct topic_rule *broken)
{
    struct topic_rule rules[TOPIC_RULES_MAX];
    const char *value = value_of(topic, override);
    size_t n = value == NULL || !topic_takes_overrides(topic) ? 0 : topic_rules_own(topic, rules);
    for (size_t i = 0; i < n; i++) {
        bool complies = value[0] == '\0' && rules[i].late; /* Kafka's default applies */
        if (strcmp(rules[i].name, override->name) != 0 || complies ||
            (value[0] != '\0' && topic_rule_holds(&rules[i], value)))
            continue;
        *broken = rules[i];
        return true;
    }
    return false;
}

static void judge_one(const struct survey *survey, const struct topic_override *override,
                      struct findings *findings)
{
    const struct topic_seen *first = NULL;
    struct topic_rule rule = {0}, broken;
    int topics_n = 0;
    for (size_t i = 0; i < survey->topics_n; i++) {
        if (!breaks(&survey->topics[i], override, &broken))
            continue;
        if (topics_n++ == 0) {
            first = &survey->topics[i];
            rule = broken;
        }
    }
    if (first == NULL)
        return;
    char topics[COUNTED_MAX];
    const char *value = value_of(first, override);
    finding_add(findings, rule.kind, first->name, NULL,
                "topic_settings: %s, for example %s, with %s=%s, where %s%s is usual: %s",
                counted(topics_n, "topic", topics), first->name, override->name,
                value[0] == '\0' ? "unknown" : value, rule.value, topic_rule_bound(&rule),
                consequence_of(&rule));
    findings->items[findings->n - 1].chosen = true;
}

void overrides_judge(const struct survey *survey, const struct config *config,
                     struct findings *findings)
{
    for (size_t i = 0; i < config->topic_overrides_n; i++)
        judge_one(survey, &config->topic_overrides[i], findings);
}

/* Returns the setting that the broker's sentence names, or NULL. The longest name counts:
   retention.ms is part of delete.retention.ms. */
static const struct topic_pair *named_in(const struct topic_pair *requested, size_t n,
                                         const char *why)
{
    const struct topic_pair *found = NULL;
    for (size_t i = 0; i < n; i++)
        if (strstr(why, requested[i].name) != NULL &&
            (found == NULL || strlen(requested[i].name) > strlen(found->name)))
            found = &requested[i];
    return found;
}

const char *override_advice(const struct topic_pair *requested, size_t n, const char *why,
                            char out[OVERRIDE_ADVICE_MAX])
{
    const struct topic_pair *named = named_in(requested, n, why);
    out[0] = '\0';
    if (named != NULL && topic_setting_fixed(named->name) != NULL) {
        snprintf(out, OVERRIDE_ADVICE_MAX,
                 "; requested %s=%s, which topic_settings cannot replace: %s", named->name,
                 named->value, topic_setting_fixed(named->name));
    } else if (named != NULL) {
        snprintf(out, OVERRIDE_ADVICE_MAX,
                 "; requested %s=%s. Set %s in topic_settings to a value that the brokers accept, "
                 "or to default",
                 named->name, named->value, named->name);
    } else {
        size_t len = 0;
        for (size_t i = 0; i < n && len < OVERRIDE_ADVICE_MAX; i++)
            if (topic_setting_fixed(requested[i].name) == NULL)
                len += (size_t)snprintf(out + len, OVERRIDE_ADVICE_MAX - len, "%s %s=%s",
                                        len == 0 ? "; set refused ones to default in "
                                                   "topic_settings:"
                                                 : ",",
                                        requested[i].name, requested[i].value);
    }
    return out;
}
