/* SPDX-License-Identifier: Apache-2.0 */
/* Bars and shades, of blocks or of ASCII characters. */
#include "bridge/commands/top_chart.h"

#include "bridge/commands/top_figures.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>

enum { SHADES = 5, PARTS = 8 /* of a block */ };

static const char *const SHADE[][SHADES] = {
    [CHART_ASCII] = {" ", ".", ":", "*", "#"}, [CHART_BLOCKS] = {" ", "░", "▒", "▓", "█"}};
static const char *const BAR[][PARTS + 1] = {
    [CHART_ASCII] = {" ", ".", ".", ".", ":", ":", ":", "#", "#"},
    [CHART_BLOCKS] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}};

enum chart_letters chart_letters_of_locale(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale == (locale_t)0)
        return CHART_ASCII;
    enum chart_letters letters =
        strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0 ? CHART_BLOCKS : CHART_ASCII;
    freelocale(locale);
    return letters;
}

const char *chart_shade(double n, double most, enum chart_letters letters)
{
    int shade = n <= 0 ? 0 : 1 + (int)(log1p(n) / log1p(most) * (SHADES - 1) - 1e-9);
    return SHADE[letters][shade < SHADES ? shade : SHADES - 1];
}

int64_t chart_top(int64_t n)
{
    static const int64_t STEPS[] = {10, 15, 20, 25, 30, 40, 50, 60, 80};
    if (n <= 10)
        return n <= 1 ? 1 : n <= 5 ? 5 : 10;
    for (int64_t power = 1;; power *= 10)
        for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++)
            if (STEPS[i] * power >= n)
                return STEPS[i] * power;
}

void chart_bars(const int64_t *values, int n, int height, enum chart_letters letters, FILE *out)
{
    int64_t most = 1;
    char top[TOP_NUMBER_MAX];
    for (int i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    most = chart_top(most);
    for (int row = height - 1; row >= 0; row--) {
        fprintf(out, "%10s |", row == height - 1 ? top_number((double)most, top) : "");
        for (int i = 0; i < n; i++) {
            double parts = (double)values[i] / (double)most * height * PARTS;
            int part = (int)ceil(parts) - row * PARTS;
            part = part < 0 ? 0 : part > PARTS ? PARTS : part;
            fputs(BAR[letters][part], out);
        }
        fputs("|\n", out);
    }
}
