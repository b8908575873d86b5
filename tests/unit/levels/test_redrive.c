/* SPDX-License-Identifier: Apache-2.0 */
/* redrive: the headers of a request that is sent again, and the reasons not to send it. */
#include "levels/redrive.h"

#include <criterion/criterion.h>

#define H(name, literal) ((struct header){name, {literal, sizeof literal - 1}})
#define COUNT(...)       (sizeof((struct header[]){__VA_ARGS__}) / sizeof(struct header))

static const int64_t SENT = 1795219200000; /* 2026-11-21T00:00:00Z */
static const int64_t NOW = 1795219260000;  /* a minute later */
static const struct redrive_rules UNCHOSEN = {.delay = REDRIVE_UNCHOSEN},
                                  KEEP = {.delay = REDRIVE_KEEP_DUE},
                                  RESTART = {.delay = REDRIVE_RESTART_DELAY},
                                  DROP = {.delay = REDRIVE_RESTART_DELAY, .drop_expiry = true},
                                  KEEP_DROP = {.delay = REDRIVE_KEEP_DUE, .drop_expiry = true};

enum { HEADERS_MAX = 20 };
static struct header headers[HEADERS_MAX];
static struct redrive redrive;

static enum redrive_verdict rewrite_n(const struct redrive_rules *rules, const struct header *from,
                                      size_t n)
{
    const struct record record = {.value = bytes_text("v"), .headers = from, .headers_n = n};
    redrive = (struct redrive){.headers = headers};
    return redrive_rewrite(rules, &record, SENT, NOW, &redrive);
}

#define REWRITE(rules, ...) rewrite_n(&(rules), (struct header[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

static void expect(size_t i, const char *name, const char *value)
{
    cr_assert_lt(i, redrive.headers_n);
    cr_expect_str_eq(headers[i].name, name);
    cr_expect(bytes_equal(headers[i].value, bytes_text(value)), "%s: %.*s", name,
              (int)headers[i].value.len, (const char *)headers[i].value.data);
}

Test(redrive, headers_of_the_bridge_and_of_retries_are_dropped)
{
    cr_expect_eq(REWRITE(UNCHOSEN, H("a", "1"), H("dlb-deliver-at", "1795219200000"),
                         H("dlb-target", "t"), H("dlb-key", "k"), H("dlb-id", "i"),
                         H("dlb-attempt", "3"), H("dlb-first-at", "1"), H("dlb-due", "1"),
                         H("dlb-error", "e"), H("dlb-reason", "r"), H("a", "2"),
                         H("dlb-source", "s"), H("dlb-sent-at", "1"), H("dlb-failed-at", "1"),
                         H("dlb-truncated", "value"), H("dlb-range", "1-2")),
                 REDRIVE_SEND);
    cr_expect_eq(redrive.headers_n, 6);
    expect(0, "a", "1");
    expect(1, "dlb-deliver-at", "1795219200000");
    expect(2, "dlb-target", "t");
    expect(3, "dlb-key", "k");
    expect(4, "dlb-id", "i");
    expect(5, "a", "2");
}

Test(redrive, relative_delay_needs_a_choice)
{
    cr_expect_eq(REWRITE(UNCHOSEN, H("dlb-delay", "15m")), REDRIVE_CHOOSE);
    cr_expect_eq(REWRITE(UNCHOSEN, H("dlb-deliver-at", "1795219200000")), REDRIVE_SEND);
}

Test(redrive, keep_due_writes_the_first_due_time)
{
    cr_expect_eq(REWRITE(KEEP, H("x", "y"), H("dlb-delay", "1h"), H("z", "")), REDRIVE_SEND);
    cr_expect_eq(redrive.headers_n, 3);
    expect(1, "dlb-deliver-at", "1795222800000");
}

Test(redrive, keep_due_needs_the_time_of_sending)
{
    const struct header delay = H("dlb-delay", "1h"), at = H("dlb-deliver-at", "1795219200000");
    struct record record = {.headers = &delay, .headers_n = 1};
    redrive = (struct redrive){.headers = headers};
    cr_expect_eq(redrive_rewrite(&KEEP, &record, -1, NOW, &redrive), REDRIVE_UNDATED);
    cr_expect_eq(redrive_rewrite(&RESTART, &record, -1, NOW, &redrive), REDRIVE_SEND);
    record.headers = &at;
    cr_expect_eq(redrive_rewrite(&KEEP, &record, -1, NOW, &redrive), REDRIVE_SEND);
}

Test(redrive, restart_delay_keeps_the_delay)
{
    cr_expect_eq(REWRITE(RESTART, H("dlb-delay", "1h")), REDRIVE_SEND);
    expect(0, "dlb-delay", "1h");
}

