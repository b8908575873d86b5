/* SPDX-License-Identifier: Apache-2.0 */
/* memory: ends the process if memory is lacking while it starts or checks topics. Code that runs
   while records are in flight must not use this: it returns an error, and the lane continues. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_MEMORY_H
#define DELAYBRIDGE_BRIDGE_BASE_MEMORY_H

#include <stdio.h>
#include <unistd.h>

/* Returns memory, a result of malloc, realloc, strdup or similar. Ends the process if it is NULL.
 */
static inline void *memory_or_end(void *memory)
{
    enum { EX_INTERNAL = 70 };
    if (memory == NULL) {
        fputs("delaybridge: out of memory\n", stderr);
        _exit(EX_INTERNAL);
    }
    return memory;
}

#endif
