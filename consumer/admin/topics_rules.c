/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for settings of the bridge's topics, and their reasons. */
#include "bridge/config/topic_settings.h"
#include "consumer/admin/topics_survey.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SEGMENT "134217728" /* 128 MiB: the disk space that a level partition keeps at most */
#define LARGEST "67108864"  /* 64 MiB: a record that fits S also fits with its envelope */

/* 198 MiB: with a whole fetch and its frame, less than CLIENT_RECEIVE_MAX. A larger response ends
   the connection, and reading stops for all partitions of that broker. */
#define READABLE "207618048"

#define HOUR    "3600000"
#define MINUTE  "60000"
#define WEEK    "604800000"
#define FOREVER "9223372036854775807"

/* Brokers refuse a record whose timestamp differs from their clock by more than such a bound. The
   name of the bound depends on the version: `difference` until 3.9, `before` and `after` since
   3.6. */
#define TIMESTAMP_RULES(least, why)                                                               \
    {"message.timestamp.before.max.ms", least, RULE_AT_LEAST, FINDING_FAULT, why, FOREVER, true}, \
        {"message.timestamp.after.max.ms", least, RULE_AT_LEAST, FINDING_FAULT, why, HOUR, true}, \
    {                                                                                             \
        "message.timestamp.difference.max.ms", least, RULE_AT_LEAST, FINDING_FAULT, why, FOREVER, \
            true                                                                                  \
    }

#define OWN_CLOCK                                                                            \
    "records carry the bridge's clock of the moment when they are sent: the broker refuses " \
    "them when clocks differ by more or after a longer outage"
#define TARGET_CLOCK                                                                            \
    "deliveries carry the bridge's clock: the broker refuses them when clocks differ by more, " \
    "and they become dead letters"

#define FORGOTTEN "cancels in force would be forgotten, and void requests would be delivered"

static const struct topic_rule schedule_rules[] = {
    {"cleanup.policy", "delete", RULE_EXACTLY, FINDING_REFUSE,
     "compaction would delete requests with the same key that are not read yet", NULL, false},
    {"retention.ms", HOUR, RULE_AT_LEAST, FINDING_FAULT,
     "requests are deleted unread when no bridge runs for that long", "86400000", true},
    {"max.message.bytes", READABLE, RULE_AT_MOST, FINDING_FAULT,
     "the bridge cannot read a larger batch, and it stops reading from that broker", NULL, true},
};

/* Brokers before Kafka 4.4 do not know this property. They do not show it, so it is not set. */
static const struct topic_rule share_dlq_rule = {
    "errors.deadletterqueue.group.enable",
    "true",
    RULE_EXACTLY,
    FINDING_FAULT,
    "compat has share-dlq, but brokers would drop the dead letters of share groups",
    NULL,
    true};

/* Of each topic with requests, waiting records or cancels. */
static const struct topic_rule clean_rule = {
    "unclean.leader.election.enable",
    "false",
    RULE_EXACTLY,
    FINDING_WARN,
    "a replica that lacks records may become the leader: then records are lost, and new ones get "
    "their offsets",
    NULL,
    true};

#define MUST_BE(name, value, why) {name, value, RULE_EXACTLY, FINDING_REFUSE, why, NULL, false},

static const struct topic_rule level_rules[] = {
    TOPIC_SETTINGS_FIXED(MUST_BE){"max.message.bytes", LARGEST, RULE_AT_LEAST, FINDING_WARN,
                                  "a record that fits the schedule topic might not fit this one",
                                  NULL, false},
    {"segment.bytes", SEGMENT, RULE_AT_MOST, FINDING_WARN,
     "room on the brokers' disks is freed by whole segments, long after their records were "
     "forwarded",
     NULL, false},
    TIMESTAMP_RULES(HOUR, OWN_CLOCK),
};

static const struct topic_rule dead_letter_rules[] = {
    {"cleanup.policy", "delete", RULE_EXACTLY, FINDING_REFUSE,
     "compaction refuses records without a key, and would keep only the last of those with the "
     "same key",
     NULL, false},
    {"max.message.bytes", LARGEST, RULE_AT_LEAST, FINDING_WARN,
     "a large dead letter would be written without its value", NULL, false},
    TIMESTAMP_RULES(HOUR, OWN_CLOCK),
};

