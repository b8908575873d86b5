/* SPDX-License-Identifier: Apache-2.0 */
/* draft: a request that is not sent yet, built from flags or from a line of JSON. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_DRAFT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_DRAFT_H

#include "bridge/base/error.h"
#include "levels/record.h"
#include "levels/request.h"

#include <jansson.h>

enum { DRAFT_HEADERS_MAX = 128 };

/* Owns every byte. Starts zeroed. */
struct draft {
    struct bytes key, value;
    bool valued; /* a value was given; it may be null */
    struct header headers[DRAFT_HEADERS_MAX];
    size_t headers_n;
};

void draft_deinit(struct draft *draft);

/* Sets delay, at, target, key, id, expires-at or value to a copy of the bytes. Returns ERR_RANGE
   for another field. */
int draft_set(struct draft *draft, const char *field, struct bytes value) must_check;

/* Adds a user header. Returns ERR_FULL if there are DRAFT_HEADERS_MAX already. */
int draft_header(struct draft *draft, struct bytes name, struct bytes value) must_check;

/* Reads the same fields from an object such as {"delay": "5m", "key": "k", "headers": {"a": "b"}}.
   Each is a string, null or {"base64": "..."}; at may be a number. headers may be a list of pairs,
   [["a", "b"]]. Returns 0, or ERR_DATA with a sentence in error. */
int draft_of_json(struct draft *draft, struct bytes line, struct error *error) must_check;
/* The two halves of draft_of_json. draft_parse returns NULL with a sentence on error. */
json_t *draft_parse(struct bytes line, struct error *error);
int draft_of_object(struct draft *draft, json_t *object, struct error *error) must_check;

/* Checks the request as the bridge would now. Returns 0, or ERR_DATA with a sentence in error. */
int draft_judge(const struct draft *draft, const struct request_rules *rules, int64_t now_ms,
                struct error *error) must_check;

#endif
