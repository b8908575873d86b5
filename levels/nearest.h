/* SPDX-License-Identifier: Apache-2.0 */
/* nearest: which of the known names a misspelled one was probably meant to be. */
#ifndef DELAYBRIDGE_LEVELS_NEAREST_H
#define DELAYBRIDGE_LEVELS_NEAREST_H

enum { NEAREST_NAME_MAX = 64 };

/* A search. Names longer than NEAREST_NAME_MAX - 1 bytes are never found. */
struct nearest {
    const char *word;            /* borrowed: the misspelled name */
    char best[NEAREST_NAME_MAX]; /* the name found so far */
    int distance;                /* of best; above what is near enough: none was found */
};

/* Begin a search for word. */
void nearest_start(struct nearest *nearest, const char *word);

/* Offer a name. Of several equally near names the first one counts. '_', '.' and '-' are equal, and
   so are upper and lower case. */
void nearest_try(struct nearest *nearest, const char *name);

/* Returns the name found, or NULL. A name is near if it takes at most one slip for each three
   bytes of the word, and at most three: a byte added, missing or wrong, or two neighbors swapped.
 */
const char *nearest_name(const struct nearest *nearest);

#endif
