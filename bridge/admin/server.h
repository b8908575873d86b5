/* SPDX-License-Identifier: Apache-2.0 */
/* server: the listener of the admin API (libmicrohttpd). Each connection has a thread, so a call
   may wait for Kafka without delaying another one, and none delays a worker. Connections, bytes and
   time of a call are limited. Each answer forbids caches, frames and content of other sites. */
#ifndef DELAYBRIDGE_BRIDGE_ADMIN_SERVER_H
#define DELAYBRIDGE_BRIDGE_ADMIN_SERVER_H

#include "bridge/admin/dispatch.h"
#include "bridge/base/error.h"

struct server;

/* Listens at dispatch->listen. dispatch outlives the server. Returns NULL with a sentence in error
   on failure. */
struct server *server_start(struct dispatch *dispatch, struct error *error);

/* Returns the port of the listener. */
int server_port(const struct server *server);

/* Stops the listener and frees it. Waits until no call runs. */
void server_stop(struct server *server);

#endif
