/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of delaybridge_dead_letter_records_total. */
#include "bridge/commands/top_dead.h"

#include <string.h>

#define SAMPLE "delaybridge_dead_letter_records_total{code=\""
#define TARGET "\",target=\""

static bool read_labels(const char *name, struct top_dead *dead)
{
    if (strncmp(name, SAMPLE, sizeof SAMPLE - 1) != 0)
        return false;
    const char *code = name + sizeof SAMPLE - 1, *end = strstr(code, TARGET);
    if (end == NULL)
        return false;
    const char *target = end + sizeof TARGET - 1;
    snprintf(dead->code, sizeof dead->code, "%.*s", (int)(end - code), code);
    snprintf(dead->target, sizeof dead->target, "%.*s", (int)strcspn(target, "\""), target);
    return true;
}

bool top_dead_next(const struct top_figures *f, size_t *i, struct top_dead *dead)
{
    for (; *i < f->now.n; (*i)++) {
        const struct scrape_sample *sample = &f->now.samples[*i];
        if (sample->value <= 0 || !read_labels(sample->name, dead))
            continue;
        dead->records = sample->value;
        dead->records_per_s = top_figures_rate(f, "%s", sample->name);
        (*i)++;
        return true;
    }
    return false;
}

void top_dead_print(const struct top_figures *f, FILE *out)
{
    char records[TOP_NUMBER_MAX];
    struct top_dead dead;
    int n = 0;
    for (size_t i = 0; top_dead_next(f, &i, &dead); n++) {
        if (n == 0)
            fprintf(out, "%-22s %14s %10s  %s\n", "DEAD LETTERS", "SINCE START", "NOW/S", "TARGET");
        fprintf(out, "%-22s %14s %10.1f  %s\n", dead.code, top_number(dead.records, records),
                dead.records_per_s, dead.target);
    }
    if (n == 0)
        fputs("DEAD LETTERS: none since the start\n", out);
}

json_t *top_dead_json(const struct top_figures *f)
{
    struct top_dead dead;
    json_t *list = json_array();
    for (size_t i = 0; top_dead_next(f, &i, &dead);)
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:f}", "code", dead.code, "target",
                                              dead.target, "records", (json_int_t)dead.records,
                                              "records_per_s", dead.records_per_s));
    return list;
}
