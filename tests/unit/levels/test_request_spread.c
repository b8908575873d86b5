/* SPDX-License-Identifier: Apache-2.0 */
/* request: the due time of a request with dlb-spread. */
#include "levels/request.h"

#include <criterion/criterion.h>
#include <string.h>

static const int64_t STAMPED = 1795219200000; /* 2026-11-21T00:00:00Z */
static const char *const PATTERNS[] = {"orders"};
static struct retry_policy POLICIES[] = {
    {.name = (char *)"fast", .delays_ms = {5000, 5000}, .delays_n = 2}};
static struct request_rules rules = {.allowlist = {PATTERNS, 1, "schedule"},
                                     .default_target = "orders",
                                     .max_delay_ms = (int64_t)40 * 86400000,
                                     .retry = POLICIES,
                                     .retry_n = 1,
                                     .cancels = true};
static struct stamp stamp;
static struct refusal refusal;

static enum code parse_at(uint32_t lane, int64_t offset, const struct header *headers, size_t n)
{
    struct record record = {.offset = offset,
                            .timestamp_ms = STAMPED,
                            .key = bytes_text("k"),
                            .value = bytes_text("v"),
                            .headers = headers,
                            .headers_n = n};
    refusal.reason[0] = '\0';
    return request_parse(&rules, lane, &record, STAMPED + 1000, &stamp, &refusal);
}

