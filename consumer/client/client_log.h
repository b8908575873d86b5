/* SPDX-License-Identifier: Apache-2.0 */
/* client_log: messages and errors of librdkafka's handles, in the log of the program. Each client
   writes one line of a kind in ten seconds; suppressed= counts the lines that were dropped. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_LOG_H
#define DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_LOG_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

/* Callbacks for a conf; any thread may call them. Level error is for outages, so client_log logs
   that a connection has failed as a warning. */
void client_log(const rd_kafka_t *rk, int level, const char *facility, const char *text);
/* Does the same, but logs the failure of a broker at level debug. Use it together with
   client_log_error, which also gets this failure. */
void client_log_rest(const rd_kafka_t *rk, int level, const char *facility, const char *text);
/* Logs errors. It logs at level debug that a broker closed an established connection, since brokers
   close idle ones. */
void client_log_error(rd_kafka_t *rk, int err, const char *reason, void *opaque);

/* An outage begins when a client with an error callback reports that all its brokers are down. If
   it lasts for two seconds, the process writes one line, and another one at its end. A shorter
   outage is not logged. Any thread may call these functions. */

/* Returns when the outage began; 0: there is none. */
int64_t client_log_away_since_mono_ms(void);
/* Reports a request that was sent during the outage that began at since_mono_ms: whether a broker
   has answered it until now_mono_ms. An answer ends the outage, unless the request was sent in its
   first second. Does nothing if that outage is over. All times are of the monotonic clock. */
void client_log_asked(int64_t since_mono_ms, int64_t sent_mono_ms, bool answered,
                      int64_t now_mono_ms);
/* Sets how many lanes this process owns, a field of the message about an outage. */
void client_log_lanes(int lanes);

#endif
