/* SPDX-License-Identifier: Apache-2.0 */
/* ready: the lists that forward.h sends from. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_READY_H
#define DELAYBRIDGE_BRIDGE_CORE_READY_H

#include "bridge/core/state.h"

/* Moves a parcel to the ready ones, or to the wheel: it is not due, or it is kept in place of a hop
   (hold.h). Dead letters precede hops, and keep their order. */
void parcel_ready(struct bridge *b, struct parcel *p);

#endif
