/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes the calls of each seed in each delivery mode. */
#include "tests/sim/digest.h"
#include "tests/sim/faults.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <inttypes.h>
#include <stdio.h>

/* Adds the line to the hash. The order of lines counts, since the hash of earlier lines is the
   seed. */
void digest_add_line(struct digest *d)
{
    line_text(&d->line, "\n");
    d->hash = XXH3_64bits_withSeed(d->line.text, d->line.len, d->hash);
    if (d->prints)
        fwrite(d->line.text, 1, d->line.len, stdout);
    d->line.len = 0;
}

uint32_t digest_of_bytes(struct bytes bytes)
{
    return (uint32_t)XXH3_64bits(bytes.data, bytes.len);
}

static const char *mode_text(enum mode mode)
{
    return mode == MODE_EXACTLY_ONCE ? "exactly once " : "at least once";
}

/* Runs all seeds in one mode. Returns how many failed. The digest of a failed run covers its calls
   up to the failure. */
static uint64_t digest_mode(struct world *world, const struct digest_options *options)
{
    struct digest *d = world->digest;
    uint64_t total = 0, calls = 0, failed = 0;
    for (uint64_t i = 0; i < options->n; i++) {
        uint64_t seed = options->from + i;
        d->hash = d->calls = d->line.len = 0;
        if (!world_passes(world, seed, run_seed)) {
            printf("%s seed %" PRIu64 " FAILED: %s\n", mode_text(world->mode), seed, world_failure);
            failed++;
        }
        char line[64];
        int len = snprintf(line, sizeof line, "%016" PRIx64 " seed %" PRIu64 ", %" PRIu64 " calls",
                           d->hash, seed, d->calls);
        total = XXH3_64bits_withSeed(line, (size_t)len, total);
        calls += d->calls;
        if (options->each)
            printf("%s %s\n", mode_text(world->mode), line);
    }
    printf("%s %016" PRIx64 " %" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " calls\n",
           mode_text(world->mode), total, options->n, options->from, calls);
    return failed;
}

uint64_t digest_seeds(const struct digest_options *options)
{
    static struct world world;
    static struct digest digest;
    uint64_t failed = 0;
    digest.prints = options->calls;
    world.digest = &digest;
    world.bug = options->bug;
    world.strict = options->strict;
    world.without_cancels = true;
    for (enum mode mode = MODE_AT_LEAST_ONCE; mode <= MODE_EXACTLY_ONCE; mode++) {
        world.mode = mode;
        failed += digest_mode(&world, options);
    }
    world_forget(&world);
    return failed;
}
