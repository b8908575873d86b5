/* SPDX-License-Identifier: Apache-2.0 */
/* forward: sends all records that are ready, as far as the port and the transaction accept them. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_FORWARD_H
#define DELAYBRIDGE_BRIDGE_CORE_FORWARD_H

#include "bridge/core/state.h"
void forward_serve(struct bridge *b);
/* Sends the events of records whose outcome is acknowledged, and with exactly-once those of the
   open transaction, and no other record. Returns whether one of them could not be sent, or waits
   for a commit. */
bool forward_settle(struct bridge *b);

#endif
