/* SPDX-License-Identifier: Apache-2.0 */
/* What the settings of the bridge's topics must be, and why. */
#include "consumer/topics_survey.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT "134217728" /* 128 MiB: what stays on disk of a level's partition at most */
#define LARGEST "67108864"  /* 64 MiB: whatever fits S fits, with its envelope */

static const struct topic_rule schedule_rules[] = {
    {"cleanup.policy", "delete", RULE_EXACTLY, FINDING_REFUSE,
     "compaction would delete requests with the same key that are not read yet"},
};

static const struct topic_rule level_rules[] = {
    {"retention.ms", "-1", RULE_EXACTLY, FINDING_REFUSE,
     "records that still wait would be deleted"},
    {"retention.bytes", "-1", RULE_EXACTLY, FINDING_REFUSE,
     "records that still wait would be deleted"},
    {"cleanup.policy", "delete", RULE_EXACTLY, FINDING_REFUSE,
     "compaction would delete records with the same key that still wait"},
    {"message.timestamp.type", "CreateTime", RULE_EXACTLY, FINDING_REFUSE,
     "a record's stop is computed from the timestamp that the bridge gave it"},
    {"max.message.bytes", LARGEST, RULE_AT_LEAST, FINDING_WARN,
     "a record that fits the schedule topic might not fit this one"},
    {"segment.bytes", SEGMENT, RULE_AT_MOST, FINDING_WARN,
     "room on the brokers' disks is freed by whole segments, long after their records were "
     "forwarded"},
};

static const struct topic_rule dead_letter_rules[] = {
    {"cleanup.policy", "delete", RULE_EXACTLY, FINDING_REFUSE,
     "compaction takes no record without a key, and would keep only the last of those with the "
     "same key"},
    {"max.message.bytes", LARGEST, RULE_AT_LEAST, FINDING_WARN,
     "a large dead letter would be written without its value"},
};

static const struct topic_rule cancelled_rules[] = {
    {"cleanup.policy", "compact", RULE_EXACTLY, FINDING_WARN,
     "it would grow without end or forget cancellations in force"},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

const struct topic_rule *topic_rules(enum topic_kind kind, size_t *n)
{
    *n = 0;
    switch (kind) {
    case TOPIC_SCHEDULE:
        *n = COUNT(schedule_rules);
        return schedule_rules;
    case TOPIC_LEVEL:
        *n = COUNT(level_rules);
        return level_rules;
    case TOPIC_DEAD_LETTER:
        *n = COUNT(dead_letter_rules);
        return dead_letter_rules;
    case TOPIC_CANCELLED:
        *n = COUNT(cancelled_rules);
        return cancelled_rules;
    case TOPIC_PULSE:
    case TOPIC_CANARY:
        break;
    }
    return NULL;
}

bool topic_has_lanes(enum topic_kind kind)
{
    return kind != TOPIC_SCHEDULE && kind != TOPIC_PULSE && kind != TOPIC_CANARY;
}

bool topic_rule_holds(const struct topic_rule *rule, const char *value)
{
    long long is = strtoll(value, NULL, 10), limit = strtoll(rule->value, NULL, 10);
    if (rule->how == RULE_EXACTLY)
        return strcmp(value, rule->value) == 0;
    return rule->how == RULE_AT_LEAST ? is >= limit : is <= limit;
}

const char *topic_setting(const struct topic_seen *topic, const char *name)
{
    for (size_t i = 0; i < topic->settings_n; i++)
        if (strcmp(topic->settings[i].name, name) == 0)
            return topic->settings[i].value;
    return NULL;
}
