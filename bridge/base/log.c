/* SPDX-License-Identifier: Apache-2.0 */
/* Builds each line on the stack and writes it whole with one write(2) if stderr accepts it at once.
 */
#include "bridge/base/log.h"

#include "bridge/base/clock.h"
#include "bridge/base/limit.h"
#include "bridge/base/quote.h"
#include "levels/instant.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A pipe that polls writable has room for a page: a longer line could block. */
enum { LINE_SIZE = 4096, TEXT_SIZE = 1024, MESSAGE_SIZE = 700, TAIL_SIZE = 96 };

enum { PERIOD_MS = 10000, PERIOD_LINES = 100 };

struct line {
    char text[LINE_SIZE];
    size_t n;
    bool json;
    bool cut; /* a field did not fit */
};

static atomic_int log_least = LOG_INFO;
static atomic_int log_shape = LOG_AUTO;
static atomic_ullong log_dropped;
static pthread_mutex_t log_turn = PTHREAD_MUTEX_INITIALIZER;         /* between poll and write */
static struct limit log_limit = LIMIT_INIT(PERIOD_MS, PERIOD_LINES); /* guarded by log_turn */

static const char *const LEVEL_NAMES[] = {"debug", "info", "warn", "error"};

void log_set_level(enum log_level level)
{
    atomic_store(&log_least, level);
}

void log_init(enum log_level level, enum log_format format)
{
    log_set_level(level);
    atomic_store(&log_shape, format);
}

/* Adds all of a text or none of it. */
__attribute__((format(printf, 2, 3))) static void line_add(struct line *line, const char *format,
                                                           ...)
{
    size_t room = sizeof line->text - TAIL_SIZE - line->n;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line->text + line->n, room, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= room)
        line->cut = true;
    else
        line->n += (size_t)n;
}

/* Adds a field. The value is as it stands in JSON. */
static void line_value(struct line *line, const char *key, const char *value)
{
    line_add(line, line->json ? ",\"%s\":%s" : " %s=%s", key, value);
}

/* Returns whether logfmt needs no quotes around a text. */
static bool is_word(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-/:,+@*#";
    return text[0] != '\0' && text[strspn(text, letters)] == '\0';
}

static void line_text(struct line *line, const char *key, const char *text)
{
    char quoted[TEXT_SIZE];
    if (text == NULL)
        line_value(line, key, "null");
    else if (!line->json && strlen(text) < sizeof quoted && is_word(text))
        line_value(line, key, text);
    else
        line_value(line, key, quote_text(text, quoted, sizeof quoted));
}

__attribute__((format(printf, 3, 4))) static void line_number(struct line *line, const char *key,
                                                              const char *format, ...)
{
    char text[64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    line_value(line, key, text);
}

static void line_place(struct line *line, const char *key, const struct log_place *place)
{
    char text[TEXT_SIZE];
    snprintf(text, sizeof text, "%s/%d/%" PRId64, place->topic, place->lane, place->offset);
    line_text(line, key, text);
}

static void line_range(struct line *line, const char *key, const struct log_range *range)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRId64 "-%" PRId64, range->base, range->next);
    line_text(line, key, text);
}

static void line_field(struct line *line, const struct log_field *field)
{
    char quoted[QUOTE_BYTES_TEXT_MAX], instant[INSTANT_TEXT_MAX];
    switch (field->type) {
    case LOG_FIELD_TEXT:
        line_text(line, field->key, field->value.text);
        break;
    case LOG_FIELD_HINT:
        if (field->value.text != NULL)
            line_text(line, field->key, field->value.text);
        break;
    case LOG_FIELD_BYTES:
        line_value(line, field->key, quote_bytes(field->value.bytes, quoted));
        break;
    case LOG_FIELD_INT:
        line_number(line, field->key, "%" PRId64, field->value.integer);
        break;
    case LOG_FIELD_COUNT:
        line_number(line, field->key, "%" PRIu64, field->value.count);
        break;
    case LOG_FIELD_NONZERO:
        if (field->value.count > 0)
            line_number(line, field->key, "%" PRIu64, field->value.count);
        break;
    case LOG_FIELD_RATE:
        line_number(line, field->key, "%.1f", field->value.rate);
        break;
    case LOG_FIELD_BOOL:
        line_value(line, field->key, field->value.truth ? "true" : "false");
        break;
    case LOG_FIELD_INSTANT:
        line_text(line, field->key, instant_format(field->value.integer, instant));
        break;
    case LOG_FIELD_PLACE:
        line_place(line, field->key, &field->value.place);
        break;
    case LOG_FIELD_RANGE:
        line_range(line, field->key, &field->value.range);
        break;
    case LOG_FIELD_LIMIT:
    case LOG_FIELD_END:
        break;
    }
}

