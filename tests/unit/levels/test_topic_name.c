/* SPDX-License-Identifier: Apache-2.0 */
/* topic_name: the names of the bridge's own topics. */
#include "levels/targets.h"
#include "levels/topic_name.h"

#include <criterion/criterion.h>

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
    cr_expect_str_eq(topic_of_canary("s", name), "s.canary");
}

Test(topic_name, every_name_is_internal)
{
    cr_expect(topic_is_internal("s", bytes_text(topic_of_level("s", 60000, name))));
    cr_expect(topic_is_internal("s", bytes_text(topic_of_pulse("s", name))));
    cr_expect(topic_is_internal("s", bytes_text(topic_of_dead_letter("s", name))));
    cr_expect(topic_is_internal("s", bytes_text(topic_of_cancelled("s", name))));
    cr_expect(topic_is_internal("s", bytes_text(topic_of_canary("s", name))));
}
