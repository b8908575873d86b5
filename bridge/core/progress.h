/* SPDX-License-Identifier: Apache-2.0 */
/* progress: each queue's window, to be committed. commit.h decides when. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_PROGRESS_H
#define DELAYBRIDGE_BRIDGE_CORE_PROGRESS_H

#include "bridge/core/state.h"
void progress_touch(struct bridge *b, bool all); /* all queues, or one, though nothing changed */
size_t progress_collect(
    struct bridge *b); /* changed windows, into b->commit.progress; returns their number */
void progress_kept(struct bridge *b); /* the collected progress is committed */
void progress_trim(struct bridge *b); /* deletes committed records of levels */
bool progress_is_any(const struct bridge *b);

#endif
