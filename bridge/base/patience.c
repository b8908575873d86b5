/* SPDX-License-Identifier: Apache-2.0 */
/* Shuts down the sockets of slow connections. libmicrohttpd then closes them. */
#include "bridge/base/patience.h"

#include "bridge/base/clock.h"

#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { STEP_MS = 100 };

static void end(struct patience_slot *slot)
{
    slot->ended = true;
    shutdown(slot->fd, SHUT_RDWR);
}

static void end_slow(struct patience *p)
{
    int64_t now_mono_ms = clock_mono_ms();
    pthread_mutex_lock(&p->mutex);
    for (int i = 0; i < p->slots_n; i++) {
        struct patience_slot *slot = &p->slots[i];
        bool is_slow =
            slot->state == PATIENCE_CALL && now_mono_ms - slot->since_mono_ms > p->call_ms;
        if (slot->fd >= 0 && !slot->ended && is_slow)
            end(slot);
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

int patience_start(struct patience *p, int connections_max, int64_t call_ms)
{
    *p = (struct patience){.call_ms = call_ms,
                           .slots_n = connections_max,
                           .slots = calloc((size_t)connections_max, sizeof *p->slots)};
    if (p->slots == NULL)
        return ERR_NO_MEMORY;
    for (int i = 0; i < p->slots_n; i++)
        p->slots[i].fd = -1;
    pthread_mutex_init(&p->mutex, NULL);
    if (pthread_create(&p->thread, NULL, run, p) == 0)
        return 0;
    pthread_mutex_destroy(&p->mutex);
    free(p->slots);
    return ERR_NO_MEMORY;
}

void patience_stop(struct patience *p)
{
    atomic_store(&p->ending, true);
    pthread_join(p->thread, NULL);
    pthread_mutex_destroy(&p->mutex);
    free(p->slots);
}

/* Ends the connection that has waited longest for its client, if too few are free or ended. */
static void make_room(struct patience *p)
{
    struct patience_slot *longest = NULL;
    int open = 0;
    for (int i = 0; i < p->slots_n; i++) {
        struct patience_slot *slot = &p->slots[i];
        if (slot->fd < 0 || slot->ended)
            continue;
        open++;
        if (slot->state != PATIENCE_ANSWER &&
            (longest == NULL || slot->since_mono_ms < longest->since_mono_ms))
            longest = slot;
    }
    if (open >= p->slots_n - PATIENCE_SPARE && longest != NULL)
        end(longest);
}

/* Returns NULL if there is no room, which the connection limit rules out. */
static struct patience_slot *add(struct patience *p, int fd)
{
    struct patience_slot *slot = NULL;
    pthread_mutex_lock(&p->mutex);
    make_room(p);
    for (int i = 0; i < p->slots_n && slot == NULL; i++)
        if (p->slots[i].fd < 0)
            slot = &p->slots[i];
    if (slot != NULL)
        *slot = (struct patience_slot){.fd = fd, .since_mono_ms = clock_mono_ms()};
    pthread_mutex_unlock(&p->mutex);
    return slot;
}

static void remove_slot(struct patience *p, struct patience_slot *slot)
{
    if (slot == NULL)
        return;
    pthread_mutex_lock(&p->mutex);
    slot->fd = -1;
    pthread_mutex_unlock(&p->mutex);
}

void patience_on_connection(void *ctx, struct MHD_Connection *connection, void **slot,
                            enum MHD_ConnectionNotificationCode what)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED)
        remove_slot(ctx, *slot);
    else
        *slot = info == NULL ? NULL : add(ctx, info->connect_fd);
}

void patience_enter(struct patience *p, struct MHD_Connection *connection,
                    enum patience_state state)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct patience_slot *slot = info == NULL ? NULL : info->socket_context;
    if (slot == NULL)
        return;
    pthread_mutex_lock(&p->mutex);
    slot->state = state;
    slot->since_mono_ms = clock_mono_ms();
    pthread_mutex_unlock(&p->mutex);
}
