/* SPDX-License-Identifier: Apache-2.0 */
/* Writes problem details. */
#include "bridge/admin/problem.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DETAIL_MAX = 4096 };

static json_t *text_json(const char *text)
{
    char copy[DETAIL_MAX];
    json_t *json = json_string(text);
    if (json != NULL)
        return json;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *c = copy; *c != '\0'; c++)
        if ((unsigned char)*c > 0x7e)
            *c = '?';
    return json_string(copy);
}

json_t *problem_json(struct problem problem, const char *detail)
{
    json_t *json = json_pack("{s:s, s:s, s:i, s:o, s:s}", "type", "about:blank", "title",
                             MHD_get_reason_phrase_for((unsigned)problem.status), "status",
                             problem.status, "detail", text_json(detail), "code", problem.code);
    if (problem.key != NULL)
        json_object_set_new(json, "key", json_string(problem.key));
    return json;
}

void problem_answer(struct admin_answer *answer, struct problem problem, const char *format, ...)
{
    char detail[DETAIL_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    json_decref(answer->json);
    answer->status = problem.status;
    answer->type = "application/problem+json";
    answer->json = problem_json(problem, detail);
}
