/* SPDX-License-Identifier: Apache-2.0 */
/* broker_limits: numeric settings of brokers that limit the bridge, such as
   socket.request.max.bytes. Brokers may differ, so each receives a request, and the smallest value
   counts. The request needs DescribeConfigs on the cluster, which many services do not grant. The
   caller must have a default for each setting. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_BROKER_LIMITS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_BROKER_LIMITS_H

#include "consumer/client/admin.h"

#include <stddef.h>
#include <stdint.h>

/* The caller sets name; broker_limits_ask sets the other members. */
struct broker_limit {
    const char *name;
    int64_t least; /* the smallest known value; 0 if none is known */
    bool known;    /* at least one broker returned it */
};

/* Requests the settings from every live broker in turn, each for admin->timeout_ms at most. Returns
   0, with "" in admin->error, or the reason of the last broker that did not return all settings.
   Returns ERR_KAFKA with the reason in admin->error if the list of brokers cannot be read. */
int broker_limits_ask(struct admin *admin, struct broker_limit *limits, size_t n) must_check;

/* Adds the value of one more broker. Returns false, and ignores it, if it is no decimal number. */
bool broker_limit_note(struct broker_limit *limit, const char *value);

#endif
