/* SPDX-License-Identifier: Apache-2.0 */
/* service: the workers together: topics checked, lanes shared out, figures added up. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_SERVICE_H
#define DELAYBRIDGE_BRIDGE_SERVICE_SERVICE_H

#include "bridge/config/config.h"
#include "bridge/core/stats.h"
#include "levels/err.h"

struct service;

enum { SERVICE_ERROR_MAX = 512 };

/* Check the topics (findings are logged) and start config->workers workers. The config outlives the
   service. Returns 0; ERR_KAFKA: not reachable now, try again; ERR_CONFIG: refused, with what to
   run. */
int service_start(const struct config *config, struct service **service,
                  char error[SERVICE_ERROR_MAX]) must_check;

/* Take what can change while running from fresh (targets, default target, max delay, attempts); the
   workers do so between two turns. fresh is the service's from now on. */
void service_reload(struct service *service, struct config *fresh);

/* Every worker's loop has come round within a minute. */
bool service_is_alive(const struct service *service);
/* Every worker knows its lanes and its group takes its heartbeats; else why says what is missing.
 */
bool service_is_ready(const struct service *service, char *why, size_t why_size);

int service_lanes(const struct service *service); /* partitions of the schedule topic */
/* Findings about topics when they were last looked at: those that would refuse a start, and those
   that make requests fail. */
int service_refusals(const struct service *service);
int service_faults(const struct service *service);
/* config_hash of what the workers took over last. */
uint32_t service_config_hash(const struct service *service);
const struct canary_stats *service_canary(const struct service *service); /* NULL: there is none */
/* Offsets of the schedule topic behind an open transaction of a producer; -1: not known. */
int64_t service_open_records(const struct service *service);

/* The figures of all workers. */
void service_stats(const struct service *service, struct stats *sum);

/* One line in the log: rates and lateness since the last one, what is held and owned. */
void service_heartbeat(struct service *service);

/* Look at the topics again while running; findings are logged. */
void service_recheck(struct service *service);

/* A worker ended by itself: the process must not go on without it. */
bool service_failed(const struct service *service);

/* Drain, leave the group and free. Returns how many records were still in flight when config->drain
   had passed. */
size_t service_stop(struct service *service);

#endif
