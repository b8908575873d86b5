/* SPDX-License-Identifier: Apache-2.0 */
/* Sections below and next to each other. */
#include "bridge/commands/top_layout.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { GAP = 4 };

void top_layout_measure(struct top_layout *l, int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0)
        return;
    l->rows = size.ws_row;
    l->columns = size.ws_col;
}

void top_layout_add(struct top_layout *l, const char *name, char *text)
{
    assert(l->n < TOP_SECTIONS_MAX);
    l->sections[l->n++] = (struct top_section){name, text};
}

static int lines_of(const char *text)
{
    int n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

/* Returns the characters of a line of UTF-8, each one column wide. */
static int width_of(const char *line, size_t len)
{
    int n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)line[i] & 0xc0) != 0x80;
    return n;
}

static int widest(const char *text)
{
    int most = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        int width = width_of(text, len);
        most = width > most ? width : most;
        text += len + (text[len] == '\n');
    }
    return most;
}

/* Returns whether the last two sections fit next to each other. */
static bool is_wide(const struct top_layout *l)
{
    if (l->n < 2 || l->columns == 0)
        return false;
    const char *left = l->sections[l->n - 2].text, *right = l->sections[l->n - 1].text;
    return *left != '\0' && *right != '\0' && widest(left) + GAP + widest(right) <= l->columns;
}

/* Returns the rows of section i, with the empty line above it. The pair counts as its first. */
static int rows_of(const struct top_layout *l, int i, bool wide)
{
    int own = lines_of(l->sections[i].text);
    if (wide && i == l->n - 1)
        return 0;
    if (wide && i == l->n - 2) {
        int right = lines_of(l->sections[i + 1].text);
        own = right > own ? right : own;
    }
    return own == 0 ? 0 : own + (i > 0);
}

int top_layout_rows(const struct top_layout *l)
{
    int sum = 0;
    for (int i = 0; i < l->n; i++)
        sum += rows_of(l, i, is_wide(l));
    return sum;
}

/* Prints the next line of *text in this width, and moves *text behind it. */
static void print_cell(const char **text, int width, FILE *out)
{
    size_t len = strcspn(*text, "\n");
    int n = width_of(*text, len);
    fprintf(out, "%.*s%*s", (int)len, *text, n < width ? width - n : 0, "");
    *text += len + ((*text)[len] == '\n');
}

static void print_pair(const char *left, const char *right, FILE *out)
{
    int width = widest(left) + GAP;
    while (*left != '\0' || *right != '\0') {
        print_cell(&left, width, out);
        print_cell(&right, 0, out);
        fputc('\n', out);
    }
}

void top_layout_print(const struct top_layout *l, FILE *out)
{
    bool wide = is_wide(l), all_fit = l->rows == 0 || top_layout_rows(l) <= l->rows - 1;
    int room = all_fit ? top_layout_rows(l) : l->rows - 2, i = 0;
    for (; i < l->n && (i == 0 || rows_of(l, i, wide) <= room); i++) {
        if (rows_of(l, i, wide) == 0)
            continue;
        room -= rows_of(l, i, wide);
        if (i > 0)
            fputc('\n', out);
        if (wide && i == l->n - 2)
            print_pair(l->sections[i].text, l->sections[i + 1].text, out);
        else
            fputs(l->sections[i].text, out);
    }
    for (const char *before = "no room for: "; i < l->n; i++)
        if (l->sections[i].text[0] != '\0') {
            fprintf(out, "%s%s", before, l->sections[i].name);
            before = ", ";
        }
}

void top_layout_deinit(struct top_layout *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->sections[i].text);
    l->n = 0;
}
