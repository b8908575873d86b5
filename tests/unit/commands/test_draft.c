/* SPDX-License-Identifier: Apache-2.0 */
/* draft: the fields that send reads from a line of JSON, and the faults that it refuses before
   sending. */
#include "bridge/commands/draft.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const PATTERNS[] = {"orders"};
static const struct request_rules RULES = {
    .allowlist = {PATTERNS, 1, "S"}, .default_target = "orders", .max_delay_ms = 3600000};
enum { NOW_MS = 1000000 };

static struct error why;

static int read_line(struct draft *draft, const char *line)
{
    *draft = (struct draft){0};
    why = (struct error){""};
    return draft_of_json(draft, bytes_text(line), &why);
}

static void refuses(const char *line, const char *words)
{
    struct draft draft;
    int err = read_line(&draft, line);
    if (err == 0)
        err = draft_judge(&draft, &RULES, NOW_MS, &why);
    cr_expect_eq(err, ERR_DATA, "%s", line);
    cr_expect(strstr(why.text, words) != NULL, "%s: %s", line, why.text);
    draft_deinit(&draft);
}

static bool is(struct bytes bytes, const char *text)
{
    return bytes_equal(bytes, bytes_text(text));
}

Test(draft, fields_become_the_headers_of_the_contract)
{
    struct draft draft;
    cr_assert_eq(read_line(&draft, "{\"delay\":\"5m\",\"target\":\"orders\",\"id\":\"i\","
                                   "\"expires-at\":\"1900000000000\",\"key\":\"k\","
                                   "\"value\":\"v\"}"),
                 0);
    cr_assert_eq(draft.headers_n, 4);
    cr_expect_str_eq(draft.headers[0].name, "dlb-delay");
    cr_expect(is(draft.headers[0].value, "5m"));
    cr_expect_str_eq(draft.headers[1].name, "dlb-target");
    cr_expect_str_eq(draft.headers[2].name, "dlb-id");
    cr_expect_str_eq(draft.headers[3].name, "dlb-expires-at");
    cr_expect(is(draft.key, "k") && is(draft.value, "v"));
    cr_expect_eq(draft_judge(&draft, &RULES, NOW_MS, &why), 0, "%s", why.text);
    draft_deinit(&draft);
}

Test(draft, null_empty_and_bytes_are_distinguished)
{
    struct draft draft;
    cr_assert_eq(read_line(&draft, "{\"delay\":\"1s\",\"key\":\"\",\"value\":null,\"headers\":"
                                   "[[\"a\",null],[\"a\",\"\"],[\"a\",{\"base64\":\"AP8=\"}]]}"),
                 0);
    cr_expect(is(draft.key, "") && !bytes_is_null(draft.key));
    cr_expect(bytes_is_null(draft.value) && draft.valued);
    cr_assert_eq(draft.headers_n, 4);
    cr_expect(bytes_is_null(draft.headers[1].value));
    cr_expect(is(draft.headers[2].value, ""));
    cr_expect(bytes_equal(draft.headers[3].value, bytes_of("\0\377", 2)));
    draft_deinit(&draft);
}

Test(draft, an_instant_may_be_a_number)
{
    struct draft draft;
    cr_assert_eq(read_line(&draft, "{\"at\":1900000000000,\"value\":\"\"}"), 0);
    cr_expect_str_eq(draft.headers[0].name, "dlb-deliver-at");
    cr_expect(is(draft.headers[0].value, "1900000000000"));
    draft_deinit(&draft);
}

Test(draft, faults_are_reported_before_the_request_is_sent)
{
    refuses("", "not a JSON object");
    refuses("[]", "not a JSON object");
    refuses("{\"delay\":\"1s\"", "not a JSON object: ");
    refuses("{\"delay\":\"1s\",\"delay\":\"1s\",\"value\":\"\"}", "not a JSON object: ");
    refuses("{\"delay\":\"1s\"}", "'value' is missing");
    refuses("{\"value\":\"\"}", "no_time");
    refuses("{\"delay\":\"1\",\"value\":\"\"}", "bad_time");
    refuses("{\"delay\":1,\"value\":\"\"}", "'delay' is neither");
    refuses("{\"delay\":\"2h\",\"value\":\"\"}", "too_far");
    refuses("{\"delay\":\"1s\",\"target\":\"x\",\"value\":\"\"}", "target_denied");
    refuses("{\"delay\":\"1s\",\"topic\":\"x\",\"value\":\"\"}", "'topic' is not a field");
    refuses("{\"delay\":\"1s\",\"value\":{\"base64\":\"A\"}}", "'value' is neither");
    refuses("{\"delay\":\"1s\",\"value\":{\"base64\":\"\",\"x\":1}}", "'value' is neither");
    refuses("{\"delay\":\"1s\",\"value\":\"\",\"headers\":\"x\"}", "'headers' is neither");
    refuses("{\"delay\":\"1s\",\"value\":\"\",\"headers\":[[\"a\"]]}", "not [name, value]");
    refuses("{\"delay\":\"1s\",\"value\":\"\",\"headers\":{\"a\":1}}", "'a' is neither");
    refuses("{\"delay\":\"1s\",\"value\":\"\",\"headers\":{\"dlb-x\":\"1\"}}", "unknown_header");
}

Test(draft, too_many_headers_are_refused)
{
    struct draft draft = {0};
    for (int i = 0; i < DRAFT_HEADERS_MAX; i++)
        cr_assert_eq(draft_header(&draft, bytes_text("a"), bytes_null()), 0);
    cr_expect_eq(draft_header(&draft, bytes_text("a"), bytes_null()), ERR_FULL);
    draft_deinit(&draft);
}
