/* SPDX-License-Identifier: Apache-2.0 */
/* option: one row of the option table of a command. Parsing, help, manual page and shell completion
   all come from these rows. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_OPTION_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_OPTION_H

#include "bridge/base/error.h"
#include "levels/nearest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_SWITCH,   /* no value */
    OPTION_NUMBER,   /* a whole number in decimal digits: no sign, space, unit or other base */
    OPTION_DURATION, /* such as 1m30s; its bounds are milliseconds */
    OPTION_AMOUNT,   /* a whole number such as 300, 20k or 1.5M; k and M are powers of ten */
    OPTION_RATE,     /* the same, but above 0 and with any fraction */
    OPTION_TEXT,
    OPTION_FILE,  /* a path; only completion differs from a text */
    OPTION_CHOICE /* one of the words of choices */
};

/* Every string is constant. A table of options ends with a NULL name. */
struct option {
    const char *name;    /* as typed: "--limit" or "-c" */
    const char *value;   /* its name in help, "N"; NULL for a switch and for a choice */
    const char *choices; /* of a choice: "bash|zsh" */
    const char *initial; /* the value if the option is absent, as typed; NULL: none */
    const char *help;    /* a phrase for one line, without a full stop */
    int64_t least, most; /* of a number, duration, amount or rate, both included */
    enum option_kind kind;
    bool repeatable, required;
};

/* A value that was read. */
struct option_value {
    const struct option *option;
    const char *text; /* as typed, borrowed; NULL for a switch */
    int64_t number;   /* of a number, amount or duration (ms) */
    double rate;      /* of an amount or rate */
};

/* Returns the row with this name, or NULL. n is the length of name, which may continue with "=". */
const struct option *option_find(const struct option *table, const char *name, size_t n);

/* Reads one value into *value. Returns 0, or ERR_DATA with a sentence that names the option, quotes
   the value and says what the option accepts. */
int option_read(const struct option *option, const char *text, struct option_value *value,
                struct error *error) must_check;

/* Returns the word that help shows for the value, such as "N" or "text|json"; "" for a switch. */
const char *option_value_name(const struct option *option);

/* Offers the long names of a table, without their dashes, to a search for the nearest one. */
void option_try_all(const struct option *table, struct nearest *nearest);

#endif