/* The bridge itself deletes the head of the log. Kafka refuses that for a compacted topic. */
static const struct topic_rule cancelled_rules[] = {
    {"cleanup.policy", "delete", RULE_EXACTLY, FINDING_REFUSE,
     "the bridge could not delete cancels that are over", NULL, false},
    {"retention.ms", "-1", RULE_EXACTLY, FINDING_REFUSE, FORGOTTEN, NULL, false},
    {"retention.bytes", "-1", RULE_EXACTLY, FINDING_REFUSE, FORGOTTEN, NULL, false},
    {"message.timestamp.type", "CreateTime", RULE_EXACTLY, FINDING_REFUSE,
     "a cancel carries the timestamp of its request", NULL, false},
    {"segment.bytes", SEGMENT, RULE_AT_MOST, FINDING_WARN,
     "room on the brokers' disks is freed by whole segments, long after their cancels are over",
     NULL, false},
    TIMESTAMP_RULES(HOUR, OWN_CLOCK),
};

static const struct topic_rule events_rules[] = {
    {"cleanup.policy", "delete", RULE_EXACTLY, FINDING_REFUSE,
     "compaction refuses events of requests without a name, and would keep only the last event of "
     "a "
     "name",
     NULL, false},
    {"max.message.bytes", "1048588", RULE_AT_LEAST, FINDING_FAULT,
     "the topic would refuse batches of events, and their lanes would wait", NULL, true},
    TIMESTAMP_RULES(HOUR, OWN_CLOCK),
};

static const struct topic_rule control_rules[] = {
    {"cleanup.policy", "compact", RULE_EXACTLY, FINDING_FAULT,
     "pauses and limits would end when their records are deleted", NULL, false},
    {"segment.ms", HOUR, RULE_AT_MOST, FINDING_WARN,
     "replaced records stay for longer, and each process reads all of them when it starts", NULL,
     false},
};

static const struct topic_rule target_rules[] = {
    TIMESTAMP_RULES(MINUTE, TARGET_CLOCK),
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
    const struct topic_rule *rules;
    size_t n;
} by_kind[] = {
    [TOPIC_SCHEDULE] = {schedule_rules, COUNT(schedule_rules)},
    [TOPIC_LEVEL] = {level_rules, COUNT(level_rules)},
    [TOPIC_DEAD_LETTER] = {dead_letter_rules, COUNT(dead_letter_rules)},
    [TOPIC_CANCELLED] = {cancelled_rules, COUNT(cancelled_rules)},
    [TOPIC_EVENTS] = {events_rules, COUNT(events_rules)},
    [TOPIC_CONTROL] = {control_rules, COUNT(control_rules)},
    [TOPIC_PULSE] = {NULL, 0},
    [TOPIC_CANARY] = {NULL, 0},
    [TOPIC_TARGET] = {target_rules, COUNT(target_rules)},
};

static bool has_clean_rule(enum topic_kind kind)
{
    return kind == TOPIC_SCHEDULE || kind == TOPIC_LEVEL || kind == TOPIC_CANCELLED;
}

/* Returns the rule for min.insync.replicas of an existing topic, whose replicas are known. */
static struct topic_rule insync_rule(const struct topic_seen *topic)
{
    return (struct topic_rule){
        .name = "min.insync.replicas",
        .value = topic->replicas_text,
        .how = RULE_AT_MOST,
        .kind = FINDING_FAULT,
        .why = "a partition has no more replicas, so every write to it fails",
        .set = topic->replicas >= SAFE_REPLICAS ? "2" : "1",
        .late = true,
    };
}

size_t topic_rules_own(const struct topic_seen *topic, struct topic_rule rules[TOPIC_RULES_MAX])
{
    size_t n = by_kind[topic->kind].n;
    assert(n + 3 + TOPIC_OVERRIDES_MAX < TOPIC_RULES_MAX);
    if (n > 0)
        memcpy(rules, by_kind[topic->kind].rules, n * sizeof *rules);
    if (topic->takes_dead_letters)
        rules[n++] = share_dlq_rule;
    if (has_clean_rule(topic->kind))
        rules[n++] = clean_rule;
    if (topic->partitions > 0 && topic->kind != TOPIC_PULSE) /* S.pulse receives no writes */
        rules[n++] = insync_rule(topic);
    return n;
}

bool topic_takes_overrides(const struct topic_seen *topic)
{
    return topic->kind != TOPIC_TARGET && !(topic->kind == TOPIC_SCHEDULE && topic->partitions > 0);
}

