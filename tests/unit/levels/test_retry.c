/* SPDX-License-Identifier: Apache-2.0 */
/* retry: the wait before each retry, and the end of the retries. */
#include "levels/retry.h"

#include <criterion/criterion.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, NOW = 1000000000 };

static struct retry_policy list(void)
{
    return (struct retry_policy){.delays_ms = {5 * SECOND, 30 * SECOND, 2 * MINUTE}, .delays_n = 3};
}

static struct retry_policy series(void)
{
    return (struct retry_policy){
        .first_ms = 200, .longest_ms = MINUTE, .factor = 2, .attempts = 10};
}

static int64_t wait_of(const struct retry_policy *policy, int attempt)
{
    int64_t wait_ms = -1;
    struct retry_state state = {.attempt = attempt, .first_ms = NOW};
    cr_assert_eq(retry_next(policy, &state, NOW, &wait_ms), RETRY_WAITS);
    return wait_ms;
}

Test(retry, retry_n_waits_the_nth_delay_of_the_list)
{
    struct retry_policy policy = list();
    for (int i = 0; i < 3; i++)
        cr_assert_eq(wait_of(&policy, i), policy.delays_ms[i]);
}

Test(retry, series_grows_up_to_its_bound)
{
    struct retry_policy policy = series();
    const int64_t want[] = {200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, MINUTE};
    for (int i = 0; i < 10; i++)
        cr_assert_eq(wait_of(&policy, i), want[i], "retry %d", i + 1);
}

Test(retry, factor_of_one_waits_the_same_each_time)
{
    struct retry_policy policy = series();
    policy.factor = 1;
    policy.attempts = RETRY_ATTEMPTS_MAX;
    cr_assert_eq(wait_of(&policy, RETRY_ATTEMPTS_MAX - 1), 200);
}

Test(retry, series_that_no_double_holds_ends_at_its_bound)
{
    struct retry_policy policy = series();
    policy.factor = 1e6;
    policy.attempts = RETRY_ATTEMPTS_MAX;
    cr_assert_eq(wait_of(&policy, RETRY_ATTEMPTS_MAX - 1), MINUTE);
}

Test(retry, attempts_end_the_retries)
{
    struct retry_policy policies[] = {list(), series()};
    for (int i = 0; i < 2; i++) {
        int64_t wait_ms;
        int n = retry_attempts(&policies[i]);
        struct retry_state last = {.attempt = n - 1, .first_ms = NOW};
        struct retry_state over = {.attempt = n, .first_ms = NOW};
        cr_assert_eq(retry_next(&policies[i], &last, NOW, &wait_ms), RETRY_WAITS);
        cr_assert_eq(retry_next(&policies[i], &over, NOW, &wait_ms), RETRY_OUT_OF_ATTEMPTS);
    }
}

Test(retry, deadline_counts_from_the_first_request)
{
    struct retry_policy policy = series();
    int64_t wait_ms;
    policy.deadline_ms = MINUTE;
    struct retry_state state = {.attempt = 1, .first_ms = NOW - MINUTE};
    cr_assert_eq(retry_next(&policy, &state, NOW, &wait_ms), RETRY_WAITS);
    cr_assert_eq(retry_next(&policy, &state, NOW + 1, &wait_ms), RETRY_PAST_DEADLINE);
}

Test(retry, jitter_changes_each_wait_by_its_part_at_most)
{
    struct retry_policy policy = list();
    int64_t least = INT64_MAX, most = 0, wait_ms;
    policy.jitter = 0.2;
    for (int offset = 0; offset < 10000; offset++) {
        struct retry_state state = {.attempt = 1, .first_ms = NOW, .lane = 5, .offset = offset};
        cr_assert_eq(retry_next(&policy, &state, NOW, &wait_ms), RETRY_WAITS);
        least = wait_ms < least ? wait_ms : least;
        most = wait_ms > most ? wait_ms : most;
    }
    cr_assert(least >= 24 * SECOND && least < 24.1 * SECOND, "%d", (int)least);
    cr_assert(most <= 36 * SECOND && most > 35.9 * SECOND, "%d", (int)most);
}

Test(retry, jitter_depends_on_the_request_alone)
{
    struct retry_policy policy = list();
    int64_t one, same;
    policy.jitter = 1;
    struct retry_state state = {.attempt = 2, .first_ms = NOW, .lane = 5, .offset = 7};
    cr_assert_eq(retry_next(&policy, &state, NOW, &one), RETRY_WAITS);
    cr_assert_eq(retry_next(&policy, &state, NOW + SECOND, &same), RETRY_WAITS);
    cr_assert_eq(one, same);
}

Test(retry, full_jitter_still_waits)
{
    struct retry_policy policy = {.delays_ms = {1}, .delays_n = 1, .jitter = 1};
    for (int offset = 0; offset < 1000; offset++) {
        struct retry_state state = {.first_ms = NOW, .offset = offset};
        int64_t wait_ms = 0;
        cr_assert_eq(retry_next(&policy, &state, NOW, &wait_ms), RETRY_WAITS);
        cr_assert(wait_ms >= 1);
    }
}
