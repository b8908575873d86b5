/* SPDX-License-Identifier: Apache-2.0 */
/* err: errors caused by the environment, not by our own mistakes. A function returns 0 or one of
   these values, which are negative. */
#ifndef DELAYBRIDGE_LEVELS_ERR_H
#define DELAYBRIDGE_LEVELS_ERR_H

#define ERR_TABLE(X)                           \
    X(ERR_BAD_TIME, "not a time")              \
    X(ERR_RANGE, "out of range")               \
    X(ERR_FOREIGN, "not an envelope")          \
    X(ERR_DAMAGED, "damaged envelope")         \
    X(ERR_NEWER, "written by a newer version") \
    X(ERR_FULL, "full")                        \
    X(ERR_NO_MEMORY, "out of memory")          \
    X(ERR_CONFIG, "bad configuration")         \
    X(ERR_DATA, "bad data")                    \
    X(ERR_KAFKA, "Kafka unreachable")          \
    X(ERR_TOPICS, "topics missing or unsafe")

#define ERR_ENUM(id, text) id##_INDEX,
enum err_index { ERR_NONE_INDEX, ERR_TABLE(ERR_ENUM) };
#undef ERR_ENUM
#define ERR_ENUM(id, text) id = -id##_INDEX,
enum err { ERR_OK = 0, ERR_TABLE(ERR_ENUM) };
#undef ERR_ENUM

/* Returns one phrase without a full stop; "no error" for 0. */
const char *err_text(int err);

#define must_check __attribute__((warn_unused_result))

#endif
