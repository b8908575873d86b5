/* SPDX-License-Identifier: Apache-2.0 */
/* address: parsing of HOST:PORT. */
#ifndef DELAYBRIDGE_BRIDGE_CONFIG_ADDRESS_H
#define DELAYBRIDGE_BRIDGE_CONFIG_ADDRESS_H

#include <stdbool.h>

enum { HOST_MAX = 256 };

/* Cuts HOST:PORT or [ADDRESS]:PORT in two. Writes the host without brackets to host, and returns
   the text of the port inside text. Returns NULL for any other text. Does not resolve the host. */
const char *address_cut(const char *text, char host[HOST_MAX]);

/* Returns whether HOST:PORT is on loopback: 127.0.0.0/8, [::1] or localhost. Other names are not
   resolved, so they are not. */
bool address_is_loopback(const char *text);

/* Returns whether HOST:PORT stands for all addresses of a host: 0.0.0.0 or [::]. */
bool address_is_wildcard(const char *text);

#endif
