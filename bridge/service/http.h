/* SPDX-License-Identifier: Apache-2.0 */
/* http: a listener that answers GET requests for a few paths in a separate thread (libmicrohttpd).
   Several listeners share nothing. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_HTTP_H
#define DELAYBRIDGE_BRIDGE_SERVICE_HTTP_H

#include "bridge/base/error.h"

#include "levels/err.h"

#include <stddef.h>
#include <stdio.h>

struct http;

/* One path. The thread of the listener calls answer, which writes the body and returns the status.
 */
struct http_route {
    const char *path; /* NULL: the end of the list */
    const char *type; /* of the body */
    int (*answer)(void *ctx, FILE *body);
};

/* Listens at HOST:PORT or [ADDRESS]:PORT; port 0 chooses a free one. routes and ctx outlive the
   listener. Returns NULL with a sentence in error on failure. */
struct http *http_start(const char *listen, const struct http_route *routes, void *ctx,
                        struct error *error);

/* Returns the port of the listener. */
int http_port(const struct http *http);

/* Stops the listener and frees it. Waits until no answer runs. */
void http_stop(struct http *http);

#endif
