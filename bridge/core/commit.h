/* SPDX-License-Identifier: Apache-2.0 */
/* commit: decides when progress is committed, in both modes. At most one commit waits for its
   answer. Exactly once, a commit ends the open transaction. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_COMMIT_H
#define DELAYBRIDGE_BRIDGE_CORE_COMMIT_H

#include "bridge/core/state.h"
void commit_serve(struct bridge *b); /* commits what is due */
void commit_now(struct bridge *b);   /* commits all progress */
/* Ends the transaction, or commits what is due. Returns whether a transaction still is on its way.
 */
bool commit_settle(struct bridge *b);
/* An answer to a commit that was asked before says nothing any more. */
void commit_invalidate(struct bridge *b);
/* The process stalled, and its lanes may have another owner: nothing is forwarded until a commit
   that is asked from here on has succeeded. */
void commit_doubt_ownership(struct bridge *b, int64_t stalled_ms);
void commit_prove_ownership(struct bridge *b);

#endif