size_t topic_rules(const struct topic_seen *topic, const struct config *config,
                   struct topic_rule rules[TOPIC_RULES_MAX])
{
    size_t own = topic_rules_own(topic, rules), n = 0;
    if (!topic_takes_overrides(topic))
        return own;
    for (size_t i = 0; i < own; i++)
        if (config_topic_override(config, rules[i].name) == NULL)
            rules[n++] = rules[i];
    for (size_t i = 0; i < config->topic_overrides_n; i++)
        if (config->topic_overrides[i].value != NULL)
            rules[n++] = (struct topic_rule){
                .name = config->topic_overrides[i].name,
                .value = config->topic_overrides[i].value,
                .how = RULE_CHOSEN,
                .kind = FINDING_WARN,
                .why = "topic_settings says so",
            };
    return n;
}

size_t topic_initial(const struct topic_seen *topic, const struct config *config, int replicas,
                     struct topic_pair pairs[TOPIC_RULES_MAX])
{
    struct topic_rule rules[TOPIC_RULES_MAX];
    size_t rules_n = topic_rules(topic, config, rules), n = 0;
    for (size_t i = 0; i < rules_n; i++)
        if (!rules[i].late)
            pairs[n++] = (struct topic_pair){rules[i].name, rules[i].value};
    if (topic->kind == TOPIC_EVENTS)
        pairs[n++] = (struct topic_pair){"retention.ms", WEEK};
    if (topic->kind == TOPIC_PULSE || topic->kind == TOPIC_CANARY)
        pairs[n++] = (struct topic_pair){"retention.ms", HOUR};
    else if (replicas >= SAFE_REPLICAS &&
             config_topic_override(config, "min.insync.replicas") == NULL)
        pairs[n++] = (struct topic_pair){"min.insync.replicas", "2"};
    return n;
}

int topic_partitions_wanted(const struct survey *survey, const struct topic_seen *topic)
{
    bool single = topic->kind == TOPIC_CANARY || topic->kind == TOPIC_CONTROL;
    return topic->kind == TOPIC_PULSE ? survey->brokers : single ? 1 : survey->lanes;
}

int survey_replicas(const struct survey *survey, const struct config *config)
{
    return config->replication > survey->brokers ? survey->brokers : config->replication;
}

const char *topic_rule_bound(const struct topic_rule *rule)
{
    static const char *const bounds[] = {
        [RULE_AT_LEAST] = " or more",
        [RULE_AT_MOST] = " or less",
        [RULE_EXACTLY] = "",
        [RULE_CHOSEN] = "",
    };
    return bounds[rule->how];
}

bool topic_has_lanes(enum topic_kind kind)
{
    return kind == TOPIC_LEVEL || kind == TOPIC_DEAD_LETTER || kind == TOPIC_CANCELLED ||
           kind == TOPIC_EVENTS;
}

bool topic_is_short(const struct survey *survey, const struct topic_seen *topic)
{
    return topic_has_lanes(topic->kind) && topic->partitions > 0 &&
           topic->partitions < survey->lanes;
}

enum { WITHOUT_LIMIT = -1 }; /* of a retention */

/* Returns whether two values are equal. Brokers show "0.5" for "0.50", and "true" for "TRUE". */
static bool same_value(const char *a, const char *b)
{
    char *end_a, *end_b;
    long double as_a = strtold(a, &end_a), as_b = strtold(b, &end_b);
    bool numbers = end_a != a && *end_a == '\0' && end_b != b && *end_b == '\0';
    return strcasecmp(a, b) == 0 || (numbers && as_a == as_b);
}

bool topic_rule_holds(const struct topic_rule *rule, const char *value)
{
    if (rule->how == RULE_CHOSEN)
        return same_value(value, rule->value);
    long long is = strtoll(value, NULL, 10), limit = strtoll(rule->value, NULL, 10);
    if (rule->how == RULE_EXACTLY)
        return strcmp(value, rule->value) == 0;
    return rule->how == RULE_AT_LEAST ? is >= limit || is == WITHOUT_LIMIT : is <= limit;
}

const char *topic_setting(const struct topic_seen *topic, const char *name)
{
    for (size_t i = 0; i < topic->settings_n; i++)
        if (strcmp(topic->settings[i].name, name) == 0)
            return topic->settings[i].value;
    return NULL;
}
