/* SPDX-License-Identifier: Apache-2.0 */
/* top_layout: puts sections of text onto a screen. Pure, except for the size of the terminal. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_LAYOUT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_LAYOUT_H

#include <stdbool.h>
#include <stdio.h>

enum { TOP_SECTIONS_MAX = 8 };

/* Lines, each with a newline. An empty text takes no room. */
struct top_section {
    const char *name;
    char *text; /* owned */
};

/* Sections in the order of their importance. Starts zeroed. */
struct top_layout {
    struct top_section sections[TOP_SECTIONS_MAX];
    int n;
    int rows, columns; /* of the terminal. 0: no limit */
};

/* Sets the size to that of the terminal at fd, or to no limit. */
void top_layout_measure(struct top_layout *layout, int fd);

/* Adds a section, and takes the text. */
void top_layout_add(struct top_layout *layout, const char *name, char *text);

/* Returns the rows that all sections need. */
int top_layout_rows(const struct top_layout *layout);

/* Prints the sections with an empty line in between. The last two are next to each other if the
   terminal is wide enough. The last ones that do not fit are left out, and a line names them. */
void top_layout_print(const struct top_layout *layout, FILE *out);
void top_layout_deinit(struct top_layout *layout);

#endif