#define H(name, literal) ((struct header){name, {literal, sizeof literal - 1}})
#define COUNT(...)       (sizeof((struct header[]){__VA_ARGS__}) / sizeof(struct header))
#define PARSE_AT(lane, offset, ...) \
    parse_at(lane, offset, (struct header[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define PARSE(...) PARSE_AT(3, 17, __VA_ARGS__)

enum { REQUESTS = 100000, LANES = 8, SECONDS = 20 };

static void count(int in_second[SECONDS], int64_t due_ms)
{
    cr_assert(stamp.due_ms >= due_ms && stamp.due_ms < due_ms + SECONDS * 1000);
    in_second[(stamp.due_ms - due_ms) / 1000]++;
}

/* Expects that each of the first seconds has its part, 10 % more or less, and that all others have
   none. */
static void expect_even(const int in_second[SECONDS], int seconds)
{
    for (int i = 0; i < SECONDS; i++) {
        int part = i < seconds ? REQUESTS / seconds : 0;
        cr_expect(in_second[i] >= part - part / 10 && in_second[i] <= part + part / 10,
                  "second %d has %d", i, in_second[i]);
    }
}

Test(request_spread, a_burst_of_100000_is_spread_over_its_20_seconds)
{
    int in_second[SECONDS] = {0};
    for (int i = 0; i < REQUESTS; i++) {
        cr_assert_eq(PARSE_AT((uint32_t)(i % LANES), i / LANES, H("dlb-delay", "15m"),
                              H("dlb-spread", "20s")),
                     CODE_OK);
        count(in_second, STAMPED + 900000);
    }
    expect_even(in_second, SECONDS);
}

Test(request_spread, a_burst_that_expires_is_spread_evenly_before_its_expiry)
{
    int in_second[SECONDS] = {0};
    for (int i = 0; i < REQUESTS; i++) {
        cr_assert_eq(PARSE_AT((uint32_t)(i % LANES), i / LANES, H("dlb-delay", "15m"),
                              H("dlb-expires-at", "2026-11-21T00:15:08Z"), H("dlb-spread", "20s")),
                     CODE_OK);
        count(in_second, STAMPED + 900000);
    }
    expect_even(in_second, 8);
}

Test(request_spread, a_burst_of_replaces_due_in_the_past_is_spread_too)
{
    int in_second[SECONDS] = {0};
    for (int i = 0; i < REQUESTS; i++) {
        cr_assert_eq(PARSE_AT((uint32_t)(i % LANES), i / LANES, H("dlb-op", "replace"),
                              H("dlb-deliver-at", "2026-11-20T23:00:00Z"), H("dlb-spread", "20s")),
                     CODE_OK);
        count(in_second, STAMPED - 3600000);
        cr_assert_eq(stamp.op, REQUEST_REPLACE);
    }
    expect_even(in_second, SECONDS);
}

Test(request_spread, each_reading_gives_the_same_time)
{
    cr_assert_eq(PARSE(H("dlb-delay", "1m"), H("dlb-spread", "1h")), CODE_OK);
    int64_t due_ms = stamp.due_ms;
    cr_assert_eq(PARSE(H("dlb-spread", "1h"), H("dlb-delay", "1m")), CODE_OK);
    cr_expect_eq(stamp.due_ms, due_ms);
    cr_assert_eq(PARSE_AT(3, 18, H("dlb-delay", "1m"), H("dlb-spread", "1h")), CODE_OK);
    cr_expect_neq(stamp.due_ms, due_ms);
}

Test(request_spread, expiry_bounds_the_time)
{
    for (int64_t offset = 0; offset < 1000; offset++) {
        cr_assert_eq(PARSE_AT(0, offset, H("dlb-deliver-at", "2026-11-21T01:00:00Z"),
                              H("dlb-expires-at", "2026-11-21T01:00:00.010Z"),
                              H("dlb-spread", "1h")),
                     CODE_OK);
        cr_assert(stamp.due_ms >= STAMPED + 3600000 && stamp.due_ms < STAMPED + 3600010);
    }
    cr_expect_eq(PARSE(H("dlb-delay", "1h"), H("dlb-expires-at", "2026-11-21T00:59:59Z"),
                       H("dlb-spread", "1h")),
                 CODE_EXPIRED);
    cr_assert_eq(PARSE(H("dlb-delay", "1h"), H("dlb-expires-at", "2026-11-21T01:00:00Z"),
                       H("dlb-spread", "1h")),
                 CODE_OK);
    cr_expect_eq(stamp.due_ms, STAMPED + 3600000);
}

Test(request_spread, a_retry_is_spread_after_its_wait)
{
    bool differs = false;
    for (int64_t offset = 0; offset < 10; offset++) {
        cr_assert_eq(PARSE_AT(0, offset, H("dlb-retry", "fast"), H("dlb-target", "orders"),
                              H("dlb-spread", "10s")),
                     CODE_OK);
        cr_assert(stamp.due_ms >= STAMPED + 6000 && stamp.due_ms < STAMPED + 16000);
        differs |= stamp.due_ms != STAMPED + 6000;
    }
    cr_expect(differs);
}

Test(request_spread, zero_is_no_spread)
{
    cr_assert_eq(PARSE(H("dlb-delay", "1m"), H("dlb-spread", "0s")), CODE_OK);
    cr_expect_eq(stamp.due_ms, STAMPED + 60000);
}

#define EXPECT(code, sentence, ...)                 \
    do {                                            \
        cr_expect_eq(PARSE(__VA_ARGS__), code);     \
        cr_expect_str_eq(refusal.reason, sentence); \
    } while (0)

Test(request_spread, is_a_duration_up_to_max_delay)
{
    EXPECT(CODE_BAD_TIME, "dlb-spread '20' has no unit; 250ms, 15m, 1h30m or PT15M is meant",
           H("dlb-delay", "1m"), H("dlb-spread", "20"));
    EXPECT(CODE_BAD_TIME, "dlb-spread 'wide' is not a duration such as 250ms, 15m, 1h30m or PT15M",
           H("dlb-retry", "none"), H("dlb-target", "orders"), H("dlb-spread", "wide"));
    EXPECT(CODE_TOO_FAR, "dlb-spread '41d' is more than max_delay 40d", H("dlb-delay", "1m"),
           H("dlb-spread", "41d"));
    cr_expect_eq(PARSE(H("dlb-delay", "1m"), H("dlb-spread", "")), CODE_BAD_HEADER);
    cr_assert_eq(PARSE(H("dlb-delay", "40d"), H("dlb-spread", "40d")), CODE_OK);
    cr_expect(stamp.due_ms >= STAMPED + (int64_t)40 * 86400000, "it may exceed max_delay");
    EXPECT(CODE_BAD_OP, "dlb-op 'cancel' takes dlb-id alone, and not dlb-spread '1s'",
           H("dlb-op", "cancel"), H("dlb-spread", "1s"));
}
