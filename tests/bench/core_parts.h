/* SPDX-License-Identifier: Apache-2.0 */
/* core_parts: the files of bench_core. */
#ifndef DELAYBRIDGE_TESTS_BENCH_CORE_PARTS_H
#define DELAYBRIDGE_TESTS_BENCH_CORE_PARTS_H

#include <stdint.h>

/* Prints the time of one of n operations, the shortest of some rounds, and all allocations. */
void core_measure(const char *name, int64_t n, void (*run)(void *ctx, int64_t n), void *ctx);

/* Measures decisions about paused and limited targets. */
void core_control(void);

#endif
