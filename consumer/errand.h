/* SPDX-License-Identifier: Apache-2.0 */
/* errand: a thread for calls of the client that wait for brokers, so that the loop never does. One
   call at a time; its end rings the wakeup. All functions are the loop's. */
#ifndef DELAYBRIDGE_CONSUMER_ERRAND_H
#define DELAYBRIDGE_CONSUMER_ERRAND_H

#include "consumer/wakeup.h"

#include <stdbool.h>

struct errand;

/* NULL: no memory or no thread. */
struct errand *errand_new(struct wakeup *wakeup);

/* What was begun is waited for, for timeout_ms at most. False: it still is under way; it keeps what
   it works with and the errand, for which nothing is to be freed. */
bool errand_free(struct errand *errand, int timeout_ms);

/* call(arg) in the thread. None may be under way; arg is call's until it is over. */
void errand_begin(struct errand *errand, void (*call)(void *arg), void *arg);

/* Whether no call is under way: what the last one wrote can be read. */
bool errand_is_over(struct errand *errand);

/* The same, waited for. */
bool errand_wait(struct errand *errand, int timeout_ms);

#endif
