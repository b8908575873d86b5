/* SPDX-License-Identifier: Apache-2.0 */
/* around: instants with a span, and the sentences for texts that are none. */
#include "bridge/commands/around.h"

#include <criterion/criterion.h>
#include <string.h>

static const int64_t AT_MS = 1795248000000; /* 2026-11-21T08:00:00Z */

static void expect(const char *text, int64_t from_ms, int64_t to_ms)
{
    struct error error = {""};
    struct around around = {0};
    cr_assert_eq(around_parse("--due", text, &around, &error), 0, "%s: %s", text, error.text);
    cr_expect_eq(around.from_ms, from_ms, "%s", text);
    cr_expect_eq(around.to_ms, to_ms, "%s", text);
}

static void expect_refused(const char *text, const char *sentence)
{
    struct error error = {""};
    struct around around = {7, 7};
    cr_assert_eq(around_parse("--due", text, &around, &error), ERR_DATA, "%s", text);
    cr_expect_not_null(strstr(error.text, sentence), "%s: %s", text, error.text);
}

Test(around, a_span_follows_the_instant)
{
    expect("2026-11-21T08:00:00Z\xc2\xb1"
           "5m",
           AT_MS - 300000, AT_MS + 300000);
    expect("2026-11-21T09:00:00+01:00+-250ms", AT_MS - 250, AT_MS + 250);
    expect("1795248000000\xc2\xb1"
           "0s",
           AT_MS, AT_MS);
}

Test(around, the_default_span_is_a_second)
{
    expect("2026-11-21T08:00:00Z", AT_MS - 1000, AT_MS + 1000);
    expect("2026-11-21T09:00:00+01:00", AT_MS - 1000, AT_MS + 1000);
}

Test(around, a_span_is_cut_at_the_ends_of_time)
{
    expect("1795248000000+-106751991167d", 0, INT64_MAX);
}

Test(around, other_texts_are_refused)
{
    expect_refused("soon", "--due: 'soon'");
    expect_refused("", "--due: ''");
    expect_refused("2026-11-21T08:00:00Z+-5", "'5' is not a duration");
    expect_refused("2026-11-21T08:00:00Z\xc2\xb1", "'' is not a duration");
    expect_refused("+-5m", "--due: ''");
    expect_refused("2026-11-21T08:00:00Z 5m", "--due: '2026-11-21T08:00:00Z 5m'");
}
