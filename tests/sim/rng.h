/* SPDX-License-Identifier: Apache-2.0 */
/* rng: random numbers that a seed repeats (splitmix64). */
#ifndef DELAYBRIDGE_TESTS_SIM_RNG_H
#define DELAYBRIDGE_TESTS_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Returns a generator. Those of neighboring seeds are unrelated. */
static inline struct rng rng_of(uint64_t seed)
{
    struct rng rng = {seed};
    return (struct rng){rng_next(&rng)};
}

/* Returns a number from low to high, both included. */
static inline int64_t rng_between(struct rng *rng, int64_t low, int64_t high)
{
    return low + (int64_t)(rng_next(rng) % (uint64_t)(high - low + 1));
}

static inline int rng_int(struct rng *rng, int low, int high)
{
    return (int)rng_between(rng, low, high);
}

/* Returns true with this probability out of ten thousand. Draws no number for 0, so that a disabled
   fault does not change later draws. */
static inline bool rng_chance(struct rng *rng, int of_10k)
{
    return of_10k > 0 && rng_int(rng, 0, 9999) < of_10k;
}

#endif
