/* SPDX-License-Identifier: Apache-2.0 */
/* monitor: whether the service lives and is ready, and what it counted, for whoever asks by HTTP:

     /metrics   as Prometheus reads them (metrics.h)
     /livez     200 while every worker's loop comes round: nothing about Kafka, so a restart helps
     /readyz    200 while every worker knows its lanes, be it none, and is a member of its group;
   503 with the reason before that, while Kafka is away for longer than the session, and from the
   moment of a stop

   It answers from before the service starts until after it has stopped. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_MONITOR_H
#define DELAYBRIDGE_BRIDGE_SERVICE_MONITOR_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "bridge/service/service.h"

struct monitor;

/* The config outlives the monitor. NULL with a sentence in error: its address cannot be had. With
   no config->listen it only answers the calls below. */
struct monitor *monitor_start(const struct config *config, struct error *error);

/* What is watched from now on. NULL: nothing any more, why says so ("draining"); the service may
   then be freed, and its last figures stay. */
void monitor_watch(struct monitor *monitor, struct service *service, const char *why);

/* As /livez says. */
bool monitor_is_alive(struct monitor *monitor);

void monitor_stop(struct monitor *monitor);

#endif
