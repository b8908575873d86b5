/* SPDX-License-Identifier: Apache-2.0 */
/* redrive_view: counts the records that redrive sends and skips. Prints a line for each skipped
   record, draws a progress bar on a terminal, and prints the result. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_REDRIVE_VIEW_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_REDRIVE_VIEW_H

#include "bridge/commands/command.h"
#include "bridge/commands/tally.h"

#include <stdbool.h>

/* Why a selected record, or a record that is no dead letter, is not sent. */
#define SKIP_TABLE(X)                \
    X(SKIP_FOREIGN, "foreign")       \
    X(SKIP_UNREADABLE, "unreadable") \
    X(SKIP_NOT_OURS, "not_ours")     \
    X(SKIP_OPERATION, "operation")   \
    X(SKIP_EXPIRED, "expired")       \
    X(SKIP_UNDATED, "undated")       \
    X(SKIP_GONE, "gone")             \
    X(SKIP_REFUSED, "refused")       \
    X(SKIP_TOO_LARGE, "too_large")

#define SKIP_ENUM(id, name) id,
enum skip { SKIP_TABLE(SKIP_ENUM) SKIP_N };
#undef SKIP_ENUM

/* Starts zeroed, with the first five fields set. */
struct redrive_view {
    const struct cli *cli;
    const char *topic; /* the dead-letter topic; borrowed */
    const char *group; /* of the progress; borrowed */
    bool dry_run;
    bool has_bar;       /* stderr is a terminal */
    struct tally tally; /* of the records that are sent; owned */
    int64_t others;     /* not selected */
    int64_t skipped[SKIP_N];
    int64_t drawn_mono_ms; /* when the bar was drawn */
};

/* A record of the dead-letter topic. */
struct redrive_place {
    int partition;
    int64_t offset;
};

/* Counts and lists a record that is not sent. Returns EXIT_DONE. */
__attribute__((format(printf, 4, 5))) int redrive_view_skip(struct redrive_view *view,
                                                            struct redrive_place place,
                                                            enum skip why, const char *format, ...);

/* Draws the bar, at most five times a second. share: of the offsets that are read, 0 to 1. */
void redrive_view_draw(struct redrive_view *view, double share);

/* Clears the line of the bar, before other text is printed. */
void redrive_view_clear(const struct redrive_view *view);

/* Prints the numbers. complete: every record up to the ends was read. */
void redrive_view_result(const struct redrive_view *view, bool complete);

void redrive_view_deinit(struct redrive_view *view);

#endif
