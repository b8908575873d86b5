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

/* All waits of one command together last for so many times the timeout of a request. */
enum { SETTLE_TIMEOUTS = 6 };

/* The waits of one command. The caller sets the first four and zeroes the others once. */
struct settling {
    struct admin *admin;
    const struct config *config;
    struct survey *survey;         /* the last one; topics_settle replaces it */
    void (*say)(const char *line); /* called once, if the waits are long */
    int64_t waited_ms;
    bool said;
    struct lag lag; /* with its broker */
};

/* Waits until every broker shows the state. If the login may not read settings, one broker is
   enough. Returns 0, or ERR_KAFKA with the reason in admin->error, or ERR_NO_MEMORY. */
int topics_settle(struct settling *s, enum settle_on state) must_check;

#endif
