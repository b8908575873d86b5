/* SPDX-License-Identifier: Apache-2.0 */
/* embedded: the bridge's own topics on the mock cluster of demo and dev. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_EMBEDDED_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_EMBEDDED_H

#include "bridge/config/config.h"
#include "consumer/client/mock.h"

/* Creates the topics that `topics apply` creates, with this number of lanes. Returns 0 or
 * ERR_KAFKA.
 */
int embedded_topics(struct mock *mock, const struct config *config, int lanes) must_check;

#endif
