/* SPDX-License-Identifier: Apache-2.0 */
/* bench: the tool behind ./dev bench. It contains the generator of load, the bare loop that the
   bridge is compared with, and the meters of both. Each part is a separate process. It takes
   options as --name value, prints one JSON object at its end, and exits 0 if it has done all its
   work. */
#ifndef DELAYBRIDGE_TESTS_BENCH_H
#define DELAYBRIDGE_TESTS_BENCH_H

#include <librdkafka/rdkafka.h>

#include <stdbool.h>
#include <stdint.h>

/* Return the value of --name, or else otherwise. An invalid number ends the process. */
const char *option(const char *name, const char *otherwise);
int64_t option_int(const char *name, int64_t otherwise);

int64_t wall_us(void);
int64_t mono_us(void);

/* Returns a handle for --bootstrap with the properties "name", "value", ..., NULL. Ends the process
   on an error. */
rd_kafka_t *client(rd_kafka_type_t type,
                   void (*reported)(rd_kafka_t *, const rd_kafka_message_t *, void *),
                   const char *const *settings);

/* Lists all partitions of --topic (comma-separated), from their beginning or their end. */
rd_kafka_topic_partition_list_t *partitions_of(rd_kafka_t *rk, const char *topics, int64_t offset);

int bench_load(void);  /* write records, at full speed or at a rate */
int bench_loop(void);  /* forward records as fast as the client can */
int bench_meter(void); /* measure the growth of a topic and the CPU of processes */
int bench_read(void);  /* read a topic and measure the lateness of its records */

#endif
