/* SPDX-License-Identifier: Apache-2.0 */
/* nearest: the known name that is most similar to a misspelled one. */
#ifndef DELAYBRIDGE_LEVELS_NEAREST_H
#define DELAYBRIDGE_LEVELS_NEAREST_H

enum { NEAREST_NAME_MAX = 64 };

/* A search. Names longer than NEAREST_NAME_MAX - 1 bytes are never found. */
struct nearest {
    const char *word;            /* borrowed: the misspelled name */
    char best[NEAREST_NAME_MAX]; /* the name found so far */
    int distance; /* slips between word and best; the limit plus 1 while best is empty */
};

/* Begins a search for word. */
void nearest_start(struct nearest *nearest, const char *word);

/* Offers a name. Of several equally near names the first one wins. '_', '.' and '-' are equal, and
   so are upper and lower case. */
void nearest_try(struct nearest *nearest, const char *name);

/* Returns the name found, or NULL. A slip is a byte added, missing or wrong, or two neighbors
   swapped. A name is near if it differs by at most one slip for each three bytes of the word, and
   by at most three slips. */
const char *nearest_name(const struct nearest *nearest);

#endif
