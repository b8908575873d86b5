/* SPDX-License-Identifier: Apache-2.0 */
/* digest: all calls of a bridge to its port, as lines of text, and a hash of these lines. Two
   builds decide alike if their digests are equal. A change of the bridge's structure must not
   change them.

   A line has the virtual time, the process and its life, the call, its arguments and the answer.
   Lines do not depend on memory layout, on identifiers or on sentences. So they have
     - no pointer and no index: a queue is a level's span (or S, the schedule topic) and a lane,
     - no sentence, and no size that depends on a sentence,
     - no commit number, which only matches an answer with its commit,
     - no enum value, because names.c has a word for each.
   A key, a value and encoded headers are 8 digits of their hash. */
#ifndef DELAYBRIDGE_TESTS_SIM_DIGEST_H
#define DELAYBRIDGE_TESTS_SIM_DIGEST_H

#include "tests/sim/line.h"
#include "tests/sim/world.h"

struct digest {
    uint64_t hash, calls; /* of the current seed */
    bool prints;          /* each line is printed, too */
    struct line line;     /* the call under way; empty between calls */
};

/* Ends the line, and adds it to the hash. */
void digest_add_line(struct digest *digest);
/* Returns the last 32 bits of the hash. */
uint32_t digest_of_bytes(struct bytes bytes);

/* Returns a port that adds each call to world->digest and passes it on to port. Returns port itself
   if world->digest is NULL. */
struct port recorder_port(struct process *process, struct port port);

struct digest_options {
    uint64_t from, n;
    bool each;  /* print the digest of each seed */
    bool calls; /* print each call */
    bool strict;
    enum bug bug;
};

/* Runs each seed in both delivery modes and prints one digest for each mode. Returns how many runs
   failed. */
uint64_t digest_seeds(const struct digest_options *options);

#endif
