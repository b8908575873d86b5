/* SPDX-License-Identifier: Apache-2.0 */
/* start_check: whether a process may start with a configuration, as far as Kafka is concerned. A
   start and SIGHUP use the same check, so that SIGHUP refuses what a start refuses. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_START_CHECK_H
#define DELAYBRIDGE_BRIDGE_SERVICE_START_CHECK_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "consumer/admin/topics.h"
#include "levels/err.h"

#include <librdkafka/rdkafka.h>

enum { START_QUERY_MS = 5000 }; /* for the answer to one request */

/* Checks topics, rights and producers. After a refusal it checks again for three seconds. admin is
   borrowed. Returns 0, ERR_KAFKA if no broker answers, or ERR_TOPICS if there is a finding that
   refuses a start, with a sentence. findings begins zeroed; the caller frees it in any case. */
int start_check(const struct config *config, rd_kafka_t *admin, struct findings *findings,
                struct error *error) must_check;

/* Logs each finding. Missing topics share one line. */
void start_check_log(const struct findings *findings);

#endif
