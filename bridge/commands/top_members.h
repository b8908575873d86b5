/* SPDX-License-Identifier: Apache-2.0 */
/* top_members: the processes that top reads, if its command line has no address. They are read from
   S.control again every ten seconds. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_MEMBERS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_MEMBERS_H

#include "bridge/commands/command.h"
#include "consumer/admin/members.h"

#include <jansson.h>
#include <stdio.h>

enum { TOP_ADDRESSES_MAX = 64 };

/* Starts zeroed. */
struct top_members {
    struct control_list list;
    char *addresses[TOP_ADDRESSES_MAX]; /* in list */
    int addresses_n;
    const struct member
        *far; /* in list; one that listens on the loopback of another host, or NULL */
    int far_n;
    int64_t read_mono_ms; /* 0: never */
};

/* Reads the processes, if that was ten seconds ago. Returns 0, or an error of members_look with a
   sentence, and the last ones stay. */
int top_members_look(struct top_members *members, const struct cli *cli, struct error *error);

/* Takes the ownership of the processes of a fresh list, and chooses the addresses to read. */
void top_members_take(struct top_members *members, struct control_list *fresh);
void top_members_deinit(struct top_members *members);

/* Writes a sentence about the processes that cannot be read from this host. There is one. */
const char *top_members_far(const struct top_members *members, struct error *sentence);

/* Prints a line for each difference between the processes, and one if some cannot be read. */
void top_members_print(const struct top_members *members, FILE *out);

/* Return the processes, and the sentences about their differences. */
json_t *top_members_json(const struct top_members *members);
json_t *top_members_differences(const struct top_members *members);

#endif
