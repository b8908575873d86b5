/* SPDX-License-Identifier: Apache-2.0 */
/* topics_settle: waits until every broker shows the changes of topics_apply. Brokers learn of a
   change one after the other, and the next command may depend on it. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_SETTLE_H
#define DELAYBRIDGE_CONSUMER_ADMIN_TOPICS_SETTLE_H

#include "consumer/admin/topics_survey.h"

/* The state to wait for. */
enum settle_on {
    SETTLE_ON_CREATION, /* all topics exist */
    SETTLE_ON_RULES     /* they also have their partitions, and settings that follow the rules */
};

/* Returns whether a survey shows the state. A setting that could not be read counts as right. */
bool topics_are_settled(const struct survey *survey, const struct config *config,
                        enum settle_on state);

/* Returns whether an existing topic has fewer partitions than lanes. */
bool topic_is_short(const struct survey *survey, const struct topic_seen *topic);

/* Waits until every broker shows the state, for a minute at most. Replaces *survey by the last one.
   If its settings could not be read, one broker is enough. Returns 0, or ERR_KAFKA with the reason
   in admin->error, or ERR_NO_MEMORY. */
int topics_settle(struct admin *admin, const struct config *config, struct survey *survey,
                  enum settle_on state) must_check;

#endif
