/* SPDX-License-Identifier: Apache-2.0 */
/* draft: a request before it is sent, from flags or from a line of JSON. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_DRAFT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_DRAFT_H

#include "bridge/base/error.h"
#include "levels/record.h"
#include "levels/request.h"

enum { DRAFT_HEADERS_MAX = 128 };

/* Owns every byte. Starts zeroed. */
struct draft {
    struct bytes key, value;
    bool valued; /* a value was given, if only null */
    struct header headers[DRAFT_HEADERS_MAX];
    size_t headers_n;
};

void draft_deinit(struct draft *draft);

/* Set delay, at, target, key, id, expires-at or value; the bytes are copied. ERR_RANGE: there is no
   such field. */
int draft_set(struct draft *draft, const char *field, struct bytes value) must_check;

/* Add a business header; ERR_FULL: there are too many. */
int draft_header(struct draft *draft, struct bytes name, struct bytes value) must_check;

/* Read {"delay": "5m", "key": "k", "headers": {"a": "b"} or [["a", "b"]], "value": ...}: the same
   fields; a string, null or {"base64": "..."} each, at also as a number. ERR_DATA with a sentence
   in error. */
int draft_of_json(struct draft *draft, struct bytes line, struct error *error) must_check;

/* What the bridge would say of it, now. 0, or ERR_DATA with a sentence in error. */
int draft_judge(const struct draft *draft, const struct request_rules *rules, int64_t now_ms,
                struct error *error) must_check;

#endif
