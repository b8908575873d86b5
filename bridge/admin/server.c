/* SPDX-License-Identifier: Apache-2.0 */
/* One libmicrohttpd daemon. It parses HTTP, and this file collects a call and writes its answer. */
#include "bridge/admin/server.h"

#include "bridge/base/clock.h"
#include "bridge/base/patience.h"
#include "bridge/service/listening.h"

#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 32,
    PER_ADDRESS_MAX = 16,
    IDLE_S = 15,
    CALL_MS = 20000,    /* for a whole call, from the end of the one before */
    RECEIVE_MS = 10000, /* from the headers of a call to the end of its body */
    HEADERS_MAX = 32768,
    STACK_BYTES = 1 << 20,
    CALLER_MAX = NI_MAXHOST + NI_MAXSERV + 4
};

/* Each directive has a line. */
static const char POLICY[] = "default-src 'none';"
                             "script-src 'self';"
                             "style-src 'self';"
                             "img-src 'self';"
                             "connect-src 'self';"
                             "base-uri 'none';"
                             "form-action 'none';"
                             "frame-ancestors 'none'";

struct server {
    struct dispatch *dispatch;
    struct MHD_Daemon *daemon;
    struct patience patience;
    int port;
};

/* A call that has passed all checks but those of its body, which is on its way. */
struct receiving {
    const struct admin_route *route;
    char id[ADMIN_ID_MAX];
    int64_t since_mono_ms;
    char *body; /* owned */
    size_t body_n, body_max;
    bool too_large;
};

static void free_receiving(struct receiving *r)
{
    free(r->body);
    free(r);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **seen,
                         enum MHD_RequestTerminationCode why)
{
    struct server *server = cls;
    (void)why;
    patience_enter(&server->patience, connection, PATIENCE_CALL);
    if (*seen != NULL)
        free_receiving(*seen);
    *seen = NULL;
}

/* Adds a part of the body. The rest of one that is too large is dropped. Returns false without
   memory. */
static bool receive(struct receiving *r, const char *part, size_t n)
{
    r->too_large |= n > ADMIN_BODY_MAX - r->body_n;
    if (r->too_large)
        return true;
    if (r->body_n + n > r->body_max) {
        size_t max = r->body_max * 2 > r->body_n + n ? r->body_max * 2 : r->body_n + n;
        char *more = realloc(r->body, max);
        if (more == NULL)
            return false;
        r->body = more;
        r->body_max = max;
    }
    memcpy(r->body + r->body_n, part, n);
    r->body_n += n;
    return true;
}

