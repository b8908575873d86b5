/* SPDX-License-Identifier: Apache-2.0 */
/* http: a listener that answers GET on a few paths, in a thread of its own (libmicrohttpd). There
   may be several, each with its own routes: nothing here is shared between them. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_HTTP_H
#define DELAYBRIDGE_BRIDGE_SERVICE_HTTP_H

#include "levels/err.h"

#include <stddef.h>
#include <stdio.h>

struct http;

/* One path. answer writes the body and returns the status; it runs in the listener's thread. */
struct http_route {
    const char *path; /* NULL: the end of the list */
    const char *type; /* of the body */
    int (*answer)(void *ctx, FILE *body);
};

/* listen: HOST:PORT or [ADDRESS]:PORT; port 0 takes a free one. routes and ctx outlive the
   listener. NULL with a sentence in error. */
struct http *http_start(const char *listen, const struct http_route *routes, void *ctx, char *error,
                        size_t error_size);

/* The port that it listens on. */
int http_port(const struct http *http);

/* No answer runs any more when it returns. */
void http_stop(struct http *http);

#endif
