/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a code and a target, which are searched one after the other. */
#include "bridge/commands/tally.h"

#include "bridge/commands/owned.h"
#include "bridge/commands/result.h"
#include "levels/instant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_MAX = 1000 };

struct tally_row {
    struct bytes code, target; /* owned */
    int64_t n, first_wall_ms, last_wall_ms;
};

static struct tally_row *find_row(const struct tally *tally, const struct dead_record *letter)
{
    for (int i = 0; i < tally->rows_n; i++)
        if (bytes_equal(tally->rows[i].code, letter->code) &&
            bytes_equal(tally->rows[i].target, letter->target))
            return &tally->rows[i];
    return NULL;
}

static struct tally_row *add_row(struct tally *tally, const struct dead_record *letter)
{
    if (tally->rows == NULL)
        tally->rows = calloc(ROWS_MAX, sizeof *tally->rows);
    if (tally->rows == NULL)
        return NULL;
    struct tally_row *row = &tally->rows[tally->rows_n];
    if (owned_copy(letter->code, &row->code) != 0 ||
        owned_copy(letter->target, &row->target) != 0) {
        free((void *)row->code.data);
        return NULL;
    }
    row->first_wall_ms = row->last_wall_ms = letter->failed_wall_ms;
    tally->rows_n++;
    return row;
}

int tally_add(struct tally *tally, const struct dead_record *letter)
{
    struct tally_row *row = find_row(tally, letter);
    tally->n++;
    if (row == NULL && tally->rows_n == ROWS_MAX) {
        tally->rest_n++;
        return TALLY_REST;
    }
    if (row == NULL)
        row = add_row(tally, letter);
    if (row == NULL)
        return ERR_NO_MEMORY;
    row->n++;
    if (letter->failed_wall_ms < row->first_wall_ms)
        row->first_wall_ms = letter->failed_wall_ms;
    if (letter->failed_wall_ms > row->last_wall_ms)
        row->last_wall_ms = letter->failed_wall_ms;
    return (int)(row - tally->rows);
}

void tally_remove(struct tally *tally, int row)
{
    tally->n--;
    (*(row == TALLY_REST ? &tally->rest_n : &tally->rows[row].n))--;
}

void tally_print(const struct tally *tally)
{
    char first[INSTANT_TEXT_MAX], last[INSTANT_TEXT_MAX];
    if (tally->n == 0)
        return;
    printf("%10s  %-24s  %-24s  CODE AND TARGET\n", "RECORDS", "FIRST", "LAST");
    for (int i = 0; i < tally->rows_n; i++) {
        const struct tally_row *row = &tally->rows[i];
        if (row->n == 0)
            continue;
        printf("%10" PRId64 "  %-24s  %-24s  ", row->n, instant_format(row->first_wall_ms, first),
               instant_format(row->last_wall_ms, last));
        print_bytes(row->code);
        putchar(' ');
        print_bytes(row->target);
        putchar('\n');
    }
    if (tally->rest_n > 0)
        printf("%10" PRId64 "  of other codes and targets\n", tally->rest_n);
}

json_t *tally_json(const struct tally *tally)
{
    json_t *list = json_array();
    for (int i = 0; i < tally->rows_n; i++) {
        const struct tally_row *row = &tally->rows[i];
        if (row->n == 0)
            continue;
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:I, s:o, s:o}", "code", bytes_json(row->code), "target",
                            bytes_json(row->target), "records", (json_int_t)row->n,
                            "first_failed_at", instant_json(row->first_wall_ms), "last_failed_at",
                            instant_json(row->last_wall_ms)));
    }
    return list;
}

void tally_deinit(struct tally *tally)
{
    for (int i = 0; i < tally->rows_n; i++) {
        free((void *)tally->rows[i].code.data);
        free((void *)tally->rows[i].target.data);
    }
    free(tally->rows);
    *tally = (struct tally){0};
}
