/* SPDX-License-Identifier: Apache-2.0 */
/* loads: the port of cancels. Brokers answer a query after a while, or never. A load reads a log
   to an end, in pieces, and waits for open transactions. */
#ifndef DELAYBRIDGE_TESTS_SIM_LOADS_H
#define DELAYBRIDGE_TESTS_SIM_LOADS_H

#include "tests/sim/world.h"

void port_query_ends(void *ctx, int lane);
void port_load(void *ctx, const struct load *load);
void port_trim_cancels(void *ctx, int lane, int64_t below);
/* The lane is lost: no answer follows. */
void loads_end(struct process *process, int lane);

#endif
