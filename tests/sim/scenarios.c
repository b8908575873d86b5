/* SPDX-License-Identifier: Apache-2.0 */
/* The pinned stories. */
#include "tests/sim/scenarios.h"

#define SCENARIO_ROW(name) {#name, name},
const struct scenario scenarios[] = {SCENARIO_TABLE(SCENARIO_ROW){NULL, NULL}};
