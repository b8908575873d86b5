/* SPDX-License-Identifier: Apache-2.0 */
/* progress: what each queue has to commit. commit.h decides when. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_PROGRESS_H
#define DELAYBRIDGE_BRIDGE_CORE_PROGRESS_H

#include "bridge/core/state.h"
void progress_touch(struct bridge *b, bool all); /* all queues, or one, though nothing changed */
size_t progress_collect(struct bridge *b);       /* what changed, into b->commit.progress */
void progress_kept(struct bridge *b);            /* what was collected is committed */
void progress_trim(struct bridge *b);            /* asks to delete what was committed */
bool progress_is_any(const struct bridge *b);

#endif
