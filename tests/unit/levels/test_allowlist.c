/* SPDX-License-Identifier: Apache-2.0 */
/* allowlist: the names that patterns allow. */
#include "levels/allowlist.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool allows(const char *pattern, const char *name)
{
    struct allowlist allowlist = {&pattern, 1, "schedule"};
    return allowlist_allows(&allowlist, bytes_text(name));
}

Test(allowlist, literal_pattern_is_the_name_itself)
{
    cr_expect(allows("orders.timeout", "orders.timeout"));
    cr_expect_not(allows("orders.timeout", "orders_timeout"), "a point is no wildcard");
    cr_expect_not(allows("orders.timeout", "orders.timeouts"));
    cr_expect_not(allows("orders.timeout", "orders.timeou"));
    cr_expect_not(allows("orders.timeout", "Orders.timeout"));
    cr_expect_not(allows("", "a"));
}

Test(allowlist, star_matches_any_run)
{
    cr_expect(allows("*", "a"));
    cr_expect(allows("payments.*", "payments.eu"));
    cr_expect(allows("payments.*", "payments."), "of no length too");
    cr_expect(allows("payments.*", "payments.eu.west"), "over points");
    cr_expect_not(allows("payments.*", "payments"));
    cr_expect_not(allows("payments.*", "xpayments.eu"));
    cr_expect(allows("*.timeout", "orders.timeout"));
    cr_expect_not(allows("*.timeout", "orders.timeout.x"));
    cr_expect(allows("a*b*c", "abc"));
    cr_expect(allows("a*b*c", "aXbYbZc"));
    cr_expect_not(allows("a*b*c", "acb"));
    cr_expect(allows("*ab", "aaab"));
    cr_expect(allows("*a*", "bab"));
    cr_expect_not(allows("*a*", "bbb"));
    cr_expect(allows("**", "a"));
    cr_expect(allows("a**", "a"));
    cr_expect_not(allows("a*a", "a"));
}

enum { NAME_MAX = 6 };

/* Writes the text with this number over these characters. The numbers of all texts of up to n
   characters are below the sum of letters^i for i from 0 to n. Returns the text. */
static const char *text_of(unsigned number, const char *letters, char out[NAME_MAX + 1])
{
    unsigned n = (unsigned)strlen(letters);
    size_t len = 0;
    for (unsigned of_len = 1; number >= of_len; of_len *= n, len++)
        number -= of_len;
    for (size_t i = 0; i < len; i++, number /= n)
        out[i] = letters[number % n];
    out[len] = '\0';
    return out;
}

static bool have_common_name(const char *a, const char *b)
{
    char name[NAME_MAX + 1];
    for (unsigned n = 0; n < (1u << (NAME_MAX + 1)) - 1; n++) {
        text_of(n, "xy", name);
        if (allowlist_pattern_matches(a, bytes_text(name)) &&
            allowlist_pattern_matches(b, bytes_text(name)))
            return true;
    }
    return false;
}

Test(allowlist, patterns_overlap_if_a_name_matches_both)
{
    enum { PATTERNS = 1 + 3 + 9 + 27 };
    char a[NAME_MAX + 1], b[NAME_MAX + 1];
    for (unsigned i = 1; i < PATTERNS; i++) {
        for (unsigned k = 1; k < PATTERNS; k++) {
            text_of(i, "xy*", a);
            text_of(k, "xy*", b);
            cr_expect_eq(allowlist_patterns_overlap(a, b), have_common_name(a, b), "%s %s", a, b);
        }
    }
    cr_expect(allowlist_patterns_overlap("orders.*", "*.timeout"));
    cr_expect(allowlist_patterns_overlap("orders.eu.*.timeout", "orders.*t"));
    cr_expect_not(allowlist_patterns_overlap("orders.*", "payments.*"));
    cr_expect_not(allowlist_patterns_overlap("*.timeout", "*.retry"));
}