Test(redrive, expired_request_is_sent_only_without_its_expiry)
{
    /* it expired a second ago, at deliver-at */
    cr_expect_eq(REWRITE(RESTART, H("dlb-deliver-at", "1795219200000"),
                         H("dlb-expires-at", "1795219259000")),
                 REDRIVE_EXPIRED);
    cr_expect_eq(REWRITE(DROP, H("dlb-deliver-at", "1795219200000"),
                         H("dlb-expires-at", "1795219259000"), H("a", "b")),
                 REDRIVE_SEND);
    cr_expect_eq(redrive.headers_n, 2);
    expect(0, "dlb-deliver-at", "1795219200000");
    expect(1, "a", "b");
}

Test(redrive, expiry_is_compared_with_the_new_due_time)
{
    const struct header delay = H("dlb-delay", "2m"),   /* due at +2m or, restarted, at +3m */
        expires = H("dlb-expires-at", "1795219350000"); /* +2m30s */
    cr_expect_eq(REWRITE(KEEP, delay, expires), REDRIVE_SEND);
    expect(1, "dlb-expires-at", "1795219350000");
    cr_expect_eq(REWRITE(RESTART, delay, expires), REDRIVE_EXPIRED);
    cr_expect_eq(REWRITE(DROP, delay, expires), REDRIVE_SEND);
    cr_expect_eq(redrive.headers_n, 1);
    cr_expect_eq(REWRITE(KEEP_DROP, delay, expires), REDRIVE_SEND);
    cr_expect_eq(redrive.headers_n, 2, "an expiry in the future was dropped");
}

Test(redrive, expiry_at_the_moment_of_delivery_has_not_passed)
{
    cr_expect_eq(REWRITE(KEEP, H("dlb-delay", "1s"), H("dlb-expires-at", "1795219260000")),
                 REDRIVE_SEND);
    cr_expect_eq(REWRITE(KEEP, H("dlb-delay", "1s"), H("dlb-expires-at", "1795219259999")),
                 REDRIVE_EXPIRED);
}

Test(redrive, malformed_times_are_left_to_the_judge)
{
    cr_expect_eq(REWRITE(UNCHOSEN, H("dlb-delay", "15")), REDRIVE_SEND);
    expect(0, "dlb-delay", "15");
    cr_expect_eq(REWRITE(KEEP, H("dlb-delay", "1s"), H("dlb-delay", "1s")), REDRIVE_SEND);
    cr_expect_eq(redrive.headers_n, 2);
    cr_expect_eq(REWRITE(KEEP, H("dlb-delay", "106751991167d")), REDRIVE_SEND);
    expect(0, "dlb-delay", "106751991167d"); /* its due time exceeds 64 bits */
    cr_expect_eq(REWRITE(RESTART, H("dlb-delay", "1s"), H("dlb-expires-at", "soon")), REDRIVE_SEND);
    expect(1, "dlb-expires-at", "soon");
}

Test(redrive, record_without_headers_stays_so)
{
    cr_expect_eq(rewrite_n(&KEEP, NULL, 0), REDRIVE_SEND);
    cr_expect_eq(redrive.headers_n, 0);
}

static const struct redrive_rules FOREIGN = {.delay = REDRIVE_UNCHOSEN, .compat = COMPAT_ALL},
                                  FOREIGN_KEEP = {.delay = REDRIVE_KEEP_DUE, .compat = COMPAT_ALL};

Test(redrive, foreign_delay_needs_a_choice_like_dlb_delay)
{
    cr_expect_eq(REWRITE(FOREIGN, H("x-delay", "5000")), REDRIVE_CHOOSE);
    cr_expect_eq(REWRITE(FOREIGN, H("DELAY", "5")), REDRIVE_CHOOSE);
    cr_expect_eq(REWRITE(FOREIGN, H("scheduler-epoch", "1795219200")), REDRIVE_SEND);
    cr_expect_eq(REWRITE(UNCHOSEN, H("x-delay", "5000")), REDRIVE_SEND, "its format is off");
    cr_expect_eq(REWRITE(RESTART, H("x-delay", "5000")), REDRIVE_SEND);
    cr_expect_eq(redrive.headers_n, 1);
}

Test(redrive, keep_due_precedes_a_foreign_delay)
{
    cr_expect_eq(REWRITE(FOREIGN_KEEP, H("x-delay", "3600000"), H("a", "b"), H("dlb-error", "e")),
                 REDRIVE_SEND);
    cr_expect_eq(redrive.headers_n, 3);
    expect(0, "x-delay", "3600000");
    expect(1, "a", "b");
    expect(2, "dlb-deliver-at", "1795222800000");
    cr_expect_eq(REWRITE(FOREIGN_KEEP, H("x-delay", "9223372036854775807")), REDRIVE_SEND);
    cr_expect_eq(redrive.headers_n, 1, "the due time exceeds 64 bits, and request_parse judges it");
}

Test(redrive, expiry_is_judged_by_a_foreign_time)
{
    const struct header expires = H("dlb-expires-at", "1795219300000");
    cr_expect_eq(REWRITE(FOREIGN, H("scheduler-epoch", "1795219400"), expires), REDRIVE_EXPIRED);
    cr_expect_eq(REWRITE(FOREIGN, H("scheduler-epoch", "1795219280"), expires), REDRIVE_SEND);
}
