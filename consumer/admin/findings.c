/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings of a check. */
#include "bridge/base/memory.h"
#include "consumer/admin/topics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void finding_add(struct findings *findings, enum finding_kind kind, const char *topic, char *fix,
                 const char *sentence, ...)
{
    findings->items =
        memory_or_end(realloc(findings->items, (findings->n + 1) * sizeof *findings->items));
    struct finding *item = &findings->items[findings->n++];
    *item = (struct finding){.kind = kind, .topic = memory_or_end(strdup(topic)), .fix = fix};
    va_list arguments;
    va_start(arguments, sentence);
    int len = vasprintf(&item->sentence, sentence, arguments);
    va_end(arguments);
    memory_or_end(len < 0 ? NULL : item->sentence);
}

int findings_count(const struct findings *findings, enum finding_kind kind)
{
    int n = 0;
    for (size_t i = 0; i < findings->n; i++)
        n += findings->items[i].kind == kind;
    return n;
}

void findings_cut(struct findings *findings, size_t n)
{
    for (size_t i = n; i < findings->n; i++) {
        free(findings->items[i].topic);
        free(findings->items[i].sentence);
        free(findings->items[i].fix);
    }
    findings->n = n;
}

void findings_deinit(struct findings *findings)
{
    findings_cut(findings, 0);
    free(findings->items);
    *findings = (struct findings){0};
}
