/* SPDX-License-Identifier: Apache-2.0 */
/* Consumers that retry, and the oracle of their requests. */
#include "tests/sim/retries.h"

#include <inttypes.h>
#include <stdio.h>

enum { NUMBERS_MAX = 5 };

/* What the contract says of each policy: its retries, and the bounds of their waits. */
static const struct {
    const char *name;
    int n;
    int64_t least_ms[NUMBERS_MAX], most_ms[NUMBERS_MAX];
} known[POLICIES_N + 1] = {
    [POLICY_LIST] = {"list", 3, {800, 2400, 8000}, {1200, 3600, 12000}},
    [POLICY_SERIES] = {"series", 5, {200, 600, 1800, 4000, 4000}, {200, 600, 1800, 4000, 4000}},
    [POLICY_DEADLINE] = {"deadline", 4, {1, 1, 1, 1}, {10000, 10000, 10000, 10000}},
    [POLICIES_N] = {"nonsense", 0, {0}, {0}},
};

void retries_init(struct world *w)
{
    static char list[] = "list", series[] = "series", deadline[] = "deadline";
    static const struct retry_policy policies[POLICIES_N] = {
        [POLICY_LIST] = {.name = list,
                         .delays_ms = {1000, 3000, 10000},
                         .delays_n = 3,
                         .jitter = .2},
        [POLICY_SERIES] =
            {.name = series, .first_ms = 200, .longest_ms = 4000, .factor = 3, .attempts = 5},
        [POLICY_DEADLINE] = {.name = deadline,
                             .delays_ms = {5000, 5000, 5000, 5000},
                             .delays_n = 4,
                             .jitter = 1,
                             .deadline_ms = POLICY_DEADLINE_MS},
    };
    w->rules.retry = policies;
    w->rules.retry_n = POLICIES_N;
}

static struct bytes print(struct world *w, const char *format, int64_t a, int64_t b)
{
    char text[64];
    snprintf(text, sizeof text, format, a, b);
    return arena_copy(&w->arena, bytes_text(text));
}

struct bytes retries_header(struct world *w, const struct ask *ask, const char *name)
{
    const struct retry_ask *retry = ask->retry;
    if (strcmp(name, "dlb-retry") == 0)
        return bytes_text(known[ask->fault == CODE_BAD_RETRY ? POLICIES_N : retry->policy].name);
    if (strcmp(name, "dlb-attempt") == 0 && ask->fault == CODE_BAD_HEADER)
        return bytes_text("one");
    if (strcmp(name, "dlb-attempt") == 0 && retry->attempt >= 0)
        return print(w, "%" PRId64, retry->attempt, 0);
    if (strcmp(name, "dlb-first-at") == 0 && retry->first_ms > 0)
        return print(w, "%" PRId64, retry->first_ms, 0);
    if (strcmp(name, "dlb-origin") == 0 && retry->origin != NULL)
        return print(w, "schedule/%" PRId64 "/%" PRId64, retry->origin->lane,
                     retry->origin->offset);
    return bytes_null();
}

void retries_expect(struct world *w, struct request *r, const struct ask *ask)
{
    const struct retry_ask *retry = ask->retry;
    int so_far = retry->attempt > 0 ? retry->attempt : 0;
    r->retry = (struct retry_model){
        .policy = retry->policy,
        .number = so_far + 1,
        .first_ms = retry->first_ms > 0 ? retry->first_ms : EPOCH_MS + w->now_ms - ask->age_ms,
        .origin = retry->origin != NULL ? retry->origin : r};
    r->due_ms = DUE_UNKNOWN;
    if (r->expect != CODE_OK)
        return;
    if (so_far >= known[retry->policy].n)
        r->expect = CODE_RETRIES_EXHAUSTED;
    else
        r->delay_ms = known[retry->policy].most_ms[so_far];
}

static struct request *send(struct world *w, struct ask ask, const struct retry_ask *retry)
{
    ask.retry = retry;
    return workload_send(w, &ask);
}

struct request *retries_send(struct world *w, const struct ask *ask, int policy)
{
    const struct retry_ask retry = {.policy = policy, .attempt = -1};
    return send(w, *ask, &retry);
}

