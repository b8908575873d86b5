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
    {"answers", "cannot read committed offsets, trying again", false},
    {"answers", "cannot commit initial offsets", false},
    {"answers", "commit failed, trying again", false},
    {"answers", "cannot write to a topic of the bridge, trying again", false},
    {"answers-eo", "transactional producer cannot start", false},
    {"answers-eo", "transaction aborted, reading its records again", false},
    {"brokers", "partition of the bridge unavailable, its lane waits", false},
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
