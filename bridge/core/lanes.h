/* SPDX-License-Identifier: Apache-2.0 */
/* lanes: how lanes are assigned and lost. The calls of the worker are in bridge.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_LANES_H
#define DELAYBRIDGE_BRIDGE_CORE_LANES_H

#include "bridge/core/state.h"
/* The wall clock went back: forgets all records in memory, and reads them again. */
void lanes_clock_went_back(struct bridge *b, int64_t by_ms);

#endif
