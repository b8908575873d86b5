/* SPDX-License-Identifier: Apache-2.0 */
/* nearest: the optimal string alignment distance, with three rows in memory. */
#include "levels/nearest.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { SLIPS_MAX = 3, BYTES_A_SLIP = 3 };

static int least(int a, int b, int c)
{
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static char folded(char c)
{
    return c == '_' || c == '.' ? '-' : (char)tolower((unsigned char)c);
}

/* Folds text into out. Returns its length, or 0 if it does not fit. */
static size_t fold(const char *text, char out[NEAREST_NAME_MAX])
{
    size_t n = strlen(text);
    if (n >= NEAREST_NAME_MAX)
        return 0;
    for (size_t i = 0; i < n; i++)
        out[i] = folded(text[i]);
    return n;
}

/* Returns the slips between two names, or more than SLIPS_MAX if one is empty or too long. */
static int distance(const char *from, const char *to)
{
    char a[NEAREST_NAME_MAX], b[NEAREST_NAME_MAX];
    size_t a_n = fold(from, a), b_n = fold(to, b);
    int rows[3][NEAREST_NAME_MAX];
    if (a_n == 0 || b_n == 0)
        return SLIPS_MAX + 1;
    for (size_t j = 0; j <= b_n; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= a_n; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_n; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1, row[j]);
        }
    }
    return rows[a_n % 3][b_n];
}

void nearest_start(struct nearest *nearest, const char *word)
{
    int slips = (int)(strlen(word) / BYTES_A_SLIP);
    *nearest = (struct nearest){.word = word};
    nearest->distance = 1 + (slips < SLIPS_MAX ? slips : SLIPS_MAX);
}

void nearest_try(struct nearest *nearest, const char *name)
{
    int slips = distance(nearest->word, name);
    if (slips >= nearest->distance)
        return;
    nearest->distance = slips;
    snprintf(nearest->best, sizeof nearest->best, "%s", name);
}

const char *nearest_name(const struct nearest *nearest)
{
    return nearest->best[0] == '\0' ? NULL : nearest->best;
}
