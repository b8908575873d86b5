/* SPDX-License-Identifier: Apache-2.0 */
/* The build's version and commit, defined for this file alone. */
#include "bridge/base/version.h"

const char *const version_number = DELAYBRIDGE_VERSION;
const char *const version_commit = DELAYBRIDGE_COMMIT;
