/* SPDX-License-Identifier: Apache-2.0 */
/* admission: takes records of a queue into work when their time is near, within quota and budget.
 */
#ifndef DELAYBRIDGE_BRIDGE_CORE_ADMISSION_H
#define DELAYBRIDGE_BRIDGE_CORE_ADMISSION_H

#include "bridge/core/state.h"
void admission_serve(struct bridge *b, struct queue *q);
int64_t admission_wait_ms(const struct bridge *b, const struct queue *q); /* ms until it has work */

#endif
