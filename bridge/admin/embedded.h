/* SPDX-License-Identifier: Apache-2.0 */
/* embedded: files of the repository that the binary contains. */
#ifndef DELAYBRIDGE_BRIDGE_ADMIN_EMBEDDED_H
#define DELAYBRIDGE_BRIDGE_ADMIN_EMBEDDED_H

#include "levels/bytes.h"

struct bytes embedded_openapi(void); /* openapi.json */

#endif
