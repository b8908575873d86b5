/* SPDX-License-Identifier: Apache-2.0 */
/* background: threads of low priority, and a caller that keeps its own. */
#include "bridge/base/background.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/resource.h>

static int priority_of_this_thread(void)
{
    return getpriority(PRIO_PROCESS, 0);
}

static void *note_priority(void *ctx)
{
    *(int *)ctx = priority_of_this_thread();
    return NULL;
}

/* Starts a thread and returns its priority, as api_start starts the threads of the admin API. */
static int start_another(void *ctx)
{
    pthread_t thread;
    int *seen = ctx;
    if (pthread_create(&thread, NULL, note_priority, seen) != 0)
        return ERR_NO_MEMORY;
    pthread_join(thread, NULL);
    return 7;
}

Test(background, threads_that_it_starts_have_a_lower_priority)
{
    int seen = 0, before = priority_of_this_thread();
    cr_expect_eq(background_start(start_another, &seen), 7);
    cr_expect_gt(seen, before);
    cr_expect_eq(priority_of_this_thread(), before);
}
