/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of retries. */
#include "levels/retry.h"
#include "levels/source_hash.h"

#include <math.h>

const struct retry_policy *retry_find(const struct retry_policy *policies, size_t n,
                                      struct bytes name)
{
    for (size_t i = 0; i < n; i++)
        if (bytes_equal(bytes_text(policies[i].name), name))
            return &policies[i];
    return NULL;
}

int retry_attempts(const struct retry_policy *policy)
{
    return policy->delays_n > 0 ? policy->delays_n : policy->attempts;
}

static int64_t series(const struct retry_policy *policy, int n)
{
    double wait_ms = (double)policy->first_ms * pow(policy->factor, n - 1);
    return wait_ms < (double)policy->longest_ms ? (int64_t)wait_ms : policy->longest_ms;
}

int64_t retry_wait(const struct retry_policy *policy, int n)
{
    return policy->delays_n > 0 ? policy->delays_ms[n - 1] : series(policy, n);
}

/* Returns a number from -1 to 1 that depends on the source alone. */
static double unit_of(const struct retry_state *state)
{
    uint64_t hash = source_hash(state->lane, state->offset, SOURCE_JITTER);
    return (double)(int64_t)hash / (double)INT64_MAX;
}

enum retry_answer retry_next(const struct retry_policy *policy, const struct retry_state *state,
                             int64_t now_ms, int64_t *wait_ms)
{
    if (state->attempt >= retry_attempts(policy))
        return RETRY_OUT_OF_ATTEMPTS;
    if (policy->deadline_ms > 0 && now_ms - state->first_ms > policy->deadline_ms)
        return RETRY_PAST_DEADLINE;
    double wait = (double)retry_wait(policy, state->attempt + 1);
    wait += wait * policy->jitter * unit_of(state);
    *wait_ms = wait < 1 ? 1 : (int64_t)wait;
    return RETRY_WAITS;
}
