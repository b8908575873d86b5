/* SPDX-License-Identifier: Apache-2.0 */
/* topic_name: legal names, internal ones, and the names of the topics of the bridge. */
#include "levels/topic_name.h"

#include <criterion/criterion.h>
#include <string.h>

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

Test(topic_name, legal_names_are_those_of_kafka)
{
    EACH(expect_legal, "a", "orders.timeout", "A-Z_0.9", "...", ".a", "a.", "-", "_", "..a");
    EACH(expect_illegal, "", ".", "..", "a b", "a/b", "a\n", "\xe9\x94\xae", "a*", "a:b", "a,b",
         "a@", "a[", "a`", "a{", "\x7f");
    cr_expect_not(topic_name_is_legal(bytes_null()));
    cr_expect_not(topic_name_is_legal(bytes_of("a\0b", 3)));
}

Test(topic_name, every_byte_of_a_name_is_checked)
{
    static const char LEGAL[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    for (int c = 0; c < 256; c++) {
        char name[2] = {'a', (char)c};
        bool legal = c != 0 && strchr(LEGAL, c) != NULL;
        cr_expect_eq(topic_name_is_legal(bytes_of(name, 2)), legal, "byte %d", c);
    }
}

Test(topic_name, legal_name_has_249_bytes_at_most)
{
    char name[TOPIC_NAME_MAX + 1];
    memset(name, 'a', sizeof name);
    cr_expect(topic_name_is_legal(bytes_of(name, TOPIC_NAME_MAX)));
    cr_expect_not(topic_name_is_legal(bytes_of(name, TOPIC_NAME_MAX + 1)));
}

Test(topic_name, own_topics_are_internal)
{
    EACH(expect_internal, "schedule", "schedule.1s", "schedule.1m", "schedule.2h", "schedule.1m30s",
         "schedule.40d", "schedule.60s", "schedule.0s", "schedule.pulse", "schedule.dead-letter",
         "schedule.cancelled", "schedule.events", "schedule.control");
}

Test(topic_name, kafkas_topics_are_internal)
{
    EACH(expect_internal, "__consumer_offsets", "__transaction_state", "__", "__schedule");
    EACH(expect_foreign, "_", "_schemas", "a__b");
}

Test(topic_name, names_similar_to_own_topics_are_foreign)
{
    EACH(expect_foreign, "schedule2", "schedule-1m", "schedule.", "schedule.orders", "schedule.1w",
         "schedule.pulse2", "schedule.puls", "schedule.1m.x", "schedul", "Schedule", "SCHEDULE.1m",
         "xschedule", "x.schedule", "s", "", "schedule.Pulse", "schedule.15");
}

static char name[TOPIC_TEXT_MAX];

Test(topic_name, level_is_named_by_its_duration)
{
    cr_expect_str_eq(topic_of_level("s", 5400000, name), "s.1h30m");
    cr_expect_str_eq(topic_of_level("orders.schedule", 1000, name), "orders.schedule.1s");
}

Test(topic_name, other_topics_have_fixed_names)
{
    cr_expect_str_eq(topic_of_pulse("s", name), "s.pulse");
    cr_expect_str_eq(topic_of_dead_letter("s", name), "s.dead-letter");
    cr_expect_str_eq(topic_of_cancelled("s", name), "s.cancelled");
    cr_expect_str_eq(topic_of_control("s", name), "s.control");
    cr_expect_str_eq(topic_of_canary("s", name), "s.canary");
}

Test(topic_name, every_name_is_internal)
{
    cr_expect(topic_is_internal("s", bytes_text(topic_of_level("s", 60000, name))));
    cr_expect(topic_is_internal("s", bytes_text(topic_of_pulse("s", name))));
    cr_expect(topic_is_internal("s", bytes_text(topic_of_dead_letter("s", name))));
    cr_expect(topic_is_internal("s", bytes_text(topic_of_cancelled("s", name))));
    cr_expect(topic_is_internal("s", bytes_text(topic_of_control("s", name))));
    cr_expect(topic_is_internal("s", bytes_text(topic_of_canary("s", name))));
}
