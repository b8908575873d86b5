/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings of a check. */
#include "consumer/admin/topics.h"

#include <stdlib.h>

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
