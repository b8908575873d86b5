/* SPDX-License-Identifier: Apache-2.0 */
/* version: which build this is. */
#ifndef DELAYBRIDGE_BRIDGE_BASE_VERSION_H
#define DELAYBRIDGE_BRIDGE_BASE_VERSION_H

extern const char *const version_number; /* 0.1.0 */
extern const char *const version_commit; /* abbreviated, or "unknown" */

#endif
