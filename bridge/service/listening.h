/* SPDX-License-Identifier: Apache-2.0 */
/* listening: a TCP socket that listens at the address of a configuration key. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_LISTENING_H
#define DELAYBRIDGE_BRIDGE_SERVICE_LISTENING_H

#include "bridge/base/error.h"

/* Listens at HOST:PORT or [ADDRESS]:PORT; port 0 chooses a free one. key: of the configuration, for
   the sentence. Returns a file descriptor, which does not block, or -1 with a sentence. */
int listening_open(const char *key, const char *address, struct error *error);

/* Returns the port, or 0 if it is unknown. */
int listening_port(int fd);

#endif
