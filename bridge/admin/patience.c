/* SPDX-License-Identifier: Apache-2.0 */
/* A thread shuts down the sockets of slow connections. libmicrohttpd then closes them. */
#include "bridge/admin/patience.h"

#include "bridge/base/clock.h"

#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>

enum { STEP_MS = 100 };

static void end_slow(struct patience *p)
{
    int64_t now_mono_ms = clock_mono_ms();
    pthread_mutex_lock(&p->mutex);
    for (int i = 0; i < PATIENCE_MAX; i++) {
        const struct patience_slot *slot = &p->slots[i];
        if (slot->fd >= 0 && !slot->answering && now_mono_ms - slot->since_mono_ms > p->call_ms)
            shutdown(slot->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&p->mutex);
}

static void *run(void *ctx)
{
    struct patience *p = ctx;
    while (!atomic_load(&p->ending)) {
        end_slow(p);
        poll(NULL, 0, STEP_MS);
    }
    return NULL;
}

int patience_start(struct patience *p, int64_t call_ms)
{
    p->call_ms = call_ms;
    atomic_store(&p->ending, false);
    pthread_mutex_init(&p->mutex, NULL);
    for (int i = 0; i < PATIENCE_MAX; i++)
        p->slots[i] = (struct patience_slot){.fd = -1};
    if (pthread_create(&p->thread, NULL, run, p) == 0)
        return 0;
    pthread_mutex_destroy(&p->mutex);
    return ERR_NO_MEMORY;
}

void patience_stop(struct patience *p)
{
    atomic_store(&p->ending, true);
    pthread_join(p->thread, NULL);
    pthread_mutex_destroy(&p->mutex);
}

struct patience_slot *patience_add(struct patience *p, int fd)
{
    struct patience_slot *slot = NULL;
    pthread_mutex_lock(&p->mutex);
    for (int i = 0; i < PATIENCE_MAX && slot == NULL; i++)
        if (p->slots[i].fd < 0)
            slot = &p->slots[i];
    if (slot != NULL)
        *slot = (struct patience_slot){.fd = fd, .since_mono_ms = clock_mono_ms()};
    pthread_mutex_unlock(&p->mutex);
    return slot;
}

void patience_remove(struct patience *p, struct patience_slot *slot)
{
    if (slot == NULL)
        return;
    pthread_mutex_lock(&p->mutex);
    slot->fd = -1;
    pthread_mutex_unlock(&p->mutex);
}

void patience_answering(struct patience *p, struct patience_slot *slot, bool answering)
{
    if (slot == NULL)
        return;
    pthread_mutex_lock(&p->mutex);
    slot->answering = answering;
    slot->since_mono_ms = clock_mono_ms();
    pthread_mutex_unlock(&p->mutex);
}
