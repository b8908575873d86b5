/* SPDX-License-Identifier: Apache-2.0 */
/* selection: the dead-lettered records that the options --code, --target, --since and --until
   select. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_SELECTION_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_SELECTION_H

#include "bridge/commands/command.h"
#include "levels/dead_record.h"

struct selection {
    struct dead_filter filter;
    const char **words; /* owned; the lists of filter point into it */
};

/* Reads the options. Returns EXIT_DONE, or an exit code after it has printed the reason. Call
   selection_deinit in any case. */
int selection_read(struct selection *selection, const struct cli *cli) must_check;
void selection_deinit(struct selection *selection);

#endif
