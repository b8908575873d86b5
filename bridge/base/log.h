/* SPDX-License-Identifier: Apache-2.0 */
/* log: lines to stderr, logfmt on a terminal, JSON lines otherwise. Safe from any thread. Never
   blocks: a line that stderr does not take at once is dropped and counted, and the count is in the
   next line (dropped=). Never floods: of one message 100 lines pass in ten seconds, all others are
   counted, and the next one says how many (withheld=). Lines of level debug are not limited. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_LOG_H
#define DELAYBRIDGE_BRIDGE_BASE_LOG_H

#include "levels/bytes.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_AUTO, LOG_LOGFMT, LOG_JSON };

void log_init(enum log_level level, enum log_format format);
void log_set_level(enum log_level level);

/* log_line(LOG_INFO, "lane gained", "lane=%d base=%lld", lane, base): the message, then fields as
   KEY=VALUE separated by spaces; a value with spaces is quoted by the caller with %s of log_quote.
 */
__attribute__((format(printf, 3, 4))) void log_line(enum log_level level, const char *message,
                                                    const char *fields, ...);

/* text with quotes, escaped, cut to size. Returns out. */
const char *log_quote(const char *text, char *out, size_t size);

/* The same of bytes that anybody may have written: at most 64 of them, quoted if they are text,
   else as 0x and hexadecimal digits; what was cut ends in "...". null if there are none. */
enum { LOG_BYTES_MAX = 64, LOG_BYTES_TEXT_MAX = 6 * LOG_BYTES_MAX + 8 };
const char *log_quote_bytes(struct bytes bytes, char out[LOG_BYTES_TEXT_MAX]);

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

#endif
