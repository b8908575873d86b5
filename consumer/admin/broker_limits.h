/* SPDX-License-Identifier: Apache-2.0 */
/* broker_limits: numeric settings of the brokers that bound what the bridge may do, such as
   socket.request.max.bytes. Each broker has its own value, so each is asked, and the smallest one
   counts. DescribeConfigs of a broker needs the right DescribeConfigs on the cluster, which many
   services do not give: the caller must have a default for a setting that is not known. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_BROKER_LIMITS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_BROKER_LIMITS_H

#include "consumer/client/admin.h"

#include <stddef.h>
#include <stdint.h>

/* The caller sets name; broker_limits_ask sets the rest. */
struct broker_limit {
    const char *name;
    int64_t least; /* the smallest value of those that are known; 0 if none is */
    bool known;    /* at least one broker told it */
};

/* Asks every live broker, one after the other, each for admin->timeout_ms at most.
   Returns 0, with the reason of the last broker that did not tell all of them in admin->error (""
   if every broker did); or ERR_KAFKA, with the reason there, if the list of brokers cannot be read.
 */
int broker_limits_ask(struct admin *admin, struct broker_limit *limits, size_t n) must_check;

/* Counts one more broker's value: a decimal number, else it is ignored and false is returned. */
bool broker_limit_note(struct broker_limit *limit, const char *value);

#endif
