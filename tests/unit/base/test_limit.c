/* SPDX-License-Identifier: Apache-2.0 */
/* limit: the first line is written at once, then few. The counts include all lines. Memory is
   bounded for any keys. */
#include "bridge/base/limit.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { EVERY_MS = 10000 };

static uint64_t hash_of(uint64_t n)
{
    return limit_key(LIMIT_KEY, bytes_of(&n, sizeof n));
}

/* Returns a kind that belongs to no group. */
static struct limit_kind kind_of(uint64_t n)
{
    return (struct limit_kind){.key = hash_of(n)};
}

Test(limit, first_line_passes_and_the_next_ones_are_counted)
{
    struct limit limit = LIMIT_INIT(EVERY_MS, 1);
    uint64_t suppressed = 99;
    cr_expect(limit_pass(&limit, kind_of(1), 0, &suppressed));
    cr_expect_eq(suppressed, 0);
    for (int i = 0; i < 400; i++)
        cr_expect(!limit_pass(&limit, kind_of(1), EVERY_MS - 1, &suppressed));
    cr_expect_eq(limit_pending(&limit), 400);
    cr_expect(limit_pass(&limit, kind_of(1), EVERY_MS, &suppressed));
    cr_expect_eq(suppressed, 400);
    cr_expect_eq(limit_pending(&limit), 0);
    cr_expect(!limit_pass(&limit, kind_of(1), 2 * EVERY_MS - 1, &suppressed));
}

Test(limit, keys_do_not_suppress_each_other)
{
    struct limit limit = LIMIT_INIT(EVERY_MS, 1);
    uint64_t suppressed;
    cr_expect(limit_pass(&limit, kind_of(1), 0, &suppressed));
    cr_expect(limit_pass(&limit, kind_of(2), 0, &suppressed));
    cr_expect(!limit_pass(&limit, kind_of(1), 1, &suppressed));
}

Test(limit, names_that_differ_in_their_last_character_have_a_slot_each)
{
    struct limit limit = LIMIT_INIT(EVERY_MS, 1);
    uint64_t suppressed;
    int passed = 0;
    for (char last = 'a'; last <= 'p'; last++) {
        char name[] = {'o', 'r', 'd', 'e', 'r', 's', '.', last, '\0'};
        struct limit_kind kind = {.key = limit_key(LIMIT_KEY, bytes_text(name))};
        passed += limit_pass(&limit, kind, 0, &suppressed);
    }
    cr_expect_eq(passed, 'p' - 'a' + 1);
}

Test(limit, burst_of_lines_passes_in_each_period)
{
    struct limit limit = LIMIT_INIT(EVERY_MS, 3);
    uint64_t suppressed;
    int passed = 0;
    for (int i = 0; i < 10; i++)
        passed += limit_pass(&limit, kind_of(1), i, &suppressed);
    cr_expect_eq(passed, 3);
    cr_expect(limit_pass(&limit, kind_of(1), EVERY_MS, &suppressed));
    cr_expect_eq(suppressed, 7);
}

Test(limit, parts_of_a_key_are_kept_apart)
{
    uint64_t one = limit_key(limit_key(LIMIT_KEY, bytes_text("ab")), bytes_text("c"));
    uint64_t two = limit_key(limit_key(LIMIT_KEY, bytes_text("a")), bytes_text("bc"));
    cr_expect_neq(one, two);
    cr_expect_neq(limit_key(LIMIT_KEY, bytes_text("")), LIMIT_KEY);
}

Test(limit, keys_without_a_slot_share_the_slot_of_their_group)
{
    struct limit limit = LIMIT_INIT(EVERY_MS, 1);
    uint64_t suppressed;
    struct limit_kind kind = {.group = hash_of(1000000)};
    int passed = 0;
    for (uint64_t n = 0; n < 500; n++) {
        kind.key = hash_of(n);
        passed += limit_pass(&limit, kind, 0, &suppressed);
    }
    cr_expect_leq(passed, LIMIT_KEYS + 1);
    kind = (struct limit_kind){.key = hash_of(500), .group = hash_of(1000001)};
    cr_expect(limit_pass(&limit, kind, 1, &suppressed), "another group has a line");
    cr_expect_not(limit_pass(&limit, kind, 2, &suppressed));
}

/* Returns a random number that the seed repeats. */
static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Returns the largest number of passes within any span of every_ms. Checks the counts at each step.
 */
static int most_passed(uint64_t seed, uint64_t keys, uint64_t groups)
{
    struct limit limit = LIMIT_INIT(1000, 2);
    static int64_t at[200000];
    int n = 0, first = 0, most = 0;
    uint64_t lines = 0, reported = 0, suppressed, state = seed;
    int64_t now_ms = 0;
    for (int i = 0; i < 200000; i++) {
        now_ms += random_next(&state) % 50 == 0 ? (int64_t)(random_next(&state) % 200) : 0;
        lines++;
        struct limit_kind kind = kind_of(random_next(&state) % keys);
        kind.group = groups == 0 ? 0 : hash_of(random_next(&state) % groups);
        if (limit_pass(&limit, kind, now_ms, &suppressed)) {
            reported += 1 + suppressed;
            at[n++] = now_ms;
            while (at[first] <= now_ms - 1000)
                first++;
            most = n - first > most ? n - first : most;
        }
        cr_assert_eq(reported + limit_pending(&limit), lines, "seed %llu",
                     (unsigned long long)seed);
    }
    return most;
}

Test(limit, lines_are_bounded_and_counted_for_any_keys)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        /* A span of that length can touch two periods: a period begins with its first line. */
        cr_expect_leq(most_passed(seed, 3, 0), 2 * 3 * 2);
        cr_expect_leq(most_passed(seed, 18000, 0), 2 * (LIMIT_KEYS + 1) * 2);
        cr_expect_leq(most_passed(seed, 18000, 3), 2 * (LIMIT_KEYS + 3) * 2);
        cr_expect_leq(most_passed(seed, 18000, 18000), 2 * LIMIT_SLOTS * 2);
    }
}
