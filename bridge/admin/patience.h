/* SPDX-License-Identifier: Apache-2.0 */
/* patience: closes connections that do not complete a call in time. The idle timeout of
   libmicrohttpd starts again with each byte, so a client that sends one byte at a time would keep
   its connection. Safe from any thread. */
#ifndef DELAYBRIDGE_BRIDGE_ADMIN_PATIENCE_H
#define DELAYBRIDGE_BRIDGE_ADMIN_PATIENCE_H

#include "levels/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { PATIENCE_MAX = 32 };

/* One connection. */
struct patience_slot {
    int fd; /* below 0: free */
    bool answering;
    int64_t since_mono_ms; /* it waits for a call since then */
};

struct patience {
    int64_t call_ms;       /* from the first byte that a call could send to its last one */
    pthread_mutex_t mutex; /* of slots */
    struct patience_slot slots[PATIENCE_MAX];
    pthread_t thread;
    atomic_bool ending;
};

/* Starts the thread. Returns 0, or ERR_NO_MEMORY. */
int patience_start(struct patience *patience, int64_t call_ms) must_check;
void patience_stop(struct patience *patience);

/* Watches a connection. Returns NULL if there are too many. Remove it before fd is closed. */
struct patience_slot *patience_add(struct patience *patience, int fd);
void patience_remove(struct patience *patience, struct patience_slot *slot);

/* The call of the connection is complete, and is answered now; or the next call may begin. slot may
   be NULL. */
void patience_answering(struct patience *patience, struct patience_slot *slot, bool answering);

#endif
