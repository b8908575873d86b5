/* SPDX-License-Identifier: Apache-2.0 */
/* alloc: the n-th allocation that our own objects ask for fails. Linked with --wrap, so it sees the
   calls of bridge/, consumer/ and levels/ alone: what librdkafka and libyaml ask for themselves is
   theirs to survive. A call of libmicrohttpd that comes back with nothing counts as one of them.
   Any thread may ask. */
#ifndef DELAYBRIDGE_TESTS_FAULTS_ALLOC_H
#define DELAYBRIDGE_TESTS_FAULTS_ALLOC_H

#include <stdint.h>

/* From now on the allocations are counted, and first, first + 1 .. first + n - 1 fail. */
void alloc_fail(uint64_t first, uint64_t n);

/* The same. After the first failure all requests within ms fail too. */
void alloc_fail_for(uint64_t first, int64_t ms);

/* Return the number of requests since then, and the number of those that failed. */
uint64_t alloc_asked(void);
uint64_t alloc_failed(void);

/* Returns the caller of the first request that failed, as an address for addr2line. NULL: none
   failed. */
const void *alloc_where(void);

#endif
