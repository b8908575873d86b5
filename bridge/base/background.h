/* SPDX-License-Identifier: Apache-2.0 */
/* background: threads that deliveries do not wait for. They have a low priority, so that on a busy
   machine the threads that deliver run first. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_BACKGROUND_H
#define DELAYBRIDGE_BRIDGE_BASE_BACKGROUND_H

#include "levels/err.h"

/* Calls start in a thread of low priority, and returns its result, or ERR_NO_MEMORY without a
   thread. All threads that start creates, and those that they create, inherit the priority, also
   threads of libraries. If the system forbids it, they have the normal one. */
int background_start(int (*start)(void *ctx), void *ctx) must_check;

#endif
