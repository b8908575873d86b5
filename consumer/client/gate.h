/* SPDX-License-Identifier: Apache-2.0 */
/* gate: the address at which clients reach the mock cluster. The cluster itself has a random port
   on loopback, and advertises it. The gate passes each connection on to the cluster, and changes
   some answers (gate_wire.h). Those with addresses of brokers get the address of the gate. Those
   about versions get a form that clients in Java can read. It also creates topics for admin
   clients, because the cluster cannot.

   A connection has two threads and its own connection to the cluster. So answers stay in their
   order, and a slow client delays only itself. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_GATE_H
#define DELAYBRIDGE_CONSUMER_CLIENT_GATE_H

#include "bridge/base/error.h"
#include "consumer/client/gate_wire.h"

struct gate;

struct gate_config {
    const char *cluster;         /* HOST:PORT of the mock cluster */
    const char *listen;          /* HOST:PORT; port 0: the kernel chooses one */
    const char *advertise;       /* HOST:PORT for clients; NULL: that of the listener */
    struct wire_creator creator; /* creates topics in the cluster; called by several threads */
};

/* Listens from the return on. Returns NULL with a sentence in error. */
struct gate *gate_start(const struct gate_config *config, struct error *error);

/* Returns the advertised HOST:PORT, valid until gate_stop. */
const char *gate_address(const struct gate *gate);

/* Closes all connections and waits for their threads. */
void gate_stop(struct gate *gate);

#endif
