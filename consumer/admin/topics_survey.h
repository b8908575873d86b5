/* SPDX-License-Identifier: Apache-2.0 */
/* topics_survey: the bridge's topics as they are, beside the rules that say how they must be. Both
   the check and apply start from one. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_SURVEY_H
#define DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_SURVEY_H

#include "consumer/admin/topics.h"
#include "consumer/client/admin.h"

enum topic_kind {
    TOPIC_SCHEDULE,
    TOPIC_LEVEL,
    TOPIC_DEAD_LETTER,
    TOPIC_CANCELLED,
    TOPIC_PULSE,
    TOPIC_CANARY,
    TOPIC_TARGET /* not the bridge's: apply neither makes nor changes it */
};

/* What a setting of one kind of topic must be. */
struct topic_rule {
    const char *name;
    const char *value;
    enum {
        RULE_EXACTLY,
        RULE_AT_LEAST, /* of numbers */
        RULE_AT_MOST,  /* of numbers */
        RULE_CHOSEN    /* the value of topic_settings, in any spelling */
    } how;
    enum finding_kind kind; /* if it does not hold */
    const char *why;        /* what happens then: "waiting records would be lost" */
    const char *set;        /* what apply sets where it does not hold; NULL: value */
    bool late;              /* new topics are made without it: their default usually holds */
};
enum { TOPIC_RULES_MAX = 12 + TOPIC_OVERRIDES_MAX, SAFE_REPLICAS = 3 };

struct topic_setting {
    char *name, *value; /* owned */
    bool own;           /* set on this topic; else a default, the broker's or Kafka's */
};

struct topic_seen {
    enum topic_kind kind;
    char name[TOPIC_TEXT_MAX];
    int partitions; /* 0: there is no such topic */
    int replicas;   /* the fewest that a partition has */
    char replicas_text[12];
    struct topic_setting *settings;
    size_t settings_n; /* 0: could not be asked */
};

/* All is owned by the struct. */
struct survey {
    struct topic_seen *topics; /* S, then the levels, the retired ones, and the other companions */
    size_t topics_n;
    struct topic_seen *strays; /* S.<duration>, but neither a level nor retired */
    size_t strays_n;
    struct topic_seen *targets; /* those that the configuration names in full */
    size_t targets_n;
    int brokers;
    int32_t *broker_ids;
    int lanes;                             /* partitions of S, or those it will be made with */
    char unasked[ADMIN_ERROR_MAX];         /* why settings could not be asked; "" if they were */
    char targets_unasked[ADMIN_ERROR_MAX]; /* the same for targets */
};

/* Returns 0, or ERR_KAFKA with the reason in admin->error. Deinit in any case. */
int survey_take(struct admin *admin, const struct config *config, struct survey *survey) must_check;
/* The same, with the settings as the broker admin->ask shows them. */
int survey_take_from(struct admin *admin, const struct config *config,
                     struct survey *survey) must_check;
void survey_deinit(struct survey *survey);

/* Adds a finding. fix may be NULL and is taken over. Out of memory ends the process: a finding must
   not get lost. */
__attribute__((format(printf, 5, 6))) void finding_add(struct findings *findings,
                                                       enum finding_kind kind, const char *topic,
                                                       char *fix, const char *sentence, ...);

/* What is wrong with what was seen, added to findings; asks how much waits in a stray one. */
void survey_judge(const struct survey *survey, struct admin *admin, const struct config *config,
                  struct findings *findings);

/* How many offsets of a stray topic lie beyond what the group has committed, in partitions that
   have a record there; -1 with the reason in admin. reader: of stray_reader, or NULL: all that is
   in the log and ends of transactions are then counted, and what is behind an open one is not
   known.
 */
int64_t stray_waiting(struct admin *admin, rd_kafka_t *reader, const struct topic_seen *topic);

/* A consumer that looks into topics; the caller destroys it, without closing it. NULL: there is
   none within the time. */
rd_kafka_t *stray_reader(const struct admin *admin, const struct config *config);

/* What is wrong with the targets, added to findings. */
void targets_judge(const struct survey *survey, const struct config *config,
                   struct findings *findings);

/* One partition for each lane; else S itself, and those that have no lanes. */
bool topic_has_lanes(enum topic_kind kind);

/* The bridge's own rules for this topic; returns how many. They point into the topic. */
size_t topic_rules_own(const struct topic_seen *topic, struct topic_rule rules[TOPIC_RULES_MAX]);
/* The same, with topic_settings in place of those that it replaces. They point into both. */
size_t topic_rules(const struct topic_seen *topic, const struct config *config,
                   struct topic_rule rules[TOPIC_RULES_MAX]);
/* Adds one finding for each property of topic_settings that departs from the bridge's own rules,
   with the consequence. */
void overrides_judge(const struct survey *survey, const struct config *config,
                     struct findings *findings);
/* What to do after a broker refused a setting. asked: the settings of the request; why: the
   broker's sentence. Names the property, if the sentence does. Returns out. */
enum { OVERRIDE_ADVICE_MAX = 256 };
struct topic_pair {
    const char *name, *value;
};
const char *override_advice(const struct topic_pair *asked, size_t n, const char *why,
                            char out[OVERRIDE_ADVICE_MAX]);

bool topic_rule_holds(const struct topic_rule *rule, const char *value);
/* " or more", " or less" or "": what comes behind the rule's value in a sentence. */
const char *topic_rule_bound(const struct topic_rule *rule);

/* What a new topic is made with; returns how many. */
size_t topic_initial(const struct topic_seen *topic, const struct config *config, int replicas,
                     struct topic_pair pairs[TOPIC_RULES_MAX]);
int topic_partitions_wanted(const struct survey *survey, const struct topic_seen *topic);
int survey_replicas(const struct survey *survey, const struct config *config);

/* The value of a setting, or NULL if it was not told. */
const char *topic_setting(const struct topic_seen *topic, const char *name);

#endif
