/* SPDX-License-Identifier: Apache-2.0 */
/* topics: the bridge's own topics. Checks, creates and corrects them by the rules of
   topics_rules.c. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_H

#include "bridge/config/config.h"
#include "levels/topic_name.h"

#include <librdkafka/rdkafka.h>

/* One finding of a check: the state, its consequence, and the command to run. */
enum finding_kind {
    FINDING_REFUSE, /* run must not start: waiting records could be lost or stuck */
    FINDING_FAULT,  /* run starts, but requests would fail or be lost; the check fails */
    FINDING_WARN,   /* works, but see the sentence */
    FINDING_SKIPPED /* not checked (not supported or not authorized), with the reason */
};
struct finding {
    enum finding_kind kind;
    char *topic;    /* owned */
    char *sentence; /* owned: the fault and the command */
    char *fix;      /* owned: the change by topics apply, in words; NULL: none */
    bool chosen;    /* a consequence of topic_settings */
    bool missing;   /* a topic of the bridge does not exist, so run must not start */
};
struct findings {
    struct finding *items;
    size_t n;
    int partitions; /* lanes: partitions of the schedule topic; 0: it does not exist */
};
/* Adds a finding. fix may be NULL; its ownership passes to the finding. Ends the process if memory
   is lacking: a finding must not get lost. */
__attribute__((format(printf, 5, 6))) void finding_add(struct findings *findings,
                                                       enum finding_kind kind, const char *topic,
                                                       char *fix, const char *sentence, ...);
void findings_deinit(struct findings *findings);
/* Removes all findings behind the first n. */
void findings_cut(struct findings *findings, size_t n);
int findings_count(const struct findings *findings, enum finding_kind kind);

/* Checks all topics, the bridge's and the targets that the configuration names in full, by the
   rules of topics_rules.c. Returns 0 with the findings, or ERR_KAFKA with a sentence. rk: any
   handle. */
int topics_check(rd_kafka_t *rk, const struct config *config, int timeout_ms,
                 struct findings *findings, struct error *error) must_check;

/* Checks that the group has a coordinator, and adds a finding if it has none. On a new cluster this
   creates the topic of the groups. Returns whether the coordinator answered. Creates its own
   client; waits for three times timeout_ms at most. */
bool group_check(const struct config *config, int timeout_ms, struct findings *findings);

/* Does the same, and checks that the brokers serve a worker's producer (transactional with
   exactly-once). Waits for six times timeout_ms at most. */
void producers_check(const struct config *config, int timeout_ms, struct findings *findings);

/* Arguments and results of topics_apply. */
struct topics_job {
    int timeout_ms;
    /* Create topics although fewer brokers are alive than replication demands. */
    bool fewer_replicas;
    void (*say)(const char *line);  /* called for each change */
    void (*show)(const char *line); /* called every few seconds of a long wait; or NULL */
    int created, grown, changed;    /* numbers of topics */
};

/* Creates missing topics, corrects wrong ones, and waits until every broker shows the changes.
   Stops waiting when no partition has become ready for six times timeout_ms. Fills left with the
   findings that it cannot correct. Returns 0, ERR_KAFKA (try again), or ERR_CONFIG (a broker
   refused, or too few brokers are alive) with a sentence. */
int topics_apply(rd_kafka_t *rk, const struct config *config, struct topics_job *job,
                 struct findings *left, struct error *error) must_check;

/* The changes that topics_apply would make to one topic. */
struct plan_setting {
    char *name, *value;
    char *was; /* NULL: the topic is new */
};
struct plan_row {
    char topic[TOPIC_TEXT_MAX];
    bool is_new;
    int partitions, partitions_now, replicas;
    struct plan_setting *settings;
    size_t settings_n;
};
/* The struct owns all pointers. */
struct plan {
    struct plan_row *rows;
    size_t n;
    char *notes[2]; /* keys of the configuration without effect, and the reason */
    size_t notes_n;
};
void plan_deinit(struct plan *plan);

/* Fills the plan, and findings as topics_check does. Returns 0, or ERR_KAFKA with a sentence. */
int topics_plan(rd_kafka_t *rk, const struct config *config, int timeout_ms, struct plan *plan,
                struct findings *findings, struct error *error) must_check;

#endif
