/* SPDX-License-Identifier: Apache-2.0 */
/* address: HOST:PORT, as people write it. */
#ifndef DELAYBRIDGE_BRIDGE_CONFIG_ADDRESS_H
#define DELAYBRIDGE_BRIDGE_CONFIG_ADDRESS_H

enum { HOST_MAX = 256 };

/* HOST:PORT or [ADDRESS]:PORT cut in two: the host, without brackets, to host, and the port's text
   is returned, of text. NULL: it is neither. Nothing is looked up. */
const char *address_cut(const char *text, char host[HOST_MAX]);

#endif
