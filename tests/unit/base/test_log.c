/* SPDX-License-Identifier: Apache-2.0 */
/* log: the two shapes of a line, its limits, and a reader that does not read. */
#include "bridge/base/limit.h"
#include "bridge/base/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <unistd.h>

/* Redirects stderr into a pipe, until logged_end. */
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

/* Returns all text in the pipe. */
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

Test(log, logfmt_quotes_texts_other_than_single_words)
{
    logged_begin(LOG_LOGFMT);
    log_info("lane assigned", F_INT("lane", 3), F_TEXT("topic", "schedule.1m"),
             F_TEXT("error", "not \"now\""), F_TEXT("none", ""), F_TEXT("equals", "a=b"));
    const char *text = logged_end();
    cr_assert(strncmp(text, "ts=20", 5) == 0, "%s", text);
    cr_assert(strstr(text, "Z level=info msg=\"lane assigned\" lane=3 topic=schedule.1m "
                           "error=\"not \\\"now\\\"\" none=\"\" equals=\"a=b\"\n") != NULL,
              "%s", text);
}

Test(log, each_type_has_its_form_in_json)
{
    logged_begin(LOG_JSON);
    log_warn("m", F_INT("n", -5), F_COUNT("count", UINT64_MAX), F_RATE("rate", 2.25),
             F_MS("span_ms", 1500), F_OFFSET("offset", INT64_MAX), F_BOOL("is", true),
             F_BOOL("is_not", false), F_INSTANT("at", 1763712000250),
             F_PLACE("source", "S.1m", 3, 17), F_RANGE("range", 17, 40),
             F_BYTES("bytes", bytes_of("\0\1", 2)), F_BYTES("no_bytes", bytes_null()),
             F_TEXT("no_text", NULL), F_NONZERO("some", 7), F_NONZERO("nothing", 0), F_HINT(NULL),
             F_HINT("allow Read"));
    const char *text = logged_end();
    cr_expect_not_null(
        strstr(text, "Z\",\"level\":\"warn\",\"msg\":\"m\",\"n\":-5,\"count\":18446744073709551615,"
                     "\"rate\":2.2,\"span_ms\":1500,\"offset\":9223372036854775807,\"is\":true,"
                     "\"is_not\":false,\"at\":\"2025-11-21T08:00:00.250Z\","
                     "\"source\":\"S.1m/3/17\",\"range\":\"17-40\",\"bytes\":\"0x0001\","
                     "\"no_bytes\":null,\"no_text\":null,\"some\":7,\"hint\":\"allow Read\"}\n"),
        "%s", text);
}

Test(log, text_that_looks_like_a_number_stays_text)
{
    logged_begin(LOG_JSON);
    log_warn("m", F_TEXT("why", "17"), F_TEXT("key", "a b=2"), F_TEXT("quoted", "\"x\""));
    json_t *line = logged_json();
    cr_expect_str_eq(member(line, "why"), "17");
    cr_expect_str_eq(member(line, "key"), "a b=2");
    cr_expect_str_eq(member(line, "quoted"), "\"x\"");
    json_decref(line);
}

Test(log, any_byte_is_legal_json_on_one_line)
{
    char all[256];
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = '\0';
    logged_begin(LOG_JSON);
    log_info(all, F_TEXT("text", all), F_BYTES("bytes", bytes_of(all, 64)));
    const char *text = logged_text();
    cr_expect_eq(strchr(text, '\n'), text + strlen(text) - 1);
    json_t *line = json_loads(text, 0, NULL);
    logged_end();
    cr_assert_not_null(line, "%s", text);
    json_decref(line);
}

Test(log, long_text_is_cut)
{
    static char much[10000];
    memset(much, 'x', sizeof much - 1);
    logged_begin(LOG_JSON);
    log_info(much, F_INT("a", 1), F_TEXT("b", much), F_INT("c", 2));
    json_t *line = logged_json();
    cr_expect_gt(strlen(member(line, "b")), 1000);
    cr_expect_lt(strlen(member(line, "b")), 1024);
    cr_expect_eq(json_integer_value(json_object_get(line, "c")), 2);
    json_decref(line);
}

Test(log, field_without_room_is_left_out_and_the_line_reports_it)
{
    static char much[10000];
    memset(much, 'x', sizeof much - 1);
    logged_begin(LOG_JSON);
    log_info("m", F_TEXT("a", much), F_TEXT("b", much), F_TEXT("c", much), F_TEXT("d", much),
             F_INT("e", 2));
    json_t *line = logged_json();
    cr_expect(json_is_true(json_object_get(line, "cut")));
    cr_expect_null(json_object_get(line, "d"));
    cr_expect_eq(json_integer_value(json_object_get(line, "e")), 2);
    json_decref(line);
}

Test(log, lines_below_the_level_are_left_out)
{
    logged_begin(LOG_LOGFMT);
    log_debug("no", F_INT("n", 1));
    log_set_level(LOG_ERROR);
    log_warn("no", F_INT("n", 2));
    log_error("yes", F_INT("n", 3));
    const char *text = logged_end();
    cr_expect(strstr(text, "no") == NULL && strstr(text, "n=3") != NULL, "%s", text);
}

Test(log, sleeping_reader_loses_lines_but_delays_nothing, .timeout = 10)
{
    enum { LINES = 4000 };
    logged_begin(LOG_LOGFMT);
    log_set_level(LOG_DEBUG); /* messages at debug are not limited */
    for (int i = 0; i < LINES; i++)
        log_debug("a line of some length, so that the pipe is full soon", F_INT("i", i));
    int told = 0;
    for (const char *c = logged_text(); *c != '\0'; c++)
        told += *c == '\n';
    log_info("after", F_INT("n", 1));
    log_info("later", F_INT("n", 2));
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
        log_error("flood", F_INT("i", i));
    log_error("another message", F_INT("i", 1));
    const char *text = logged_end();
    cr_expect_eq(count_lines(text), 100 + 1, "%d lines", count_lines(text));
    cr_expect_not_null(strstr(text, "another message"));
}

Test(log, flood_of_one_subject_does_not_hide_another_subject_of_the_message)
{
    logged_begin(LOG_JSON);
    for (int i = 0; i < 40000; i++)
        log_error("flood", F_INT("i", i), F_LIMIT(1));
    log_error("flood", F_TEXT("target", "another subject"), F_LIMIT(2));
    const char *text = logged_end();
    cr_expect_eq(count_lines(text), 100 + 1, "%d lines", count_lines(text));
    cr_expect_not_null(strstr(text, "another subject"));
}

Test(log, any_number_of_subjects_writes_few_lines)
{
    int lines = 0;
    logged_begin(LOG_JSON);
    for (uint64_t i = 0; i < 40000; i++) {
        log_error("flood", F_LIMIT(i));
        lines += count_lines(logged_text());
    }
    logged_end();
    cr_expect_leq(lines, LIMIT_KEYS + 100);
}
