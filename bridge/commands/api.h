/* SPDX-License-Identifier: Apache-2.0 */
/* api: the admin API of a process. Its routes run commands inside the service and answer with their
   JSON (docs/json.md), or show the figures of this process. The listener is in bridge/admin/.

   The API has its own threads and Kafka handles, and shares no lock with a worker. A search reads
   at most API_READ_PER_S records a second while deliveries are due. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_API_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_API_H

#include "bridge/commands/command.h"
#include "bridge/service/monitor.h"

enum { API_READ_PER_S = 50000 };

struct api;

/* Returns 0 if the API of this configuration has no token, or its file can be used. Otherwise
   ERR_CONFIG with a sentence. */
int api_check(const struct config *config, struct error *error) must_check;

/* Starts the API at cli->config->admin. cli and monitor outlive it. Returns NULL with a sentence in
   error: the address or the file of the token cannot be used. */
struct api *api_start(const struct cli *cli, struct monitor *monitor, struct error *error);

/* Returns the port of the listener. */
int api_port(const struct api *api);

/* Uses the live keys of fresh from the next call on, as the workers do. All other keys stay as they
   were at the start. fresh is copied. Without memory, the old keys stay. */
void api_reload(struct api *api, const struct config *fresh);

/* Ends all jobs, and refuses new requests to Kafka, without waiting. */
void api_drain(struct api *api);

/* Stops the listener, waits for calls and jobs, and frees the API. Accepts NULL. */
void api_stop(struct api *api);

#endif
