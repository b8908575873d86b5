/* SPDX-License-Identifier: Apache-2.0 */
/* blocking_call: a thread for calls of the client that wait for brokers, so that the loop never
   does. One call at a time; its end rings the wakeup. All functions are the loop's. */
#ifndef DELAYBRIDGE_CONSUMER_BLOCKING_CALL_H
#define DELAYBRIDGE_CONSUMER_BLOCKING_CALL_H

#include "consumer/wakeup.h"

#include <stdbool.h>

struct blocking_call;

/* NULL: no memory or no thread. */
struct blocking_call *blocking_call_new(struct wakeup *wakeup);

/* What was begun is waited for, for timeout_ms at most. False: it still is under way; it keeps what
   it works with and the blocking call, for which nothing is to be freed. */
bool blocking_call_free(struct blocking_call *blocking_call, int timeout_ms);

/* call(arg) in the thread. None may be under way; arg is call's until it is over. */
void blocking_call_begin(struct blocking_call *blocking_call, void (*call)(void *arg), void *arg);

/* Whether no call is under way: what the last one wrote can be read. */
bool blocking_call_is_over(struct blocking_call *blocking_call);

/* The same, waited for. */
bool blocking_call_wait(struct blocking_call *blocking_call, int timeout_ms);

#endif
