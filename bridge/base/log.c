/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: built on the stack, written whole with one write(2) if stderr takes them at once. */
#include "bridge/base/log.h"

#include "bridge/base/clock.h"
#include "bridge/base/limit.h"
#include "levels/duration.h"
#include "levels/utf8.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A pipe that polls writable has room for a page: a longer line could block. */
enum { LINE_SIZE = 4096, FIELDS_SIZE = 2800, MESSAGE_SIZE = 700, TAIL_SIZE = 96 };

enum { PERIOD_MS = 10000, PERIOD_LINES = 100 };

struct line {
    char text[LINE_SIZE];
    size_t n;
    bool json;
    bool cut; /* something did not fit */
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

/* One character of s as it stands in a JSON string: its length goes to *used. */
static void escape(const unsigned char *s, char out[8], size_t *used)
{
    static const char from[] = "\"\\\n\r\t", to[] = "\"\\nrt";
    const char *simple = strchr(from, s[0]);
    uint32_t point;
    size_t n = utf8_take(bytes_of(s, strnlen((const char *)s, 4)), &point);
    *used = n > 0 ? n : 1;
    if (simple != NULL)
        snprintf(out, 8, "\\%c", to[simple - from]);
    else if (n == 0)
        snprintf(out, 8, "\\ufffd");
    else if (s[0] < 0x20 || s[0] == 0x7f)
        snprintf(out, 8, "\\u%04x", s[0]);
    else
        snprintf(out, 8, "%.*s", (int)n, (const char *)s);
}

const char *log_quote(const char *text, char *out, size_t size)
{
    if (size < 3) {
        if (size > 0)
            out[0] = '\0';
        return out;
    }
    const unsigned char *s = (const unsigned char *)text;
    size_t n = 0, used;
    out[n++] = '"';
    for (; *s != '\0'; s += used) {
        char one[8];
        escape(s, one, &used);
        size_t length = strlen(one);
        if (n + length + 2 > size)
            break;
        memcpy(out + n, one, length);
        n += length;
    }
    out[n++] = '"';
    out[n] = '\0';
    return out;
}

static bool is_plain_text(const unsigned char *s, size_t n)
{
    uint32_t point;
    for (size_t i = 0; i < n;) {
        size_t used = utf8_take(bytes_of(s + i, n - i), &point);
        if (used == 0 || s[i] < 0x20 || s[i] == 0x7f)
            return false;
        i += used;
    }
    return true;
}

/* The last character may have lost its end when the bytes were cut. */
static size_t whole_characters(const unsigned char *s, size_t n)
{
    size_t back = 1;
    uint32_t point;
    while (back < 4 && back < n && (s[n - back] & 0xc0) == 0x80)
        back++;
    return utf8_take(bytes_of(s + n - back, back), &point) == back ? n : n - back;
}

const char *log_quote_bytes(struct bytes bytes, char out[LOG_BYTES_TEXT_MAX])
{
    unsigned char text[LOG_BYTES_MAX + 4] = {0};
    bool cut = bytes.len > LOG_BYTES_MAX;
    size_t n = cut ? LOG_BYTES_MAX : bytes.len;
    if (bytes_is_null(bytes)) {
        strcpy(out, "null");
        return out;
    }
    memcpy(text, bytes.data, n);
    size_t whole = cut ? whole_characters(text, n) : n;
    if (is_plain_text(text, whole)) {
        strcpy((char *)text + whole, cut ? "..." : "");
        return log_quote((char *)text, out, LOG_BYTES_TEXT_MAX);
    }
    char *at = out + sprintf(out, "0x");
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%02x", text[i]);
    strcpy(at, cut ? "..." : "");
    return out;
}

/* All of it or nothing. */
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

static bool is_number(const char *s)
{
    s += *s == '-';
    if (*s == '0' && s[1] >= '0' && s[1] <= '9')
        return false;
    size_t n = strspn(s, "0123456789");
    if (n == 0)
        return false;
    s += n;
    if (*s != '.')
        return *s == '\0';
    n = strspn(s + 1, "0123456789");
    return n > 0 && s[1 + n] == '\0';
}

/* One member; value is as it stands in logfmt. */
static void line_field(struct line *line, const char *key, const char *value)
{
    char quoted[FIELDS_SIZE];
    if (!line->json)
        line_add(line, " %s=%s", key, value);
    else if (value[0] == '"' || is_number(value))
        line_add(line, ",\"%s\":%s", key, value);
    else
        line_add(line, ",\"%s\":%s", key, log_quote(value, quoted, sizeof quoted));
}

/* The end of the value that begins at s; NULL if its closing quote is missing. */
static char *value_end(char *s)
{
    if (*s != '"')
        return s + strcspn(s, " ");
    for (s++; *s != '"'; s++) {
        if (*s == '\\' && s[1] != '\0')
            s++;
        if (*s == '\0')
            return NULL;
    }
    return s + 1;
}

/* KEY=VALUE KEY=VALUE: each becomes a member; what is not of this form is left out. */
static void line_fields(struct line *line, char *fields)
{
    for (char *s = fields; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20)
            *s = '?';
    for (char *s = fields + strspn(fields, " "); *s != '\0'; s += strspn(s, " ")) {
        size_t key_n = strcspn(s, "= \"");
        if (s[key_n] != '=') {
            line->cut = true;
            return;
        }
        char *key = s, *value = s + key_n + 1, *end = value_end(value);
        if (end == NULL) {
            line->cut = true;
            return;
        }
        bool last = *end == '\0';
        key[key_n] = '\0';
        *end = '\0';
        line_field(line, key, value);
        s = last ? end : end + 1;
    }
}

static void line_begin(struct line *line, enum log_level level, const char *message)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    char at[INSTANT_TEXT_MAX], quoted[MESSAGE_SIZE];
    instant_format((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000, at);
    log_quote(message, quoted, sizeof quoted);
    line_add(line,
             line->json ? "{\"ts\":\"%s\",\"level\":\"%s\",\"msg\":%s" : "ts=%s level=%s msg=%s",
             at, LEVEL_NAMES[level], quoted);
}

/* The room that line_add left free is enough for this. */
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

/* What was asked for by log.level: debug is not limited. */
static bool may_pass(enum log_level level, const char *message, uint64_t *withheld)
{
    if (level == LOG_DEBUG)
        return true;
    uint64_t key = limit_key(LIMIT_KEY, bytes_text(message));
    pthread_mutex_lock(&log_turn);
    bool pass = limit_pass(&log_limit, key, clock_mono_ms(), withheld);
    pthread_mutex_unlock(&log_turn);
    return pass;
}

void log_line(enum log_level level, const char *message, const char *fields, ...)
{
    uint64_t withheld = 0;
    if ((int)level < atomic_load(&log_least) || !may_pass(level, message, &withheld))
        return;
    int shape = atomic_load(&log_shape);
    struct line line = {.json = shape == LOG_AUTO ? !isatty(STDERR_FILENO) : shape == LOG_JSON};
    char text[FIELDS_SIZE];
    va_list args;
    va_start(args, fields);
    int n = vsnprintf(text, sizeof text, fields, args);
    va_end(args);
    line_begin(&line, level, message);
    line.cut |= n < 0 || (size_t)n >= sizeof text;
    line_fields(&line, n < 0 ? (char[]){""} : text);
    line_write(&line, withheld);
}
