/* SPDX-License-Identifier: Apache-2.0 */
/* gate_socket: sockets of the gate, and messages with their length in front. All calls block. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_GATE_SOCKET_H
#define DELAYBRIDGE_CONSUMER_CLIENT_GATE_SOCKET_H

#include "bridge/base/error.h"
#include "consumer/client/gate_wire.h"

/* Returns a socket that is connected to HOST:PORT or listens at it, or -1 with a sentence. */
int gate_socket(const char *address, bool listens, struct error *error);

/* Receives the next message into w, which keeps its memory. Returns false at the end of the
   connection, without memory, and for a message above 100 MiB. */
bool gate_receive(int fd, struct wire *w);

/* Returns false if the connection has ended. */
bool gate_send(int fd, const struct wire *w);

#endif
