/* SPDX-License-Identifier: Apache-2.0 */
/* monitor: answers HTTP requests about the service, from before its start until after its stop:

     /metrics   all metrics, for Prometheus (metrics.h)
     /livez     200 while every worker finishes a turn each minute. Otherwise 503: restart the
                process. An outage of Kafka is no reason for 503
     /readyz    200 while every worker is a member of its group and knows its lanes, which may be
                none. Otherwise 503 and the reason: the service starts or stops, or Kafka is away
                for longer than the session

   All functions are safe from any thread between monitor_start and monitor_stop. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_MONITOR_H
#define DELAYBRIDGE_BRIDGE_SERVICE_MONITOR_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "bridge/service/metrics.h"
#include "bridge/service/service.h"

struct monitor;

/* Returns a monitor that listens on config->listen, or NULL with a sentence in error. Without
   config->listen it only serves the calls below. config must outlive the monitor. */
struct monitor *monitor_start(const struct config *config, struct error *error);

/* Watches this service from now on. service NULL: watches none, and /readyz answers with why
   ("draining"). The service may then be freed, and its last counters remain. */
void monitor_watch(struct monitor *monitor, struct service *service, const char *why);

/* The last SIGHUP changed the configuration, or did not. */
void monitor_reloaded(struct monitor *monitor, bool ok);

/* Calls read with the figures of now, and with the reason if the service is not ready (""
   otherwise). They are valid during the call, which must not call the monitor. */
void monitor_read(struct monitor *monitor,
                  void (*read)(void *ctx, const struct metrics *metrics, const char *why),
                  void *ctx);

/* Returns the answer of /livez. */
bool monitor_is_alive(struct monitor *monitor);

void monitor_stop(struct monitor *monitor);

#endif
