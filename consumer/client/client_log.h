/* SPDX-License-Identifier: Apache-2.0 */
/* client_log: messages and errors of librdkafka's handles, in the log of the program. Each client
   writes one line of a kind in ten seconds; suppressed= counts the lines that were dropped. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_LOG_H
#define DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_LOG_H

#include <librdkafka/rdkafka.h>
#include <stdint.h>

/* Callbacks for a conf; any thread may call them. */
void client_log(const rd_kafka_t *rk, int level, const char *facility, const char *text);
/* Does the same, but logs the failure of a broker at level debug. Use it together with
   client_log_error, which also gets this failure. */
void client_log_rest(const rd_kafka_t *rk, int level, const char *facility, const char *text);
/* Logs errors. It logs at level debug that a broker closed an established connection, since brokers
   close idle ones. */
void client_log_error(rd_kafka_t *rk, int err, const char *reason, void *opaque);

/* An outage begins when a client with an error callback reports that all its brokers are down. Any
   thread may call these functions. */

/* Returns when the outage began; 0: there is none. */
int64_t client_log_away_since_mono_ms(void);
/* Ends the outage that began at since_mono_ms, and logs its duration. Call it when a broker has
   answered a request sent during that outage. Does nothing if that outage is over. */
void client_log_back(int64_t since_mono_ms);
/* Sets how many lanes this process owns, a field of the message at the beginning of an outage. */
void client_log_lanes(int lanes);

#endif