static enum MHD_Result on_param(void *cls, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    (void)kind;
    struct admin_call *call = cls;
    call->too_many_params = call->params_n == ADMIN_PARAMS_MAX;
    if (call->too_many_params)
        return MHD_NO;
    call->params[call->params_n++] = (struct admin_param){name, value};
    return MHD_YES;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static void name_caller(struct MHD_Connection *connection, char out[CALLER_MAX])
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *at = info == NULL ? NULL : info->client_addr;
    socklen_t n = at != NULL && at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                          : sizeof(struct sockaddr_in);
    if (at == NULL || getnameinfo(at, n, host, sizeof host, port, sizeof port,
                                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(out, CALLER_MAX, "unknown");
    else
        snprintf(out, CALLER_MAX, at->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static void add_headers(struct MHD_Response *response, const struct admin_answer *answer)
{
    static const char *const ALWAYS[][2] = {{"Cache-Control", "no-store"},
                                            {"Content-Security-Policy", POLICY},
                                            {"Cross-Origin-Opener-Policy", "same-origin"},
                                            {"Cross-Origin-Resource-Policy", "same-origin"},
                                            {"Referrer-Policy", "no-referrer"},
                                            {"X-Content-Type-Options", "nosniff"},
                                            {"X-Frame-Options", "DENY"}};
    char seconds[16];
    for (size_t i = 0; i < sizeof ALWAYS / sizeof *ALWAYS; i++)
        MHD_add_response_header(response, ALWAYS[i][0], ALWAYS[i][1]);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                            answer->type == NULL ? "application/json" : answer->type);
    if (answer->gzip)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    if (answer->allow != NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, answer->allow);
    if (answer->location[0] != '\0')
        MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, answer->location);
    if (answer->authenticate)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    snprintf(seconds, sizeof seconds, "%d", answer->retry_after_s);
    if (answer->retry_after_s > 0)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
}

static struct MHD_Response *response_of(const struct admin_answer *answer)
{
    if (answer->json == NULL)
        return MHD_create_response_from_buffer(answer->file.len, (void *)answer->file.data,
                                               MHD_RESPMEM_PERSISTENT);
    char *text = json_dumps(answer->json, JSON_COMPACT | JSON_ENCODE_ANY);
    if (text == NULL)
        return NULL;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        free(text); /* the response would own it */
    return response;
}

static enum MHD_Result respond(struct MHD_Connection *connection, struct admin_answer *answer)
{
    struct MHD_Response *response = response_of(answer);
    enum MHD_Result result = MHD_NO;
    if (response != NULL) {
        add_headers(response, answer);
        result = MHD_queue_response(connection, (unsigned)answer->status, response);
        MHD_destroy_response(response);
    }
    json_decref(answer->json);
    free((void *)answer->allow);
    return result;
}

static void read_headers(struct MHD_Connection *connection, struct admin_call *call)
{
    call->host = header(connection, MHD_HTTP_HEADER_HOST);
    call->origin = header(connection, MHD_HTTP_HEADER_ORIGIN);
    call->authorization = header(connection, MHD_HTTP_HEADER_AUTHORIZATION);
    call->content_type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
    call->fetch_site = header(connection, "Sec-Fetch-Site");
    call->fetch_mode = header(connection, "Sec-Fetch-Mode");
    call->fetch_dest = header(connection, "Sec-Fetch-Dest");
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, on_param, call);
}

/* Checks a call whose headers are complete, before its body is received. */
static enum MHD_Result begin(struct server *server, struct MHD_Connection *connection,
                             struct admin_request *request, void **seen)
{
    struct admin_answer answer;
    const struct admin_route *route = dispatch_begin(server->dispatch, request, &answer);
    if (route == NULL)
        return respond(connection, &answer);
    struct receiving *r = calloc(1, sizeof *r);
    *seen = r;
    if (r == NULL)
        return MHD_NO;
    r->route = route;
    memcpy(r->id, request->id, sizeof r->id);
    r->since_mono_ms = clock_mono_ms();
    return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **seen)
{
    (void)version;
    struct server *server = cls;
    struct receiving *r = *seen;
    if (r != NULL && *upload_size > 0) {
        bool passes =
            clock_mono_ms() - r->since_mono_ms < RECEIVE_MS && receive(r, upload, *upload_size);
        *upload_size = 0;
        return passes ? MHD_YES : MHD_NO;
    }
    char caller[CALLER_MAX];
    struct admin_call call = {.method = method, .path = url, .caller = caller};
    struct admin_request request = {.call = &call};
    struct admin_answer answer;
    name_caller(connection, caller);
    read_headers(connection, &call);
    if (r == NULL)
        return begin(server, connection, &request, seen);
    call.body = bytes_of(r->body, r->body_n);
    call.body_too_large = r->too_large;
    memcpy(request.id, r->id, sizeof request.id);
    patience_enter(&server->patience, connection, PATIENCE_ANSWER);
    dispatch_end(server->dispatch, r->route, &request, &answer);
    patience_enter(&server->patience, connection, PATIENCE_READ);
    return respond(connection, &answer);
}

static struct MHD_Daemon *start_daemon(struct server *server, int fd)
{
    return MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0, NULL,
        NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)PER_ADDRESS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HEADERS_MAX, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_NOTIFY_CONNECTION, patience_on_connection, &server->patience, MHD_OPTION_END);
}

static int start_threads(struct server *server, int fd)
{
    int64_t call_ms = server->dispatch->call_ms;
    if (patience_start(&server->patience, CONNECTIONS_MAX, call_ms > 0 ? call_ms : CALL_MS) != 0)
        return ERR_NO_MEMORY;
    server->daemon = start_daemon(server, fd);
    if (server->daemon != NULL)
        return 0;
    patience_stop(&server->patience);
    return ERR_CONFIG;
}

struct server *server_start(struct dispatch *dispatch, struct error *error)
{
    int fd = listening_open("admin", dispatch->listen, error);
    struct server *server = fd < 0 ? NULL : calloc(1, sizeof *server);
    if (fd < 0)
        return NULL;
    if (server != NULL) {
        server->dispatch = dispatch;
        server->port = listening_port(fd);
        if (start_threads(server, fd) == 0)
            return server;
    }
    (void)error_set(error, ERR_CONFIG, "admin: \"%s\": %s", dispatch->listen,
                    server == NULL ? "out of memory" : "out of memory, or too many threads");
    free(server);
    close(fd);
    return NULL;
}

int server_port(const struct server *server)
{
    return server->port;
}

void server_stop(struct server *server)
{
    MHD_stop_daemon(server->daemon);
    patience_stop(&server->patience);
    free(server);
}
