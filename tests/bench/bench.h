/* SPDX-License-Identifier: Apache-2.0 */
/* bench: the tool behind ./dev bench: what loads a broker, the bare loop that the bridge is
   compared with, and what measures both from outside. Each part is a process of its own, takes
   options as
   --name value, prints one JSON object at its end, and exits 0 if all it was asked for was done. */
#ifndef DELAYBRIDGE_TESTS_BENCH_H
#define DELAYBRIDGE_TESTS_BENCH_H

#include <librdkafka/rdkafka.h>

#include <stdbool.h>
#include <stdint.h>

/* The value of --name; without it, otherwise. A number that is none ends the process. */
const char *option(const char *name, const char *otherwise);
int64_t option_int(const char *name, int64_t otherwise);

int64_t wall_us(void);
int64_t mono_us(void);

/* A handle with "name", "value", ..., NULL set, at --bootstrap; ends the process if it cannot. */
rd_kafka_t *client(rd_kafka_type_t type,
                   void (*reported)(rd_kafka_t *, const rd_kafka_message_t *, void *),
                   const char *const *settings);

/* All partitions of --topic (comma-separated), from their beginning or their end. */
rd_kafka_topic_partition_list_t *partitions_of(rd_kafka_t *rk, const char *topics, int64_t offset);

int bench_load(void);  /* write records: flat out or at a rate */
int bench_loop(void);  /* forward records as fast as the client can, and nothing else */
int bench_meter(void); /* how fast a topic grows, and what CPU processes take meanwhile */
int bench_read(void);  /* read a topic, and say how late its records were */

#endif
