/* SPDX-License-Identifier: Apache-2.0 */
/* patience: closes connections that wait for slow clients. It does so after a time, because the
   idle timeout of libmicrohttpd starts again with each byte. When all but a few connections are in
   use, it closes the one that has waited longest. So any number of slow clients cannot keep others
   out. Safe from any thread. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_PATIENCE_H
#define DELAYBRIDGE_BRIDGE_BASE_PATIENCE_H

#include "levels/err.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Connections that stay free for clients that are not slow. */
enum { PATIENCE_SPARE = 4 };

enum patience_state {
    PATIENCE_CALL,   /* its client sends a call, for call_ms at most */
    PATIENCE_ANSWER, /* the answer is composed; it is not closed here */
    PATIENCE_READ    /* its client reads the answer */
};

/* One connection. */
struct patience_slot {
    int fd; /* below 0: free */
    enum patience_state state;
    int64_t since_mono_ms; /* of state */
    bool ended;            /* shut down here; libmicrohttpd closes it soon */
};

struct patience {
    int64_t call_ms;
    int slots_n;                 /* the connection limit of the daemon */
    pthread_mutex_t mutex;       /* of slots */
    struct patience_slot *slots; /* owned */
    pthread_t thread;
    atomic_bool ending;
};

/* Starts the thread, before the daemon. Returns 0, or ERR_NO_MEMORY. */
int patience_start(struct patience *patience, int connections_max, int64_t call_ms) must_check;

/* Stops the thread, after the daemon. */
void patience_stop(struct patience *patience);

/* MHD_OPTION_NOTIFY_CONNECTION; ctx is a struct patience. The context of a connection is its slot.
 */
void patience_on_connection(void *ctx, struct MHD_Connection *connection, void **slot,
                            enum MHD_ConnectionNotificationCode what);

/* Notes the state of a connection. A new one is in PATIENCE_CALL. */
void patience_enter(struct patience *patience, struct MHD_Connection *connection,
                    enum patience_state state);

#endif
