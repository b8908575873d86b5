/* SPDX-License-Identifier: Apache-2.0 */
/* service: the workers together: topics checked, lanes shared out, figures added up. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_H
#define DELAYBRIDGE_BRIDGE_SERVICE_H

#include "bridge/config.h"
#include "bridge/stats.h"
#include "levels/err.h"

struct service;

enum { SERVICE_ERROR_MAX = 512 };

/* Check the topics (findings are logged) and start config->workers workers. The config outlives the
   service. Returns 0; ERR_KAFKA: not reachable now, try again; ERR_CONFIG: refused, with what to
   run. */
int service_start(const struct config *config, struct service **service,
                  char error[SERVICE_ERROR_MAX]) must_check;

/* The figures of all workers. */
void service_stats(const struct service *service, struct stats *sum);

/* One line in the log: rates and lateness since the last one, what is held and owned. */
void service_heartbeat(struct service *service);

/* Look at the topics again while running; findings are logged. */
void service_recheck(struct service *service);

/* A worker ended by itself: the process must not go on without it. */
bool service_failed(const struct service *service);

/* Drain, leave the group and free. */
void service_stop(struct service *service);

#endif
