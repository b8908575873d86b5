/* SPDX-License-Identifier: Apache-2.0 */
/* log: the two shapes of a line, what is escaped, and that nobody waits for a reader. */
#include "bridge/base/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <unistd.h>

/* stderr into a pipe, until logged_end. */
struct logged {
    int real, read, write;
    char text[65536 * 2];
};
static struct logged logged;

static void logged_begin(enum log_format format)
{
    int ends[2];
    log_init(LOG_INFO, format);
    cr_assert_eq(pipe(ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    logged.real = dup(STDERR_FILENO);
    logged.read = ends[0];
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
}

/* All that is in the pipe. */
static const char *logged_text(void)
{
    ssize_t n = read(logged.read, logged.text, sizeof logged.text - 1);
    logged.text[n < 0 ? 0 : n] = '\0';
    return logged.text;
}

static const char *logged_end(void)
{
    const char *text = logged_text();
    dup2(logged.real, STDERR_FILENO);
    close(logged.real);
    close(logged.read);
    return text;
}

static json_t *logged_json(void)
{
    json_error_t error;
    const char *text = logged_end();
    json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    cr_assert_not_null(line, "%s in %s", error.text, text);
    return line;
}

static const char *member(json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    return text == NULL ? "(no string)" : text;
}

Test(log, logfmt_keeps_fields_as_they_are_given)
{
    logged_begin(LOG_LOGFMT);
    log_info("lane gained", "lane=%d topic=%s", 3, "schedule.1m");
    const char *text = logged_end();
    cr_assert(strncmp(text, "ts=20", 5) == 0, "%s", text);
    cr_assert(strstr(text, "Z level=info msg=\"lane gained\" lane=3 topic=schedule.1m\n") != NULL,
              "%s", text);
}

Test(log, json_tells_numbers_from_texts)
{
    char quoted[64];
    logged_begin(LOG_JSON);
    log_warn("m", "n=%d x=%.1f topic=%s why=%s version=1.2.3 zeros=007 none=", -5, 2.5, "S.1m",
             log_quote("a \"b\" c=d", quoted, sizeof quoted));
    json_t *line = logged_json();
    cr_expect_eq(json_integer_value(json_object_get(line, "n")), -5);
    cr_expect(json_is_real(json_object_get(line, "x")));
    cr_expect_str_eq(member(line, "topic"), "S.1m");
    cr_expect_str_eq(member(line, "why"), "a \"b\" c=d");
    cr_expect_str_eq(member(line, "version"), "1.2.3");
    cr_expect_str_eq(member(line, "zeros"), "007");
    cr_expect_str_eq(member(line, "none"), "");
    cr_expect_str_eq(member(line, "level"), "warn");
    json_decref(line);
}

Test(log, any_byte_is_legal_json_on_one_line)
{
    char all[256], quoted[2048];
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = '\0';
    logged_begin(LOG_JSON);
    log_info(all, "raw=%s quoted=%s", "\xff\x01\x7f\xc3\xa9",
             log_quote(all, quoted, sizeof quoted));
    const char *text = logged_text();
    cr_expect_eq(strchr(text, '\n'), text + strlen(text) - 1);
    json_t *line = json_loads(text, 0, NULL);
    logged_end();
    cr_assert_not_null(line, "%s", text);
    json_decref(line);
}

Test(log, a_quoted_text_is_cut_between_characters)
{
    char quoted[8];
    cr_expect_str_eq(log_quote("abc\"def", quoted, 8), "\"abc\\\"\"");
    cr_expect_str_eq(log_quote("abc\"def", quoted, 7), "\"abc\"");
    cr_expect_str_eq(log_quote("é", quoted, 4), "\"\"");
    cr_expect_str_eq(log_quote("é", quoted, 5), "\"é\"");
    cr_expect_str_eq(log_quote("x", quoted, 1), "");
}

Test(log, too_much_text_is_cut_and_says_so)
{
    static char much[10000];
    memset(much, 'x', sizeof much - 1);
    logged_begin(LOG_JSON);
    log_info(much, "a=1 b=%s c=2", much);
    json_t *line = logged_json();
    cr_expect(json_is_true(json_object_get(line, "cut")));
    cr_expect_eq(json_integer_value(json_object_get(line, "a")), 1);
    json_decref(line);
}

Test(log, what_is_less_important_is_left_out)
{
    logged_begin(LOG_LOGFMT);
    log_debug("no", "n=%d", 1);
    log_set_level(LOG_ERROR);
    log_warn("no", "n=%d", 2);
    log_error("yes", "n=%d", 3);
    const char *text = logged_end();
    cr_expect(strstr(text, "no") == NULL && strstr(text, "n=3") != NULL, "%s", text);
}

Test(log, a_reader_that_sleeps_costs_lines_and_never_time, .timeout = 10)
{
    enum { LINES = 4000 };
    logged_begin(LOG_LOGFMT);
    log_set_level(LOG_DEBUG); /* of which none is withheld */
    for (int i = 0; i < LINES; i++)
        log_debug("a line of some length, so that the pipe is full soon", "i=%d", i);
    int told = 0;
    for (const char *c = logged_text(); *c != '\0'; c++)
        told += *c == '\n';
    log_info("after", "n=%d", 1);
    log_info("later", "n=%d", 2);
    const char *text = logged_end(), *dropped = strstr(text, "dropped=");
    cr_assert_not_null(dropped, "%s", text);
    cr_expect(told > 0 && told < LINES);
    cr_expect_eq(atoi(dropped + strlen("dropped=")), LINES - told);
    cr_expect(strstr(dropped + 1, "dropped=") == NULL, "told twice: %s", text);
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

Test(log, flood_of_one_message_is_withheld_and_others_are_not)
{
    logged_begin(LOG_JSON);
    for (int i = 0; i < 40000; i++)
        log_error("flood", "i=%d", i);
    log_error("another message", "i=%d", 1);
    const char *text = logged_end();
    cr_expect_eq(count_lines(text), 100 + 1, "%d lines", count_lines(text));
    cr_expect_not_null(strstr(text, "another message"));
}

Test(log, bytes_are_text_or_hexadecimal_and_bounded)
{
    char out[LOG_BYTES_TEXT_MAX], many[1000];
    cr_expect_str_eq(log_quote_bytes(bytes_null(), out), "null");
    cr_expect_str_eq(log_quote_bytes(bytes_text(""), out), "\"\"");
    cr_expect_str_eq(log_quote_bytes(bytes_text("order \"17\" é"), out), "\"order \\\"17\\\" é\"");
    cr_expect_str_eq(log_quote_bytes(bytes_of("\0\0\x04\xd2", 4), out), "0x000004d2");
    cr_expect_str_eq(log_quote_bytes(bytes_text("a\nb"), out), "0x610a62");
    memset(many, 'x', sizeof many);
    log_quote_bytes(bytes_of(many, sizeof many), out);
    cr_expect_eq(strlen(out), LOG_BYTES_MAX + strlen("\"...\""), "%s", out);
    memcpy(many + LOG_BYTES_MAX - 1, "é", 2); /* cut within a character */
    cr_expect_str_eq(log_quote_bytes(bytes_of(many, sizeof many), out) + LOG_BYTES_MAX, "...\"");
    memset(many, '"', sizeof many); /* the longest form of each byte */
    cr_expect_lt(strlen(log_quote_bytes(bytes_of(many, sizeof many), out)), LOG_BYTES_TEXT_MAX);
    memset(many, 0x80, sizeof many);
    cr_expect_lt(strlen(log_quote_bytes(bytes_of(many, sizeof many), out)), LOG_BYTES_TEXT_MAX);
}
