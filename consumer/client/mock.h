/* SPDX-License-Identifier: Apache-2.0 */
/* mock: librdkafka's mock cluster in this process: one broker, TCP on loopback, data in memory. The
   demonstration and tests use it; kcat can connect to it. It has no configs, ACLs or admin
   requests, and its first group join takes three seconds. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_MOCK_H
#define DELAYBRIDGE_CONSUMER_CLIENT_MOCK_H

#include "bridge/base/error.h"

struct mock;

/* Starts the cluster. Returns NULL with a sentence in error. */
struct mock *mock_start(struct error *error);
void mock_stop(struct mock *mock);

/* Returns host:port, valid until mock_stop. */
const char *mock_bootstrap(const struct mock *mock);

/* Lets the first member of a group join without a wait. Does nothing with librdkafka 2.0.2. */
void mock_join_at_once(struct mock *mock);

/* Creates a topic. Returns 0 or ERR_KAFKA. */
int mock_topic(struct mock *mock, const char *topic, int partitions) must_check;

/* Delays every response by round_trip_ms from now on. */
void mock_delay(struct mock *mock, int round_trip_ms);

/* Answers the next n requests of this kind (an ApiKey) with an error code. n 0: no more of them. */
void mock_fail(struct mock *mock, int api, int code, int n);

#endif
