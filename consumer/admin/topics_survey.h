/* SPDX-License-Identifier: Apache-2.0 */
/* topics_survey: the present state of the bridge's topics, and the rules for it. The check and
   apply both start from a survey. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_SURVEY_H
#define DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_SURVEY_H

#include "consumer/admin/topics.h"
#include "consumer/client/admin.h"

enum topic_kind {
    TOPIC_SCHEDULE,
    TOPIC_LEVEL,
    TOPIC_DEAD_LETTER,
    TOPIC_CANCELLED,
    TOPIC_EVENTS,
    TOPIC_CONTROL,
    TOPIC_PULSE,
    TOPIC_CANARY,
    TOPIC_TARGET /* not the bridge's: apply neither creates nor changes it */
};

/* A rule for one setting of one kind of topic. */
struct topic_rule {
    const char *name;
    const char *value;
    enum {
        RULE_EXACTLY,
        RULE_AT_LEAST, /* numeric */
        RULE_AT_MOST,  /* numeric */
        RULE_CHOSEN    /* the value of topic_settings, in any spelling */
    } how;
    enum finding_kind kind; /* of the finding if the rule is broken */
    const char *why;        /* the consequence of a broken rule: "waiting records would be lost" */
    const char *set;        /* the value that apply sets; NULL: value */
    /* New topics are created without the setting: their default usually complies. */
    bool late;
};
enum { TOPIC_RULES_MAX = 13 + TOPIC_OVERRIDES_MAX, SAFE_REPLICAS = 3 };

struct topic_setting {
    char *name, *value; /* owned */
    bool own;           /* set on this topic; else a default of the broker or of Kafka */
};

struct topic_seen {
    enum topic_kind kind;
    char name[TOPIC_TEXT_MAX];
    bool takes_dead_letters; /* of share groups: compat has share-dlq */
    int partitions;          /* 0: the topic does not exist */
    int replicas;            /* the smallest number of any partition */
    char replicas_text[12];
    int leaderless_n, leaderless; /* partitions without a leader, and the first of them */
    struct topic_setting *settings;
    size_t settings_n; /* 0: not known */
};

/* The struct owns all pointers. */
struct survey {
    /* S, the levels, the retired levels, the other topics of the bridge. */
    struct topic_seen *topics;
    size_t topics_n;
    struct topic_seen *strays; /* S.<duration>, neither a level nor retired */
    size_t strays_n;
    struct topic_seen *targets; /* those that the configuration names in full */
    size_t targets_n;
    int brokers;
    int32_t *broker_ids;
    int lanes;                      /* partitions of S, or those that it will be created with */
    char unread[ERROR_MAX];         /* why settings are unknown; "": they are known */
    bool behind;                    /* a broker does not know a topic yet that another one lists */
    char targets_unread[ERROR_MAX]; /* the same for targets */
};

/* Takes a survey. While it is behind, takes another one, for admin->timeout_ms at most, and while a
   partition has no leader, for a second. Returns 0, or ERR_KAFKA with the reason in admin->error.
   Call survey_deinit in any case. */
int survey_take(struct admin *admin, const struct config *config, struct survey *survey) must_check;
/* Takes one survey, with the settings as the broker admin->ask shows them. 0: any broker, whose
   number it then is. */
int survey_take_from(struct admin *admin, const struct config *config,
                     struct survey *survey) must_check;
void survey_deinit(struct survey *survey);

/* Adds findings for broken rules, and requests how many records wait in stray topics. */
void survey_judge(const struct survey *survey, struct admin *admin, const struct config *config,
                  struct findings *findings);

/* Returns how many offsets of a stray topic wait: those beyond the committed ones, in partitions
   with a record beyond them. Returns -1 with the reason in admin if the number is unknown. reader:
   from stray_reader, or NULL. Without a reader the count includes all offsets of the log and the
   ends of transactions. Records behind an open transaction are unknown then. */
int64_t stray_waiting(struct admin *admin, rd_kafka_t *reader, const struct topic_seen *topic);

/* Returns a consumer for stray_waiting, or NULL if no broker answers in time. The caller destroys
   it without closing it. */
rd_kafka_t *stray_reader(const struct admin *admin, const struct config *config);

/* Adds findings for targets. */
void targets_judge(const struct survey *survey, const struct config *config,
                   struct findings *findings);

/* Returns whether the topic must have one partition for each lane. S does not count, since its
   partitions are the lanes. */
bool topic_has_lanes(enum topic_kind kind);
/* Returns whether the topic exists and lacks partitions. */
bool topic_is_short(const struct survey *survey, const struct topic_seen *topic);

/* Fills in the bridge's own rules for this topic. Returns how many. They point into the topic. */
size_t topic_rules_own(const struct topic_seen *topic, struct topic_rule rules[TOPIC_RULES_MAX]);
/* Returns whether topic_settings applies to the topic. An existing schedule topic belongs to its
   producers. */
bool topic_takes_overrides(const struct topic_seen *topic);
/* Does the same as topic_rules_own, with topic_settings in place of the rules that they replace.
   They point into topic and config. */
size_t topic_rules(const struct topic_seen *topic, const struct config *config,
                   struct topic_rule rules[TOPIC_RULES_MAX]);
/* Adds one finding for each property of topic_settings that breaks one of the bridge's own rules,
   with the consequence. */
void overrides_judge(const struct survey *survey, const struct config *config,
                     struct findings *findings);
/* Writes advice on a setting that a broker refused to out, and returns out. requested: the
   settings of the request. why: the broker's sentence. The advice names the property if the
   sentence does. */
enum { OVERRIDE_ADVICE_MAX = 256 };
struct topic_pair {
    const char *name, *value;
};
const char *override_advice(const struct topic_pair *requested, size_t n, const char *why,
                            char out[OVERRIDE_ADVICE_MAX]);

bool topic_rule_holds(const struct topic_rule *rule, const char *value);
/* Returns " or more", " or less" or "", to follow the rule's value in a sentence. */
const char *topic_rule_bound(const struct topic_rule *rule);

/* Fills in the settings of a new topic. Returns how many. */
size_t topic_initial(const struct topic_seen *topic, const struct config *config, int replicas,
                     struct topic_pair pairs[TOPIC_RULES_MAX]);
int topic_partitions_wanted(const struct survey *survey, const struct topic_seen *topic);
int survey_replicas(const struct survey *survey, const struct config *config);

/* Returns the value of a setting, or NULL if the broker did not return it. */
const char *topic_setting(const struct topic_seen *topic, const char *name);

#endif
