/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable: ranges of offsets that the client cannot read. The calls of the worker are in
   bridge.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_UNREADABLE_H
#define DELAYBRIDGE_BRIDGE_CORE_UNREADABLE_H

#include "bridge/core/state.h"
/* Skips the range of a blocked queue, if that was requested and all records before it are done. */
void unreadable_serve(struct bridge *b, struct queue *q);

#endif
