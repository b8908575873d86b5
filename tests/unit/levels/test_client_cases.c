/* SPDX-License-Identifier: Apache-2.0 */
/* client_cases: the parser of the bridge judges the table of cases that the helpers for producers
   (deploy/clients) run in each language (tests/clients). */
#include "levels/duration.h"
#include "levels/instant.h"
#include "levels/request.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 3, HEADERS_MAX = 8 };

static const char *const ANY[] = {"*"};
static const struct request_rules RULES = {
    .allowlist = {ANY, 1, "schedule"},
    .default_target = "t",
    .max_delay_ms = INT64_MAX,
    .cancels = true,
};

static bool accepts(const struct header *headers, size_t n)
{
    const struct record record = {.timestamp_ms = 1795219200000,
                                  .key = bytes_text("key"),
                                  .headers = headers,
                                  .headers_n = n};
    struct stamp stamp;
    struct refusal refusal;
    return request_parse(&RULES, 0, &record, 1795219200000, &stamp, &refusal) == CODE_OK;
}

static bool accepts_with(const char *name, const char *value)
{
    const struct header headers[] = {{"dlb-delay", bytes_text("5s")}, {name, bytes_text(value)}};
    return accepts(headers, 2);
}

/* Reads "name=value name=value", in place. A value null is a null value. */
static size_t headers_of(char *text, struct header headers[HEADERS_MAX])
{
    size_t n = 0;
    char *rest = text, *part;
    while ((part = strsep(&rest, " ")) != NULL && n < HEADERS_MAX) {
        char *value = strchr(part, '=');
        if (value == NULL)
            continue;
        *value++ = '\0';
        headers[n++] =
            (struct header){part, strcmp(value, "null") == 0 ? bytes_null() : bytes_text(value)};
    }
    return n;
}

/* Returns whether the bridge refuses what a producer would write without the helpers. */
static bool refuses_fields(const char *kind, char *fields)
{
    static const char *const NAMES[][2] = {{"delay", "dlb-delay"},
                                           {"at", "dlb-deliver-at"},
                                           {"target", "dlb-target"},
                                           {"id", "dlb-id"},
                                           {"expires", "dlb-expires-at"}};
    struct header headers[HEADERS_MAX];
    char delay[32];
    size_t n = headers_of(fields, headers);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < sizeof NAMES / sizeof *NAMES; j++)
            if (strcmp(headers[i].name, NAMES[j][0]) == 0)
                headers[i].name = NAMES[j][1];
    for (size_t i = 0; i < n; i++)
        if (strcmp(headers[i].name, "dlb-delay") == 0) {
            snprintf(delay, sizeof delay, "%.*sms", (int)headers[i].value.len,
                     (const char *)headers[i].value.data);
            headers[i].value = bytes_text(delay);
        }
    if (strcmp(kind, "schedule") != 0)
        headers[n++] = (struct header){"dlb-op", bytes_text(kind)};
    return !accepts(headers, n);
}

static bool judge_text(const char *kind, const char *in, const char *out)
{
    char text[DURATION_TEXT_MAX];
    int64_t ms = strtoll(in, NULL, 10), parsed;
    bool error = strcmp(out, "error") == 0;
    if (strcmp(kind, "format") == 0)
        return error ? ms < 0
                     : strcmp(duration_format(ms, text), out) == 0 &&
                           duration_parse(bytes_text(out), &parsed) == 0 && parsed == ms;
    if (strcmp(kind, "parse") == 0)
        return error ? duration_parse(bytes_text(in), &parsed) != 0
                     : duration_parse(bytes_text(in), &parsed) == 0 &&
                           parsed == strtoll(out, NULL, 10);
    if (strcmp(kind, "instant") == 0)
        return error == (instant_parse(bytes_text(in), &parsed) != 0) &&
               (error || strcmp(in, out) == 0);
    if (strcmp(kind, "id") == 0)
        return error != accepts_with("dlb-id", in);
    return strcmp(kind, "target") == 0 && error != accepts_with("dlb-target", in);
}

static bool judge(char *columns[COLUMNS])
{
    struct header headers[HEADERS_MAX];
    bool builds = strcmp(columns[0], "schedule") == 0 || strcmp(columns[0], "replace") == 0 ||
                  strcmp(columns[0], "cancel") == 0;
    if (!builds)
        return judge_text(columns[0], columns[1], columns[2]);
    if (strcmp(columns[2], "error") == 0)
        return refuses_fields(columns[0], columns[1]);
    size_t n = headers_of(columns[2], headers);
    return n > 0 && accepts(headers, n);
}

Test(client_cases, the_bridge_agrees_with_the_table)
{
    FILE *file = fopen("tests/clients/cases.tsv", "r");
    char line[1024], row[1024];
    int rows = 0;
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *rest = line, *columns[COLUMNS];
        line[strcspn(line, "\n")] = '\0';
        strcpy(row, line);
        for (int i = 0; i < COLUMNS; i++)
            cr_assert_not_null(columns[i] = strsep(&rest, "\t"), "%s", row);
        cr_expect(judge(columns), "%s", row);
        rows++;
    }
    fclose(file);
    cr_expect_gt(rows, 90);
}
