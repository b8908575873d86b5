/* SPDX-License-Identifier: Apache-2.0 */
/* One libmicrohttpd daemon. */
#include "bridge/service/http.h"

#include "bridge/base/patience.h"
#include "bridge/service/listening.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 64, IDLE_S = 15, CALL_MS = 20000 /* for a call and its answer */ };

struct http {
    const struct http_route *routes;
    void *ctx;
    struct MHD_Daemon *daemon;
    struct patience patience;
    int port;
};

static enum MHD_Result respond(struct MHD_Connection *connection, int status, const char *type,
                               struct MHD_Response *response)
{
    if (response == NULL)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result;
}

/* Writes the body of a 404: the known paths. */
static int list_routes(const struct http *http, FILE *body)
{
    for (const struct http_route *route = http->routes; route->path != NULL; route++)
        fprintf(body, "%s\n", route->path);
    return MHD_HTTP_NOT_FOUND;
}

static const struct http_route *find_route(const struct http *http, const char *path)
{
    for (const struct http_route *route = http->routes; route->path != NULL; route++)
        if (strcmp(route->path, path) == 0)
            return route;
    return NULL;
}

static enum MHD_Result answer(struct MHD_Connection *connection, const struct http *http,
                              const struct http_route *route)
{
    char *text = NULL;
    size_t size = 0;
    FILE *body = open_memstream(&text, &size);
    if (body == NULL)
        return MHD_NO;
    int status = route != NULL ? route->answer(http->ctx, body) : list_routes(http, body);
    if (fclose(body) != 0) {
        free(text);
        return MHD_NO;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        free(text); /* the response would own it */
    return respond(connection, status, route != NULL ? route->type : "text/plain; charset=utf-8",
                   response);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **seen)
{
    (void)version, (void)upload, (void)seen;
    const struct http *http = cls;
    static char none[] = "only GET and HEAD are answered here\n";
    if (*upload_size > 0) { /* drop the body of the request */
        *upload_size = 0;
        return MHD_YES;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0)
        return answer(connection, http, find_route(http, url));
    return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8",
                   MHD_create_response_from_buffer(sizeof none - 1, none, MHD_RESPMEM_PERSISTENT));
}

/* One thread answers all. Each connection has one call: libmicrohttpd closes it after an answer
   that on_request gives at its first chance. */
static int start_threads(struct http *http, int fd)
{
    if (patience_start(&http->patience, CONNECTIONS_MAX, CALL_MS) != 0)
        return ERR_NO_MEMORY;
    http->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL, on_request, http,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_NOTIFY_CONNECTION,
        patience_on_connection, &http->patience, MHD_OPTION_END);
    if (http->daemon != NULL)
        return 0;
    patience_stop(&http->patience);
    return ERR_CONFIG;
}

struct http *http_start(const char *listen, const struct http_route *routes, void *ctx,
                        struct error *error)
{
    int fd = listening_open("listen", listen, error);
    struct http *http = fd < 0 ? NULL : calloc(1, sizeof *http);
    if (http == NULL) {
        if (fd >= 0) {
            (void)error_set(error, ERR_CONFIG, "listen: \"%s\": out of memory", listen);
            close(fd);
        }
        return NULL;
    }
    *http = (struct http){.routes = routes, .ctx = ctx, .port = listening_port(fd)};
    if (start_threads(http, fd) == 0)
        return http;
    (void)error_set(error, ERR_CONFIG, "listen: \"%s\": out of memory, or too many threads",
                    listen);
    close(fd);
    free(http);
    return NULL;
}

int http_port(const struct http *http)
{
    return http->port;
}

void http_stop(struct http *http)
{
    MHD_stop_daemon(http->daemon);
    patience_stop(&http->patience);
    free(http);
}
