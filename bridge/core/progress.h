/* SPDX-License-Identifier: Apache-2.0 */
/* progress: each queue's window, to be committed. commit.h decides when. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_PROGRESS_H
#define DELAYBRIDGE_BRIDGE_CORE_PROGRESS_H

#include "bridge/core/state.h"
/* Makes the next commit contain unchanged progress: of all queues, or else of a single one. */
void progress_touch(struct bridge *b, bool all);
/* Writes changed windows to b->commit.progress, and returns their number. */
size_t progress_collect(struct bridge *b);
void progress_kept(struct bridge *b); /* the collected progress was committed */
void progress_trim(struct bridge *b); /* deletes committed records of levels */
bool progress_is_any(const struct bridge *b);

#endif
