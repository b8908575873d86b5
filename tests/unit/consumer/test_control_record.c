/* SPDX-License-Identifier: Apache-2.0 */
/* control_record: entries as JSON, and records that are none. */
#include "consumer/control_record.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define AT    "\"at\":\"2026-11-26T08:00:00.000Z\""
#define AT_MS ((int64_t)1795680000000)

static struct control_record record;
static struct error why;

static int reads(const char *key, const char *value)
{
    return control_record_read(bytes_text(key), value == NULL ? bytes_null() : bytes_text(value),
                               &record, &why);
}

Test(control_record, pause_is_read)
{
    cr_assert_eq(reads("orders.*",
                       "{\"op\":\"pause\",\"rate\":null,\"until\":null,\"by\":\"anna\"," AT
                       ",\"later\":1}"),
                 0);
    cr_expect_str_eq(record.control.pattern, "orders.*");
    cr_expect_eq(record.control.op, CONTROL_PAUSE);
    cr_expect_eq(record.control.at_wall_ms, AT_MS);
    cr_expect_eq(record.control.until_wall_ms, CONTROL_ENDLESS);
    cr_expect_str_eq(record.by, "anna");
    cr_expect_not(record.is_removed);
}

Test(control_record, limit_is_read)
{
    cr_assert_eq(reads("orders", "{\"op\":\"limit\",\"rate\":\"6000/m\","
                                 "\"until\":\"2026-11-26T08:00:01.000Z\"," AT "}"),
                 0);
    cr_expect_eq(record.control.op, CONTROL_LIMIT);
    cr_expect(record.control.rate.records == 6000 && record.control.rate.unit_ms == 60000);
    cr_expect_eq(record.control.until_wall_ms, AT_MS + 1000);
    cr_expect_str_eq(record.by, "");
}

Test(control_record, null_value_removes_the_entry)
{
    cr_assert_eq(reads("*", NULL), 0);
    cr_expect(record.is_removed);
    cr_expect_str_eq(record.control.pattern, "*");
}

Test(control_record, written_entry_is_read_again)
{
    static const char *const VALUES[] = {
        "{\"op\":\"pause\",\"rate\":null,\"until\":null,\"by\":\"a\\\"b\"," AT "}",
        "{\"op\":\"limit\",\"rate\":\"100/"
        "s\",\"until\":\"2026-11-26T10:00:00.000Z\",\"by\":\"\"," AT "}"};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(reads("orders", VALUES[i]), 0);
        char *text = control_record_write(&record);
        cr_expect_str_eq(text, VALUES[i]);
        free(text);
    }
}

Test(control_record, other_values_are_foreign)
{
    static const char *const VALUES[] = {"",
                                         "x",
                                         "[]",
                                         "{}",
                                         "{" AT "}",
                                         "{\"op\":\"stop\"," AT "}",
                                         "{\"op\":1," AT "}",
                                         "{\"op\":\"pause\"}",
                                         "{\"op\":\"pause\",\"at\":\"yesterday\"}",
                                         "{\"op\":\"pause\",\"at\":1795680000000}",
                                         "{\"op\":\"pause\",\"until\":7," AT "}",
                                         "{\"op\":\"pause\",\"until\":\"soon\"," AT "}",
                                         "{\"op\":\"limit\"," AT "}",
                                         "{\"op\":\"limit\",\"rate\":\"fast\"," AT "}",
                                         "{\"op\":\"pause\",\"op\":\"limit\"," AT "}",
                                         "{\"op\":\"pause\"," AT "} x"};
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
        why.text[0] = '\0';
        cr_expect_eq(reads("orders", VALUES[i]), ERR_FOREIGN, "%s", VALUES[i]);
        cr_expect_neq(why.text[0], '\0');
    }
    static char large[CONTROL_VALUE_MAX + 2];
    memset(large, ' ', CONTROL_VALUE_MAX + 1);
    cr_expect_eq(reads("orders", large), ERR_FOREIGN);
}

Test(control_record, other_keys_are_foreign)
{
    static char large[TOPIC_NAME_MAX + 2];
    memset(large, 'a', TOPIC_NAME_MAX + 1);
    cr_expect_eq(reads("", NULL), ERR_FOREIGN);
    cr_expect_eq(reads("a b", NULL), ERR_FOREIGN);
    cr_expect_eq(reads(large, NULL), ERR_FOREIGN);
    cr_expect_eq(control_record_read(bytes_null(), bytes_null(), &record, &why), ERR_FOREIGN);
    cr_expect_eq(control_record_read(bytes_of("a\0b", 3), bytes_null(), &record, &why),
                 ERR_FOREIGN);
}

Test(control_record, key_with_a_colon_belongs_to_a_process)
{
    cr_expect(control_key_is_of_process(bytes_text("delaybridge.schedule:host-0")));
    cr_expect_not(control_key_is_of_process(bytes_text("orders.*")));
    cr_expect_not(control_key_is_of_process(bytes_null()));
}
