/* SPDX-License-Identifier: Apache-2.0 */
/* Values and growth of samples. */
#include "bridge/commands/top_figures.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX = 512 };

void top_figures_take(struct top_figures *f, struct scrape *fresh, int64_t now_mono_ms)
{
    scrape_deinit(&f->before);
    f->before = f->now;
    f->before_mono_ms = f->now_mono_ms;
    f->now = *fresh;
    f->now_mono_ms = now_mono_ms;
    *fresh = (struct scrape){0};
}

void top_figures_deinit(struct top_figures *f)
{
    scrape_deinit(&f->now);
    scrape_deinit(&f->before);
}

static double per_second(const struct top_figures *f, double growth)
{
    double passed_s = (double)(f->now_mono_ms - f->before_mono_ms) / 1000;
    return passed_s <= 0 || growth < 0 ? 0 : growth / passed_s;
}

double top_figures_value(const struct top_figures *f, const char *format, ...)
{
    char name[NAME_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return scrape_value(&f->now, name);
}

double top_figures_rate(const struct top_figures *f, const char *format, ...)
{
    char name[NAME_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return per_second(f, scrape_value(&f->now, name) - scrape_value(&f->before, name));
}

const struct scrape_sample *top_figures_find(const struct top_figures *f, const char *format, ...)
{
    char name[NAME_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return scrape_find(&f->now, name);
}

static double total(const struct scrape *s, const char *prefix)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        if (strncmp(s->samples[i].name, prefix, strlen(prefix)) == 0)
            sum += s->samples[i].value;
    return sum;
}

double top_figures_total(const struct top_figures *f, const char *prefix)
{
    return total(&f->now, prefix);
}

double top_figures_total_rate(const struct top_figures *f, const char *prefix)
{
    return per_second(f, total(&f->now, prefix) - total(&f->before, prefix));
}

double top_figures_growth(const struct top_figures *f, size_t i)
{
    const struct scrape_sample *now = &f->now.samples[i];
    /* A process lists the same samples in the same order, so try the same index first. */
    bool same = i < f->before.n && strcmp(f->before.samples[i].name, now->name) == 0;
    double before = same ? f->before.samples[i].value : scrape_value(&f->before, now->name);
    return now->value < before ? 0 : now->value - before;
}

bool top_figures_label(const struct top_figures *f, const char *prefix, int n,
                       char label[TOP_LABEL_MAX])
{
    size_t len = strlen(prefix);
    for (size_t i = 0; i < f->now.n; i++) {
        const char *name = f->now.samples[i].name;
        if (strncmp(name, prefix, len) != 0 || n-- > 0)
            continue;
        snprintf(label, TOP_LABEL_MAX, "%.*s", (int)strcspn(name + len, "\""), name + len);
        return true;
    }
    return false;
}

const char *top_word(const char *word, char out[TOP_NUMBER_MAX])
{
    snprintf(out, TOP_NUMBER_MAX, "%s", word);
    for (char *at = out; *at != '\0'; at++)
        if (*at == '_')
            *at = ' ';
    return out;
}

const char *top_number(double value, char out[TOP_NUMBER_MAX])
{
    char digits[TOP_NUMBER_MAX];
    int n = snprintf(digits, sizeof digits, "%.0f", value < 0 ? 0 : value), at = 0;
    for (int i = 0; i < n && at < TOP_NUMBER_MAX - 2; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}
