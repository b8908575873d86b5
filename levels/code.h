/* SPDX-License-Identifier: Apache-2.0 */
/* code: why a record is in the dead-letter topic. */
#ifndef DELAYBRIDGE_LEVELS_CODE_H
#define DELAYBRIDGE_LEVELS_CODE_H

/* A request with several faults gets the first code of this table that applies. Users see the
   names: never rename or remove one. */
#define CODE_TABLE(X)                              \
    X(CODE_UNKNOWN_HEADER, "unknown_header")       \
    X(CODE_BAD_HEADER, "bad_header")               \
    X(CODE_BAD_OP, "bad_op")                       \
    X(CODE_BAD_ID, "bad_id")                       \
    X(CODE_NO_TIME, "no_time")                     \
    X(CODE_TWO_TIMES, "two_times")                 \
    X(CODE_BAD_TIME, "bad_time")                   \
    X(CODE_BAD_RETRY, "bad_retry")                 \
    X(CODE_TOO_FAR, "too_far")                     \
    X(CODE_EXPIRED, "expired")                     \
    X(CODE_NO_TARGET, "no_target")                 \
    X(CODE_TARGET_DENIED, "target_denied")         \
    X(CODE_RETRIES_EXHAUSTED, "retries_exhausted") \
    X(CODE_TOO_LARGE, "too_large")                 \
    X(CODE_TARGET_FAILED, "target_failed")         \
    X(CODE_NOT_OURS, "not_ours")                   \
    X(CODE_UNREADABLE, "unreadable")               \
    X(CODE_CANCELS_FULL, "cancels_full")

#define CODE_ENUM(id, name) id,
enum code { CODE_OK = 0, CODE_TABLE(CODE_ENUM) CODE_N };
#undef CODE_ENUM

/* Returns the value of the header dlb-error; "ok" for CODE_OK. */
const char *code_name(enum code code);

/* A refusal: the code, and one sentence that names the value and its fault. */
enum { REASON_MAX = 240 };
struct refusal {
    enum code code;
    char reason[REASON_MAX]; /* NUL-terminated UTF-8; bytes of the request are escaped */
};

#endif
