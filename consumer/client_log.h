/* SPDX-License-Identifier: Apache-2.0 */
/* client_log: what librdkafka's handles say of themselves, in the log of the program. A line of one
   kind from one client is written once in ten seconds, with suppressed= for how many were not. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_LOG_H
#define DELAYBRIDGE_CONSUMER_CLIENT_LOG_H

#include <librdkafka/rdkafka.h>

/* Callbacks for a conf, from any thread. */
void client_log(const rd_kafka_t *rk, int level, const char *facility, const char *text);
/* Together with client_log_error: the client reports a broker's failure to both, so here it is of
   level debug. */
void client_log_rest(const rd_kafka_t *rk, int level, const char *facility, const char *text);
/* A connection that a broker closed after it was up is of level debug: brokers close idle ones. */
void client_log_error(rd_kafka_t *rk, int err, const char *reason, void *opaque);

#endif
