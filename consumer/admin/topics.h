/* SPDX-License-Identifier: Apache-2.0 */
/* topics: the bridge's own topics: what their settings must be, and the admin calls that check,
   create and correct them. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_H

#include "bridge/config/config.h"
#include "levels/topic_name.h"

#include <librdkafka/rdkafka.h>

/* One finding of a check: what is, what it means, what to run. */
enum finding_kind {
    FINDING_REFUSE, /* run must not start: waiting records could be lost or stay for ever */
    FINDING_FAULT,  /* run starts, but requests would fail or be lost: check is not ok */
    FINDING_WARN,   /* works, but see the sentence */
    FINDING_SKIPPED /* could not be asked (not supported or not authorized), with why */
};
struct finding {
    enum finding_kind kind;
    char *topic;    /* owned */
    char *sentence; /* owned: what is wrong and what to run */
    char *fix;      /* owned, or NULL: what topics apply would do, in words */
    bool chosen;    /* follows from topic_settings */
};
struct findings {
    struct finding *items;
    size_t n;
    int partitions; /* lanes: the partition count of S, 0 if S does not exist */
};
void findings_deinit(struct findings *findings);
int findings_count(const struct findings *findings, enum finding_kind kind);

/* Look at all topics, the bridge's and the targets that the configuration names in full: what must
   hold of them is in topics_rules.c. Returns 0 (findings filled, maybe none) or ERR_KAFKA with a
   sentence. rk: any handle. */
int topics_check(rd_kafka_t *rk, const struct config *config, int timeout_ms,
                 struct findings *findings, char *error, size_t error_size) must_check;

/* Whether the brokers serve a producer such as a worker starts, transactional with exactly-once,
   added to the findings of topics_check. Makes a client of its own; waits for timeout_ms at most,
   three times. */
void producers_check(const struct config *config, int timeout_ms, struct findings *findings);

/* What apply is asked to do, and then what it did. */
struct topics_job {
    int timeout_ms;
    bool fewer_replicas; /* make topics although fewer brokers are alive than replication says */
    void (*say)(const char *line); /* called with each change */
    int created, grown, changed;   /* topics */
};

/* Creates what is missing, changes what is wrong, and waits until every broker shows it. Returns 0
   (left filled with what it cannot change), ERR_KAFKA (try again) or ERR_CONFIG (a broker said no,
   or too few brokers are alive) with a sentence. */
int topics_apply(rd_kafka_t *rk, const struct config *config, struct topics_job *job,
                 struct findings *left, char *error, size_t error_size) must_check;

/* What apply would do with one topic. */
struct plan_setting {
    char *name, *value;
    char *was; /* NULL: of a new topic */
};
struct plan_row {
    char topic[TOPIC_TEXT_MAX];
    bool is_new;
    int partitions, partitions_now, replicas;
    struct plan_setting *settings;
    size_t settings_n;
};
/* All is owned by the struct. */
struct plan {
    struct plan_row *rows;
    size_t n;
    char *notes[2]; /* which key of the configuration has no effect, and why */
    size_t notes_n;
};
void plan_deinit(struct plan *plan);

/* Fills the plan, and the findings as topics_check does. Returns 0 or ERR_KAFKA with a sentence. */
int topics_plan(rd_kafka_t *rk, const struct config *config, int timeout_ms, struct plan *plan,
                struct findings *findings, char *error, size_t error_size) must_check;

#endif
