/* SPDX-License-Identifier: Apache-2.0 */
/* service: the workers of this process. Checks the topics, starts and stops the workers, and adds
   up their figures. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_SERVICE_H
#define DELAYBRIDGE_BRIDGE_SERVICE_SERVICE_H

#include "bridge/base/clock.h"
#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "bridge/core/stats.h"
#include "bridge/service/metrics.h"
#include "levels/err.h"

struct service;

/* Checks the topics, logs the findings and starts config->workers workers. The config outlives the
   service, and so does the clock. clock NULL: the system's. Returns 0, or an error with a sentence:
     ERR_KAFKA       Kafka is unreachable; try again
     ERR_TOPICS      topics are missing or unsafe, or a right is missing; the sentence names the
                     command
     ERR_CONFIG      the configuration is wrong, or the login is refused
     ERR_NO_MEMORY */
int service_start(const struct config *config, const struct clock *clock, struct service **service,
                  struct error *error) must_check;

/* Checks whether service_start would accept fresh, and logs the findings. Returns 0, or the error
   of service_start with its sentence: ERR_KAFKA if no broker answers for five seconds. Workers
   continue meanwhile, in their own threads. */
int service_check(struct service *service, const struct config *fresh,
                  struct error *error) must_check;

/* Applies the keys of fresh that SIGHUP changes (.live in bridge/config/table.c). The caller
   applies log.level. Waits for ten seconds at most until every worker has applied them between two
   turns. The service owns fresh afterwards. */
void service_reload(struct service *service, struct config *fresh);

/* Returns whether each worker has finished a turn within the last minute. */
bool service_is_alive(const struct service *service);
/* Returns whether each worker is a member of the group and has its assignment. If not, why has the
   reason. */
bool service_is_ready(const struct service *service, char *why, size_t why_size);

int service_lanes(const struct service *service); /* partitions of the schedule topic */
/* The number of findings of the last check of topics: of those that would refuse a start, and of
   those that make requests fail. */
int service_refusals(const struct service *service);
int service_faults(const struct service *service);
/* Returns the config_hash of the configuration that the workers have applied. */
uint32_t service_config_hash(const struct service *service);
const struct canary_stats *service_canary(const struct service *service); /* NULL: no canary */
/* Returns the facts about the schedule topic that brokers reported last. */
struct watched service_watched(const struct service *service);

/* Adds up the figures of all workers. */
void service_stats(const struct service *service, struct stats *sum);

/* Logs one line: rates and lateness since the last one, buffered records and owned lanes. */
void service_heartbeat(struct service *service);

/* Checks the topics again and logs the findings. */
void service_recheck(struct service *service);

/* Returns whether a worker has ended by itself. The process must exit then. */
bool service_failed(const struct service *service);
/* Returns a file descriptor that is readable from that moment on. It belongs to the service. */
int service_failure_fd(const struct service *service);

/* Drains the workers, leaves the group and frees the service. Returns the number of records that
   were in flight when config->drain_ms had passed. */
size_t service_stop(struct service *service);

#endif
