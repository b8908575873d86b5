/* SPDX-License-Identifier: Apache-2.0 */
/* log: lines to stderr, logfmt on a terminal, JSON lines otherwise. Any thread may call it.

     log_info("lane assigned", F_INT("lane", lane), F_OFFSET("base", base));

   A message is constant text, so that an operator can search for it. The variables are fields, each
   with one value and its type. tests/log_messages.txt lists all messages and their fields.

   These names mean the same in all messages:
     error    the name of an error, for a query that groups by it
     reason   a sentence about it, of a client, a broker or this program
     hint     the right that the login lacks
     X_ms     a span; an instant is written as RFC 3339

   Never blocks: a line that stderr does not accept at once is dropped, and the next line has the
   number of dropped ones (dropped=). Never floods: 100 lines of one message pass in ten seconds,
   and a later line has the number of the others (withheld=). F_LIMIT gives a subject a limit that
   is separate from other subjects of the message. Lines of level debug are not limited. A field
   that does not fit into a line of 4 KiB is left out, and the line has cut=true. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_LOG_H
#define DELAYBRIDGE_BRIDGE_BASE_LOG_H

#include "levels/bytes.h"

#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_AUTO, LOG_LOGFMT, LOG_JSON };

enum log_type {
    LOG_FIELD_END,
    LOG_FIELD_TEXT,  /* cut at 1 KiB */
    LOG_FIELD_HINT,  /* a text that is left out if it is NULL */
    LOG_FIELD_BYTES, /* written by clients: text or hexadecimal digits, see quote_bytes */
    LOG_FIELD_INT,   /* also spans and offsets */
    LOG_FIELD_COUNT,
    LOG_FIELD_NONZERO, /* a count that is left out if it is 0 */
    LOG_FIELD_RATE,    /* a number with one decimal */
    LOG_FIELD_BOOL,
    LOG_FIELD_INSTANT, /* wall clock, ms; written as RFC 3339 */
    LOG_FIELD_PLACE,
    LOG_FIELD_RANGE,
    LOG_FIELD_LIMIT /* not written: the subject of the line, for its limit */
};

/* A record of a topic, written as TOPIC/LANE/OFFSET. */
struct log_place {
    const char *topic;
    int lane;
    int64_t offset;
};

/* The offsets of base up to the one before next, written as BASE-NEXT. */
struct log_range {
    int64_t base, next;
};

/* Borrows its texts for the call. */
struct log_field {
    const char *key;
    enum log_type type;
    union {
        const char *text; /* NULL: null */
        struct bytes bytes;
        int64_t integer;
        uint64_t count;
        double rate;
        bool truth;
        struct log_place place;
        struct log_range range;
    } value;
};

#define LOG_FIELD(name, kind, member, ...) \
    ((struct log_field){.key = (name), .type = LOG_FIELD_##kind, .value.member = __VA_ARGS__})

#define F_TEXT(name, text_)      LOG_FIELD(name, TEXT, text, (text_))
#define F_HINT(text_)            LOG_FIELD("hint", HINT, text, (text_))
#define F_BYTES(name, bytes_)    LOG_FIELD(name, BYTES, bytes, (bytes_))
#define F_INT(name, n)           LOG_FIELD(name, INT, integer, (n))
#define F_MS(name, span_ms)      LOG_FIELD(name, INT, integer, (span_ms))
#define F_OFFSET(name, offset_)  LOG_FIELD(name, INT, integer, (offset_))
#define F_COUNT(name, n)         LOG_FIELD(name, COUNT, count, (n))
#define F_NONZERO(name, n)       LOG_FIELD(name, NONZERO, count, (n))
#define F_RATE(name, per_s)      LOG_FIELD(name, RATE, rate, (per_s))
#define F_BOOL(name, truth_)     LOG_FIELD(name, BOOL, truth, (truth_))
#define F_INSTANT(name, wall_ms) LOG_FIELD(name, INSTANT, integer, (wall_ms))
#define F_PLACE(name, topic_, lane_, offset_) \
    LOG_FIELD(name, PLACE, place, {.topic = (topic_), .lane = (lane_), .offset = (offset_)})
#define F_RANGE(name, base_, next_) \
    LOG_FIELD(name, RANGE, range, {.base = (base_), .next = (next_)})
#define F_LIMIT(subject) LOG_FIELD(NULL, LIMIT, count, (subject)) /* see limit_key */
#define F_END            LOG_FIELD(NULL, END, integer, 0)

void log_init(enum log_level level, enum log_format format);
void log_set_level(enum log_level level);

/* Writes a line. fields ends with F_END. */
void log_line(enum log_level level, const char *message, const struct log_field *fields);

#define LOG_LINE(level, message, ...) \
    log_line((level), (message), (const struct log_field[]){__VA_ARGS__})
#define log_debug(...) LOG_LINE(LOG_DEBUG, __VA_ARGS__, F_END)
#define log_info(...)  LOG_LINE(LOG_INFO, __VA_ARGS__, F_END)
#define log_warn(...)  LOG_LINE(LOG_WARN, __VA_ARGS__, F_END)
#define log_error(...) LOG_LINE(LOG_ERROR, __VA_ARGS__, F_END)

#endif
