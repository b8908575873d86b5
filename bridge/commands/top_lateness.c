/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the buckets of delaybridge_lateness_seconds. */
#include "bridge/commands/top_lateness.h"

#include "levels/bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS "delaybridge_lateness_seconds_bucket{level=\""

/* Ranges of the heat map: their name, and the largest lateness in ms. */
static const struct {
    const char *name;
    double most_ms;
} ROWS[] = {{"later", INFINITY}, {"<= 5 min", 300000}, {"<= 1 min", 60000}, {"<= 10 s", 10000},
            {"<= 1 s", 1000},    {"<= 100 ms", 100},   {"<= 10 ms", 10},    {"<= 1 ms", 1}};
enum { ROWS_N = sizeof ROWS / sizeof *ROWS };

/* Returns the bucket with this upper bound, which is text in seconds. */
static int bucket_of(const char *bound)
{
    double ms = strtod(bound, NULL) * 1000;
    int i = 0;
    while (i < SPAN_BUCKETS - 1 && SPAN_BOUNDS_MS[i] < ms * (1 - 1e-9))
        i++;
    return i;
}

/* Returns the text of the bound of a sample, and sets *level to its level. NULL: the sample is of
   another metric. */
static const char *bound_of(const char *name, struct bytes *level)
{
    static const char LE[] = "\",le=\"";
    if (strncmp(name, BUCKETS, sizeof BUCKETS - 1) != 0)
        return NULL;
    name += sizeof BUCKETS - 1;
    const char *end = strstr(name, LE);
    if (end == NULL)
        return NULL;
    *level = bytes_of(name, (size_t)(end - name));
    return end + sizeof LE - 1;
}

struct top_lateness top_lateness_read(const struct top_figures *f, const char *level)
{
    struct top_lateness found = {.span_ms = f->now_mono_ms - f->before_mono_ms};
    struct bytes own, last = bytes_null();
    double below = 0; /* a bucket of the metrics includes the smaller ones, which precede it */
    for (size_t i = 0; i < f->now.n; i++) {
        const char *bound = bound_of(f->now.samples[i].name, &own);
        if (bound == NULL || (level != NULL && !bytes_equal(own, bytes_text(level))))
            continue;
        if (!bytes_equal(own, last))
            below = 0;
        double growth = top_figures_growth(f, i);
        found.n[bucket_of(bound)] += growth > below ? growth - below : 0;
        below = growth;
        last = own;
    }
    return found;
}

double top_lateness_n(const struct top_lateness *l)
{
    double n = 0;
    for (int i = 0; i < SPAN_BUCKETS; i++)
        n += l->n[i];
    return n;
}

struct top_quantile top_lateness_quantile(const struct top_lateness *l, double q)
{
    double all = top_lateness_n(l), n = 0;
    for (int i = 0; all > 0 && i < SPAN_BUCKETS - 1; i++) {
        n += l->n[i];
        if (n >= q * all)
            return (struct top_quantile){QUANTILE_WITHIN, SPAN_BOUNDS_MS[i]};
    }
    return (struct top_quantile){all > 0 ? QUANTILE_ABOVE : QUANTILE_NONE, 0};
}

const char *top_quantile_text(struct top_quantile quantile, char out[TOP_NUMBER_MAX])
{
    switch (quantile.kind) {
    case QUANTILE_NONE:
        return "-";
    case QUANTILE_ABOVE:
        return "> 5m";
    case QUANTILE_WITHIN:
        break;
    }
    bool below_1s = quantile.at_most_ms < 1000;
    snprintf(out, TOP_NUMBER_MAX, below_1s ? "%gms" : "%gs",
             below_1s ? quantile.at_most_ms : quantile.at_most_ms / 1000);
    return out;
}

json_t *top_quantile_json(struct top_quantile quantile)
{
    return quantile.kind == QUANTILE_WITHIN ? json_integer((json_int_t)ceil(quantile.at_most_ms))
                                            : json_null();
}

void top_heat_add(struct top_heat *heat, struct top_lateness column)
{
    heat->newest = heat->n == 0 ? 0 : (heat->newest + 1) % TOP_COLUMNS;
    heat->columns[heat->newest] = column;
    heat->n += heat->n < TOP_COLUMNS;
}

/* Returns the update that is back updates older than the newest. */
static const struct top_lateness *column_at(const struct top_heat *heat, int back)
{
    return &heat->columns[(heat->newest - back + TOP_COLUMNS) % TOP_COLUMNS];
}

struct top_lateness top_heat_recent(const struct top_heat *heat)
{
    struct top_lateness sum = {0};
    for (int back = 0; back < heat->n; back++) {
        const struct top_lateness *one = column_at(heat, back);
        if (back > 0 && sum.span_ms + one->span_ms > TOP_RECENT_MS)
            break;
        sum.span_ms += one->span_ms;
        for (int i = 0; i < SPAN_BUCKETS; i++)
            sum.n[i] += one->n[i];
    }
    return sum;
}

/* Returns the deliveries of an update in the range of a row. */
static double in_row(const struct top_lateness *column, int row)
{
    double n = 0;
    for (int i = 0; i < SPAN_BUCKETS; i++) {
        double bound_ms = i < SPAN_BUCKETS - 1 ? SPAN_BOUNDS_MS[i] : INFINITY;
        bool above = row == ROWS_N - 1 || bound_ms > ROWS[row + 1].most_ms;
        if (above && bound_ms <= ROWS[row].most_ms)
            n += column->n[i];
    }
    return n;
}

void top_heat_print(const struct top_heat *heat, enum chart_letters letters, FILE *out)
{
    double most = 0;
    int64_t span_ms = 0;
    for (int back = 0; back < heat->n; back++) {
        span_ms += column_at(heat, back)->span_ms;
        for (int row = 0; row < ROWS_N; row++)
            most = fmax(most, in_row(column_at(heat, back), row));
    }
    fprintf(out, "LATENESS of deliveries in the last %.0f s, the newest right\n",
            (double)span_ms / 1000);
    for (int row = 0; row < ROWS_N; row++) {
        fprintf(out, "%10s |", ROWS[row].name);
        for (int back = heat->n - 1; back >= 0; back--)
            fputs(chart_shade(in_row(column_at(heat, back), row), most, letters), out);
        fputs("|\n", out);
    }
}
