/* SPDX-License-Identifier: Apache-2.0 */
/* embedded: files of the repository that the binary contains. */
#ifndef DELAYBRIDGE_BRIDGE_ADMIN_EMBEDDED_H
#define DELAYBRIDGE_BRIDGE_ADMIN_EMBEDDED_H

#include "levels/bytes.h"

#include <stdbool.h>

struct bytes embedded_openapi(void); /* openapi.json */

/* Finds a file of the page, such as "index.html", with its type. It is compressed with gzip.
   Returns false if there is none. */
bool embedded_page(const char *name, struct bytes *file, const char **type);

#endif
