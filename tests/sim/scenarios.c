/* SPDX-License-Identifier: Apache-2.0 */
/* The pinned stories. */
#include "tests/sim/scenarios.h"

const struct scenario scenarios[] = {
    {NULL, NULL},
};
