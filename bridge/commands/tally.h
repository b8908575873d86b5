/* SPDX-License-Identifier: Apache-2.0 */
/* tally: numbers of dead-lettered records by code and target. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TALLY_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TALLY_H

#include "levels/dead_record.h"
#include "levels/err.h"

#include <jansson.h>

/* Starts zeroed. */
struct tally {
    struct tally_row *rows; /* owned */
    int rows_n;
    int64_t n;      /* of all rows */
    int64_t rest_n; /* counted without a row, since there are too many different targets */
};

/* Counts one record. Returns its row, TALLY_REST if it has none, or ERR_NO_MEMORY. */
enum { TALLY_REST = 1 << 20 };
int tally_add(struct tally *tally, const struct dead_record *letter) must_check;

/* Takes back one record of a row that tally_add returned. */
void tally_remove(struct tally *tally, int row);
void tally_print(const struct tally *tally);
json_t *tally_json(const struct tally *tally);
void tally_deinit(struct tally *tally);

#endif