static void line_begin(struct line *line, enum log_level level, const char *message)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    char at[INSTANT_TEXT_MAX], quoted[MESSAGE_SIZE];
    instant_format((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000, at);
    quote_text(message, quoted, sizeof quoted);
    line_add(line,
             line->json ? "{\"ts\":\"%s\",\"level\":\"%s\",\"msg\":%s" : "ts=%s level=%s msg=%s",
             at, LEVEL_NAMES[level], quoted);
}

/* Fits into the room that line_add left free. */
static void line_end(struct line *line, unsigned long long dropped, unsigned long long withheld)
{
    char *tail = line->text + line->n, *end = line->text + sizeof line->text;
    if (line->cut)
        tail += snprintf(tail, (size_t)(end - tail), line->json ? ",\"cut\":true" : " cut=true");
    if (dropped > 0)
        tail += snprintf(tail, (size_t)(end - tail),
                         line->json ? ",\"dropped\":%llu" : " dropped=%llu", dropped);
    if (withheld > 0)
        tail += snprintf(tail, (size_t)(end - tail),
                         line->json ? ",\"withheld\":%llu" : " withheld=%llu", withheld);
    tail += snprintf(tail, (size_t)(end - tail), line->json ? "}\n" : "\n");
    line->n = (size_t)(tail - line->text);
}

static void line_write(struct line *line, uint64_t withheld)
{
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    pthread_mutex_lock(&log_turn);
    unsigned long long dropped = atomic_load(&log_dropped);
    line_end(line, dropped, withheld);
    if (poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT) != 0 &&
        write(STDERR_FILENO, line->text, line->n) >= 0)
        atomic_fetch_sub(&log_dropped, dropped);
    else
        atomic_fetch_add(&log_dropped, 1);
    pthread_mutex_unlock(&log_turn);
}

/* Returns the kind of a line: its message, and its subject if it has one. Subjects for which the
   limit has no room share the slot of the message. */
static struct limit_kind kind_of(const char *message, const struct log_field *fields)
{
    uint64_t key = limit_key(LIMIT_KEY, bytes_text(message));
    struct limit_kind kind = {.key = key, .group = key};
    for (; fields->type != LOG_FIELD_END; fields++) {
        if (fields->type != LOG_FIELD_LIMIT)
            continue;
        kind.key = limit_key(key, bytes_of(&fields->value.count, sizeof fields->value.count));
    }
    return kind;
}

/* Returns whether the line may be written. Lines of level debug are not limited: an operator has
   enabled them to see all of them. */
static bool may_pass(enum log_level level, const char *message, const struct log_field *fields,
                     uint64_t *withheld)
{
    if (level == LOG_DEBUG)
        return true;
    struct limit_kind kind = kind_of(message, fields);
    pthread_mutex_lock(&log_turn);
    bool pass = limit_pass(&log_limit, kind, clock_mono_ms(), withheld);
    pthread_mutex_unlock(&log_turn);
    return pass;
}

void log_line(enum log_level level, const char *message, const struct log_field *fields)
{
    uint64_t withheld = 0;
    if ((int)level < atomic_load(&log_least) || !may_pass(level, message, fields, &withheld))
        return;
    int shape = atomic_load(&log_shape);
    struct line line = {.json = shape == LOG_AUTO ? !isatty(STDERR_FILENO) : shape == LOG_JSON};
    line_begin(&line, level, message);
    for (const struct log_field *field = fields; field->type != LOG_FIELD_END; field++)
        line_field(&line, field);
    line_write(&line, withheld);
}
