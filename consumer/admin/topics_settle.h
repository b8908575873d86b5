/* SPDX-License-Identifier: Apache-2.0 */
/* topics_settle: waits until every broker shows the changes of topics_apply. Brokers learn of a
   change one after the other, seconds late when they are busy. The next command may depend on it.
 */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_SETTLE_H
#define DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_SETTLE_H

#include "consumer/admin/topics_survey.h"

/* The state to wait for. */
enum settle_on {
    SETTLE_ON_CREATION, /* all topics exist */
    SETTLE_ON_RULES     /* they also have their partitions, and settings that follow the rules */
};

/* The first difference from the state: "schedule.1m has retention.ms=3600000". */
struct lag {
    char text[ERROR_MAX / 2];
};

/* Returns whether a survey shows the state. Otherwise fills lag, which may be NULL. A setting that
   could not be read counts as right. */
bool topics_are_settled(const struct survey *survey, const struct config *config,
                        enum settle_on state, struct lag *lag);

/* The partitions of a sample whose leaders answer. A broker lists a new topic at once, and makes
   about a hundred partitions a second. It shows no later change before it has made all of them. */
enum { PROGRESS_SAMPLE = 64 };
struct settle_progress {
    bool ready[PROGRESS_SAMPLE];
    int ready_n, all_n, next; /* all_n: size of the sample; next: the first one to query */
    int64_t grown_mono_ms;    /* when ready_n grew, or the wait began */
};

/* Queries the leaders of partitions that were not ready, for two seconds at most. */
void settle_progress_look(struct settle_progress *progress, struct admin *admin,
                          const struct survey *survey);

/* Returns whether a partition has become ready within patience_ms. before_n: ready_n of the last
   call. */
bool settle_progress_lasts(struct settle_progress *progress, int before_n, int64_t now_mono_ms,
                           int64_t patience_ms);

/* A wait ends when no partition has become ready for so many times the timeout of a request. */
enum { SETTLE_TIMEOUTS = 6 };

/* The waits of one command. The caller sets the first four; topics_settle sets the others. */
struct settling {
    struct admin *admin;
    const struct config *config;
    struct survey *survey;          /* the last one; topics_settle replaces it */
    void (*show)(const char *line); /* called every few seconds of a long wait; or NULL */
    struct settle_progress progress;
    int64_t looked_mono_ms, shown_mono_ms;
    struct lag lag; /* with its broker */
};

/* Waits until every broker shows the state. If the login may not read settings, one broker is
   enough. Returns 0, or ERR_KAFKA with the reason in admin->error, or ERR_NO_MEMORY. */
int topics_settle(struct settling *s, enum settle_on state) must_check;

#endif