static int target_index(const struct world *w, const char *name)
{
    int i = 0;
    while (strcmp(w->targets[i].name, name) != 0)
        i++;
    return i;
}

struct request *retries_send_again(struct world *w, struct request *from)
{
    const struct retry_model *was = &from->retry;
    const struct retry_ask retry = {.policy = was->policy,
                                    .attempt = was->number,
                                    .first_ms = was->first_ms,
                                    .origin = was->origin};
    struct ask ask = {.lane = from->lane,
                      .target = target_index(w, from->target),
                      .key = from->key.data,
                      .id = from->id.data,
                      .has_value = true,
                      .value_len = 10};
    from->retry.sent_again = true;
    return send(w, ask, &retry);
}

/* Returns the newest delivered retry that its consumer may send back. One with a deadline may be
   refused or not, so only stories send it back. */
static struct request *delivered_retry(const struct world *w)
{
    struct request *found = NULL;
    for (struct request *r = w->requests; r != NULL; r = r->next)
        if (r->retry.number > 0 && r->delivered > 0 && !r->retry.sent_again &&
            r->retry.policy != POLICY_DEADLINE && r->schedule == w->schedule_n)
            found = r;
    return found;
}

struct request *retries_random(struct world *w)
{
    static const char *const keys[] = {NULL, "k", "order-17", "a-rather-long-key-of-somebody"};
    static const enum code faults[] = {CODE_BAD_RETRY, CODE_NO_TARGET, CODE_BAD_HEADER};
    struct rng *rng = &w->retry_rng;
    struct request *from = delivered_retry(w);
    if (from != NULL && rng_chance(rng, 6000))
        return retries_send_again(w, from);
    struct ask ask = {.lane = rng_int(rng, 0, w->setup.lanes - 1),
                      .target = rng_int(rng, TARGET_DEFAULT, TARGET_B),
                      .age_ms = rng_chance(rng, 3000) ? rng_between(rng, 0, 100000) : 0,
                      .key = keys[rng_int(rng, 0, 3)],
                      .id = rng_chance(rng, 2000) ? "named" : NULL,
                      .has_value = rng_chance(rng, 8000),
                      .value_len = (size_t)rng_int(rng, 0, 100)};
    struct retry_ask retry = {.policy = rng_int(rng, 0, POLICIES_N - 1), .attempt = -1};
    if (rng_chance(rng, 2000)) /* from a consumer that was fed by another topic */
        retry.attempt = rng_int(rng, 0, known[retry.policy].n + 1);
    if (rng_chance(rng, 1000))
        ask.fault = faults[rng_int(rng, 0, 2)];
    return send(w, ask, &retry);
}

void retries_check(struct process *p, const struct request *r, const struct stamp *stamp)
{
    struct world *w = p->world;
    const struct retry_model *model = &r->retry;
    const struct retry *retry = &stamp->extras.retry;
    int64_t least_ms = known[model->policy].least_ms[model->number - 1];
    int64_t most_ms = known[model->policy].most_ms[model->number - 1];
    int64_t due_ms = stamp->due_ms - EPOCH_MS;
    if (!stamp->extras.is_retry || !bytes_is_null(retry->origin_topic))
        world_fail(w, "retry %d/%lld lost its fields", r->lane, (long long)r->offset);
    if (retry->attempt != model->number || retry->first_ms != model->first_ms)
        world_fail(w, "retry %d/%lld has number %d and another first time, or not number %d",
                   r->lane, (long long)r->offset, retry->attempt, model->number);
    if (retry->origin_lane != (uint32_t)model->origin->lane ||
        retry->origin_offset != model->origin->offset)
        world_fail(w, "retry %d/%lld has another origin", r->lane, (long long)r->offset);
    if (due_ms < r->appended_ms + least_ms - w->skew_ms_max ||
        due_ms > w->now_ms + most_ms + w->skew_ms_max)
        world_fail(w, "retry %d/%lld is due %lld ms after it was written, not %lld to %lld",
                   r->lane, (long long)r->offset, (long long)(due_ms - r->appended_ms),
                   (long long)least_ms, (long long)most_ms);
}
