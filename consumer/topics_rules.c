/* SPDX-License-Identifier: Apache-2.0 */
/* What the settings of the bridge's topics must be, and why. */
#include "consumer/topics_survey.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST "67108864" /* 64 MiB: whatever fits S fits, with its envelope */

static const struct topic_rule level_rules[] = {
    {"retention.ms", "-1", false, FINDING_REFUSE, "records that still wait would be deleted"},
    {"retention.bytes", "-1", false, FINDING_REFUSE, "records that still wait would be deleted"},
    {"cleanup.policy", "delete", false, FINDING_REFUSE,
     "compaction would delete records with the same key that still wait"},
    {"message.timestamp.type", "CreateTime", false, FINDING_REFUSE,
     "a record's stop is computed from the timestamp that the bridge gave it"},
    {"max.message.bytes", LARGEST, true, FINDING_WARN,
     "a record that fits the schedule topic might not fit this one"},
};

static const struct topic_rule dead_letter_rules[] = {
    {"max.message.bytes", LARGEST, true, FINDING_WARN,
     "a large dead letter would be written without its value"},
};

static const struct topic_rule cancelled_rules[] = {
    {"cleanup.policy", "compact", false, FINDING_WARN,
     "it would grow without end or forget cancellations in force"},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

const struct topic_rule *topic_rules(enum topic_kind kind, size_t *n)
{
    *n = 0;
    switch (kind) {
    case TOPIC_LEVEL:
        *n = COUNT(level_rules);
        return level_rules;
    case TOPIC_DEAD_LETTER:
        *n = COUNT(dead_letter_rules);
        return dead_letter_rules;
    case TOPIC_CANCELLED:
        *n = COUNT(cancelled_rules);
        return cancelled_rules;
    case TOPIC_SCHEDULE:
    case TOPIC_PULSE:
        break;
    }
    return NULL;
}

bool topic_rule_holds(const struct topic_rule *rule, const char *value)
{
    if (rule->at_least)
        return strtoll(value, NULL, 10) >= strtoll(rule->value, NULL, 10);
    return strcmp(value, rule->value) == 0;
}

const char *topic_setting(const struct topic_seen *topic, const char *name)
{
    for (size_t i = 0; i < topic->settings_n; i++)
        if (strcmp(topic->settings[i].name, name) == 0)
            return topic->settings[i].value;
    return NULL;
}