Test(allowlist, one_matching_pattern_is_enough)
{
    static const char *const PATTERNS[] = {"orders.timeout", "payments.*"};
    struct allowlist allowlist = {PATTERNS, 2, "schedule"};
    cr_expect(allowlist_allows(&allowlist, bytes_text("orders.timeout")));
    cr_expect(allowlist_allows(&allowlist, bytes_text("payments.eu")));
    cr_expect_not(allowlist_allows(&allowlist, bytes_text("secret")));
    allowlist.patterns_n = 0;
    cr_expect_not(allowlist_allows(&allowlist, bytes_text("orders.timeout")),
                  "none allows nothing");
}

Test(allowlist, no_pattern_allows_internal_or_illegal_names)
{
    static const char *const NAMES[] = {"schedule", "schedule.1m", "schedule.dead-letter", "__x",
                                        "schedule.cancelled"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        cr_expect_not(allows("*", NAMES[i]), "%s", NAMES[i]);
        cr_expect_not(allows(NAMES[i], NAMES[i]), "%s, named", NAMES[i]);
    }
    cr_expect_not(allows("*", ".."));
    cr_expect_not(allows("a b", "a b"));
    cr_expect_not(allows("*", ""));
    cr_expect(allows("*", "schedule.orders"));
}

Test(allowlist, canary_is_a_target_with_any_patterns)
{
    cr_expect(allows("orders", "schedule.canary"));
    cr_expect_not(allows("schedule.*", "schedule.pulse"));
    cr_expect_not(allows("orders", "schedule.canary.x"));
    cr_expect_not(
        allows("*", "__consum.canary")); /* a prefix as long as the name of the schedule topic */
}

Test(allowlist, many_stars_match_in_bounded_time, .timeout = 5)
{
    char pattern[2 * 100 + 2], name[TOPIC_NAME_MAX + 1] = {0};
    for (int i = 0; i < 100; i++)
        memcpy(pattern + (size_t)i * 2, "*a", 2);
    strcpy(pattern + 200, "b");
    memset(name, 'a', TOPIC_NAME_MAX);
    for (int i = 0; i < 1000; i++)
        cr_assert_not(allows(pattern, name));
}

static bool by_definition(const char *pattern, const char *name)
{
    if (*pattern == '\0')
        return *name == '\0';
    if (*pattern == '*')
        return by_definition(pattern + 1, name) || (*name && by_definition(pattern, name + 1));
    return *pattern == *name && by_definition(pattern + 1, name + 1);
}

Test(allowlist, patterns_match_as_defined)
{
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    fprintf(stderr, "allowlist: SEED=%" PRIu64 "\n", seed);
    for (int i = 0; i < 200000; i++) {
        char pattern[8] = {0}, name[10] = {0};
        seed = seed * 6364136223846793005 + 1442695040888963407;
        uint64_t bits = seed >> 16, pattern_n = bits % 8, name_n = 1 + (bits >> 3) % 9;
        bits >>= 8;
        for (size_t k = 0; k < pattern_n; k++, bits /= 3)
            pattern[k] = "ab*"[bits % 3];
        for (size_t k = 0; k < name_n; k++, bits /= 2)
            name[k] = "ab"[bits % 2];
        cr_assert_eq(allows(pattern, name), by_definition(pattern, name), "%s of %s", name,
                     pattern);
    }
}

static int entry(const char *name)
{
    static const char *const patterns[] = {"*", "orders.*", "orders.timeout", "a*", "a*b"};
    struct allowlist allowlist = {patterns, 5, "schedule"};
    return allowlist_entry(&allowlist, bytes_text(name));
}

Test(allowlist, entry_with_the_longest_literal_prefix_counts)
{
    cr_expect_eq(entry("orders.timeout"), 2);
    cr_expect_eq(entry("orders.retry"), 1);
    cr_expect_eq(entry("billing"), 0);
    cr_expect_eq(entry("axb"), 4, "of equal ones the later");
    cr_expect_eq(entry("axc"), 3);
    cr_expect_eq(entry("schedule.canary"), -1);
    cr_expect_eq(entry("schedule.1s"), -1);
    cr_expect_eq(entry("no topic name"), -1);
}
