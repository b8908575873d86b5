/* SPDX-License-Identifier: Apache-2.0 */
/* The table of messages, by the part that makes them happen. */
#include "tests/faults/said.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct {
    const char *part, *message;
    bool said;
} table[] = {
    {"answers", "cannot read the lanes' offsets: trying on", false},
    {"answers", "cannot commit the first offsets of lanes", false},
    {"answers", "commit failed, tried again", false},
    {"answers", "cannot write to our own topics, tried again", false},
    {"answers-eo", "a transactional producer cannot start", false},
    {"answers-eo", "a transaction was aborted", false},
    {"brokers", "own partition unavailable, its lane waits", false},
};
enum { TABLE_N = sizeof table / sizeof *table };

void said_note(const char *part, const char *output)
{
    for (int i = 0; i < TABLE_N; i++)
        if (strcmp(table[i].part, part) == 0 && strstr(output, table[i].message) != NULL)
            table[i].said = true;
}

int said_unsaid(const char *part)
{
    int n = 0;
    for (int i = 0; i < TABLE_N; i++) {
        if (strcmp(table[i].part, part) != 0 || table[i].said)
            continue;
        printf("%s: no case has the log message \"%s\"\n", part, table[i].message);
        n++;
    }
    return n;
}
