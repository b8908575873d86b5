/* SPDX-License-Identifier: Apache-2.0 */
/* blocking_call: a thread that runs client calls which wait for brokers, so that the worker's loop
   never waits. One call runs at a time; its end signals WAKEUP_REPORTS. Only the loop's thread may
   call these functions. */
#ifndef DELAYBRIDGE_CONSUMER_BLOCKING_CALL_H
#define DELAYBRIDGE_CONSUMER_BLOCKING_CALL_H

#include "consumer/wakeup.h"

#include <stdbool.h>

struct blocking_call;

/* Returns NULL if memory or a thread is lacking. */
struct blocking_call *blocking_call_new(struct wakeup *wakeup);

/* Waits for the running call, for timeout_ms at most, and ends the thread. Returns false if the
   call still runs. It then keeps its argument and the blocking_call in use: free neither. */
bool blocking_call_free(struct blocking_call *blocking_call, int timeout_ms);

/* Runs call(arg) in the thread. No other call may be running; arg belongs to the call until it has
   ended. */
void blocking_call_begin(struct blocking_call *blocking_call, void (*call)(void *arg), void *arg);

/* Returns whether no call is running. Results of the last call may be read then. */
bool blocking_call_is_over(struct blocking_call *blocking_call);

/* Waits for the running call, for timeout_ms at most. Returns whether no call is running. */
bool blocking_call_wait(struct blocking_call *blocking_call, int timeout_ms);

#endif
