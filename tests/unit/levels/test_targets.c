/* SPDX-License-Identifier: Apache-2.0 */
/* targets: legal names, internal names, and the names that patterns allow. */
#include "levels/targets.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EACH(check, ...)                                            \
    do {                                                            \
        static const char *const texts[] = {__VA_ARGS__};           \
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) \
            check(texts[i]);                                        \
    } while (0)

static void expect_legal(const char *name)
{
    cr_expect(topic_name_is_legal(bytes_text(name)), "'%s' is refused", name);
}

static void expect_illegal(const char *name)
{
    cr_expect_not(topic_name_is_legal(bytes_text(name)), "'%s' is taken", name);
}

static void expect_internal(const char *name)
{
    cr_expect(topic_is_internal("schedule", bytes_text(name)), "'%s' is a target", name);
}

static void expect_foreign(const char *name)
{
    cr_expect_not(topic_is_internal("schedule", bytes_text(name)), "'%s' is internal", name);
}

static bool allows(const char *pattern, const char *name)
{
    struct targets targets = {&pattern, 1, "schedule"};
    return targets_allow(&targets, bytes_text(name));
}

Test(targets, legal_names_are_those_of_kafka)
{
    EACH(expect_legal, "a", "orders.timeout", "A-Z_0.9", "...", ".a", "a.", "-", "_", "..a");
    EACH(expect_illegal, "", ".", "..", "a b", "a/b", "a\n", "\xe9\x94\xae", "a*", "a:b", "a,b",
         "a@", "a[", "a`", "a{", "\x7f");
    cr_expect_not(topic_name_is_legal(bytes_null()));
    cr_expect_not(topic_name_is_legal(bytes_of("a\0b", 3)));
}

Test(targets, every_byte_of_a_name_is_checked)
{
    static const char LEGAL[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    for (int c = 0; c < 256; c++) {
        char name[2] = {'a', (char)c};
        bool legal = c != 0 && strchr(LEGAL, c) != NULL;
        cr_expect_eq(topic_name_is_legal(bytes_of(name, 2)), legal, "byte %d", c);
    }
}

Test(targets, legal_name_has_249_bytes_at_most)
{
    char name[TOPIC_NAME_MAX + 1];
    memset(name, 'a', sizeof name);
    cr_expect(topic_name_is_legal(bytes_of(name, TOPIC_NAME_MAX)));
    cr_expect_not(topic_name_is_legal(bytes_of(name, TOPIC_NAME_MAX + 1)));
}

Test(targets, own_topics_are_internal)
{
    EACH(expect_internal, "schedule", "schedule.1s", "schedule.1m", "schedule.2h", "schedule.1m30s",
         "schedule.40d", "schedule.60s", "schedule.0s", "schedule.pulse", "schedule.dead-letter",
         "schedule.cancelled", "schedule.events");
}

Test(targets, kafkas_topics_are_internal)
{
    EACH(expect_internal, "__consumer_offsets", "__transaction_state", "__", "__schedule");
    EACH(expect_foreign, "_", "_schemas", "a__b");
}

Test(targets, names_that_only_look_like_ours_are_foreign)
{
    EACH(expect_foreign, "schedule2", "schedule-1m", "schedule.", "schedule.orders", "schedule.1w",
         "schedule.pulse2", "schedule.puls", "schedule.1m.x", "schedul", "Schedule", "SCHEDULE.1m",
         "xschedule", "x.schedule", "s", "", "schedule.Pulse", "schedule.15");
}

Test(targets, literal_pattern_is_the_name_itself)
{
    cr_expect(allows("orders.timeout", "orders.timeout"));
    cr_expect_not(allows("orders.timeout", "orders_timeout"), "a point is no wildcard");
    cr_expect_not(allows("orders.timeout", "orders.timeouts"));
    cr_expect_not(allows("orders.timeout", "orders.timeou"));
    cr_expect_not(allows("orders.timeout", "Orders.timeout"));
    cr_expect_not(allows("", "a"));
}

Test(targets, star_matches_any_run)
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

Test(targets, one_matching_pattern_is_enough)
{
    static const char *const PATTERNS[] = {"orders.timeout", "payments.*"};
    struct targets targets = {PATTERNS, 2, "schedule"};
    cr_expect(targets_allow(&targets, bytes_text("orders.timeout")));
    cr_expect(targets_allow(&targets, bytes_text("payments.eu")));
    cr_expect_not(targets_allow(&targets, bytes_text("secret")));
    targets.patterns_n = 0;
    cr_expect_not(targets_allow(&targets, bytes_text("orders.timeout")), "none allows nothing");
}

Test(targets, no_pattern_allows_internal_or_illegal_names)
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

Test(targets, canary_is_a_target_with_any_patterns)
{
    cr_expect(allows("orders", "schedule.canary"));
    cr_expect_not(allows("schedule.*", "schedule.pulse"));
    cr_expect_not(allows("orders", "schedule.canary.x"));
    cr_expect_not(allows("*", "__consum.canary")); /* as long as the schedule topic's name */
}

Test(targets, many_stars_match_in_bounded_time, .timeout = 5)
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

Test(targets, patterns_match_as_defined)
{
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    fprintf(stderr, "targets: SEED=%" PRIu64 "\n", seed);
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
    struct targets targets = {patterns, 5, "schedule"};
    return targets_entry(&targets, bytes_text(name));
}

Test(targets, entry_with_the_longest_literal_beginning_counts)
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
