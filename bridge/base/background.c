/* SPDX-License-Identifier: Apache-2.0 */
/* Linux has a priority for each thread, which a new thread inherits. A thread cannot raise it
   again, so the caller's thread keeps its own. */
#include "bridge/base/background.h"

#include <pthread.h>
#include <sys/resource.h>

enum { LOWER = 10 }; /* about a tenth of the share of a normal thread, if both want to run */

struct starting {
    int (*start)(void *ctx);
    void *ctx;
    int result;
};

static void *run(void *ctx)
{
    struct starting *starting = ctx;
    (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + LOWER);
    starting->result = starting->start(starting->ctx);
    return NULL;
}

int background_start(int (*start)(void *ctx), void *ctx)
{
    pthread_t thread;
    struct starting starting = {.start = start, .ctx = ctx};
    if (pthread_create(&thread, NULL, run, &starting) != 0)
        return ERR_NO_MEMORY;
    pthread_join(thread, NULL);
    return starting.result;
}
