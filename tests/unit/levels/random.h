/* SPDX-License-Identifier: Apache-2.0 */
/* random: numbers of tests that compare with a model. The variable SEED repeats a run. */
#ifndef DELAYBRIDGE_TESTS_UNIT_LEVELS_RANDOM_H
#define DELAYBRIDGE_TESTS_UNIT_LEVELS_RANDOM_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t random_state;

/* Takes SEED, or the time without it, and prints it after the name of the test. */
static inline void random_start(const char *name)
{
    const char *seed = getenv("SEED");
    random_state = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    fprintf(stderr, "%s: SEED=%" PRIu64 "\n", name, random_state);
}

/* Returns a splitmix64 number. */
static inline uint64_t random_next(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static inline int64_t random_between(int64_t least, int64_t most)
{
    return least + (int64_t)(random_next() % (uint64_t)(most - least + 1));
}

#endif
