/* SPDX-License-Identifier: Apache-2.0 */
/* apart_fixture: a bridge in exactly-once mode, whose target `orders` is slow. */
#ifndef DELAYBRIDGE_TESTS_UNIT_CORE_APART_FIXTURE_H
#define DELAYBRIDGE_TESTS_UNIT_CORE_APART_FIXTURE_H

#include "bridge/core/state.h"

enum { SLOW_MS = 400, STAYS_MS = 10000, JUDGE_MS = 200, LOOK_MS = 500 };

extern struct target *slow, *fast; /* orders, bills */

void apart_start(void);
/* Sends a record, and expects it in the transaction apart. */
struct parcel *apart_sent(void);
struct parcel *apart_sent_to(const char *target);
/* Sends a record apart, acknowledges it, and closes its transaction. */
struct parcel *apart_complete(void);
/* Lets both targets acknowledge after these times, and judges them. */
void apart_look(int64_t slow_ms, int64_t fast_ms);
/* The same at two looks. */
void apart_judge(int64_t slow_ms, int64_t fast_ms);

#endif
