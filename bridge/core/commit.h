/* SPDX-License-Identifier: Apache-2.0 */
/* commit: decides when progress is committed, in both modes. At most one commit waits for its
   answer. With exactly-once, a commit ends the open transaction. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_COMMIT_H
#define DELAYBRIDGE_BRIDGE_CORE_COMMIT_H

#include "bridge/core/state.h"
void commit_serve(struct bridge *b); /* commits progress when it is time */
void commit_now(struct bridge *b);   /* commits all progress */
/* Ends the transaction, or commits progress when it is time. Returns whether a transaction still
   waits for its answer. */
bool commit_settle(struct bridge *b);
/* Ignores the answer to the last commit. */
void commit_invalidate(struct bridge *b);
/* The process stalled, and its lanes may have another owner: nothing is forwarded until a commit
   that begins now or later has succeeded. */
void commit_doubt_ownership(struct bridge *b, int64_t stalled_ms);
/* Commits progress to end this doubt. Without any progress, no proof is needed. */
void commit_prove_ownership(struct bridge *b);

#endif
