/* SPDX-License-Identifier: Apache-2.0 */
/* mock: librdkafka's mock cluster in this process: real TCP on loopback, one broker, memory only.
   For the demonstration and for tests; kcat works against it too. It has no configs, ACLs or admin
   calls, and its first group join takes three seconds. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_MOCK_H
#define DELAYBRIDGE_CONSUMER_CLIENT_MOCK_H

#include "levels/err.h"

#include <stddef.h>

struct mock;

/* NULL with a sentence in error. */
struct mock *mock_start(char *error, size_t error_size);
void mock_stop(struct mock *mock);

/* host:port, valid until mock_stop. */
const char *mock_bootstrap(const struct mock *mock);

/* 0 or ERR_KAFKA. */
int mock_topic(struct mock *mock, const char *topic, int partitions) must_check;

/* Every answer comes so much later from now on. */
void mock_delay(struct mock *mock, int round_trip_ms);

#endif
