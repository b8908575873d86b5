/* SPDX-License-Identifier: Apache-2.0 */
/* memory: for what a process cannot go on without, when it starts and when it checks topics:
   without memory it says so and ends. What runs while records fly has no use for this: it gives an
   error back, and goes on. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_MEMORY_H
#define DELAYBRIDGE_BRIDGE_BASE_MEMORY_H

#include <stdio.h>
#include <unistd.h>

/* What malloc and its like returned, if it is there. */
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
