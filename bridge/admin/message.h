/* SPDX-License-Identifier: Apache-2.0 */
/* message: a call of the admin API, and its answer. */
#ifndef DELAYBRIDGE_BRIDGE_ADMIN_MESSAGE_H
#define DELAYBRIDGE_BRIDGE_ADMIN_MESSAGE_H

#include "levels/bytes.h"

#include <jansson.h>
#include <stdbool.h>

enum {
    ADMIN_PARAMS_MAX = 16,
    ADMIN_ID_MAX = 32,
    ADMIN_BODY_MAX = 4 << 20,
    ADMIN_LOCATION_MAX = 64
};

/* A parameter of the query, decoded. */
struct admin_param {
    const char *name, *value; /* value: NULL without "=" */
};

/* A call as it was received. All pointers are borrowed and from a foreign client. */
struct admin_call {
    const char *method, *path; /* path: decoded, without the query */
    /* Headers; NULL: none. */
    const char *host, *origin, *authorization, *content_type, *fetch_site, *fetch_mode, *fetch_dest;
    struct admin_param params[ADMIN_PARAMS_MAX];
    int params_n;
    bool too_many_params;
    struct bytes body;
    bool body_too_large; /* body is not complete */
    const char *caller;  /* address and port of the client, for the log */
};

/* A call that has passed all checks. */
struct admin_request {
    const struct admin_call *call;
    char id[ADMIN_ID_MAX]; /* the part of the path for {id}, or "" */
    json_t *body;          /* an object; NULL if the route takes none */
};

/* Starts zeroed. */
struct admin_answer {
    int status;
    json_t *json;                      /* owned; NULL: file, or no body */
    struct bytes file;                 /* static memory */
    const char *type;                  /* of the body; NULL: application/json */
    bool gzip;                         /* the file is compressed */
    char location[ADMIN_LOCATION_MAX]; /* of a new job; "": none */
    const char *allow; /* methods of the path, with status 405; owned by the caller */
    int retry_after_s; /* 0: none */
    bool authenticate; /* the client must present a token */
};

/* Returns whether names, separated by single spaces, has this word. names may be NULL. */
bool admin_has_word(const char *names, const char *word);

/* Returns the value of a parameter of the query, or NULL. */
const char *admin_param(const struct admin_call *call, const char *name);

#endif
