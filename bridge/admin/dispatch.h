/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch: the way of a call to its route. Each check that fails answers with a problem, in this
   order:

     429  too many calls from this address (first), or too many writes (last)
     421  Host does not name this server
     404, 405  no such path, no such method
     403  a page of another site calls. It may only link to files of the binary
     503  the file of the token cannot be read: nothing is open then
     401  a token is configured, and the call presents none or another one
     403  no token is configured, and the route needs one: the problem names the key to set
     400  a parameter that the route does not know, or the body is no JSON object
     413, 415  the body is too large, or no JSON

   Writes are logged with the address of the client. Their rate is below the limit of log lines, so
   none is left out. Safe from any thread. */
#ifndef DELAYBRIDGE_BRIDGE_ADMIN_DISPATCH_H
#define DELAYBRIDGE_BRIDGE_ADMIN_DISPATCH_H

#include "bridge/admin/message.h"
#include "bridge/admin/quota.h"

#include <pthread.h>

enum admin_access {
    ACCESS_STATIC, /* a file of the binary: always open */
    ACCESS_OPEN,   /* open without a configured token */
    ACCESS_TOKEN   /* only with a token */
};

/* One route. The table ends with a NULL path. */
struct admin_route {
    const char *method; /* GET also answers HEAD */
    const char *path;   /* {id} stands for one part of the path */
    enum admin_access access;
    bool writes;         /* changes something: logged */
    bool has_body;       /* takes a JSON object */
    const char *params;  /* names of parameters, separated by spaces; NULL: none */
    const void *details; /* for the route */
    void (*answer)(void *ctx, const struct admin_route *route, const struct admin_request *request,
                   struct admin_answer *answer);
};

enum { DISPATCH_ADDRESSES = 64 };

/* The caller sets the first four members, and calls dispatch_init. */
struct dispatch {
    const struct admin_route *routes;
    void *ctx;
    const char *listen;     /* HOST:PORT */
    const char *token_path; /* NULL: no token */
    int64_t call_ms;        /* of server.c: for one call; 0: the usual time */

    uint64_t seed;         /* of the hash: no client can choose an address that shares a quota */
    pthread_mutex_t mutex; /* of the quotas */
    struct quota writes;
    struct quota calls[DISPATCH_ADDRESSES]; /* by a hash of the address */
};

void dispatch_init(struct dispatch *dispatch);
void dispatch_deinit(struct dispatch *dispatch);

/* The two halves of a call. dispatch_begin needs no body and makes all checks up to 400 for a
   parameter. It returns the route, or NULL after it has answered. dispatch_end checks the body, and
   calls the route. The caller frees answer->json and answer->allow. */
const struct admin_route *dispatch_begin(struct dispatch *dispatch, struct admin_request *request,
                                         struct admin_answer *answer);
void dispatch_end(struct dispatch *dispatch, const struct admin_route *route,
                  struct admin_request *request, struct admin_answer *answer);

/* Does both. */
void dispatch_answer(struct dispatch *dispatch, const struct admin_call *call,
                     struct admin_answer *answer);

#endif
