/* SPDX-License-Identifier: Apache-2.0 */
/* client_log: what librdkafka's handles say of themselves, in the log of the program. A line of one
   kind from one client is written once in ten seconds, with suppressed= for how many were not. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_LOG_H
#define DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_LOG_H

#include <librdkafka/rdkafka.h>
#include <stdint.h>

/* Callbacks for a conf, from any thread. */
void client_log(const rd_kafka_t *rk, int level, const char *facility, const char *text);
/* Together with client_log_error: the client reports a broker's failure to both, so here it is of
   level debug. */
void client_log_rest(const rd_kafka_t *rk, int level, const char *facility, const char *text);
/* A connection that a broker closed after it was up is of level debug: brokers close idle ones. */
void client_log_error(rd_kafka_t *rk, int err, const char *reason, void *opaque);

/* An outage begins when a client with an error callback reports that all its brokers are down. All
   functions are for any thread. */

/* The monotonic time of its begin; 0: there is none. */
int64_t client_log_away_since_mono_ms(void);
/* A broker answered a request that was sent during the outage of that begin: ends it, and logs how
   long it lasted. Does nothing if that outage is over. */
void client_log_back(int64_t since_mono_ms);
/* How many lanes this process owns: a field of the message that an outage begins. */
void client_log_lanes(int lanes);

#endif
