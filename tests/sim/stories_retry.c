/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of requests with dlb-retry. */
#include "tests/sim/retries.h"
#include "tests/sim/story_cancel.h"

static struct request *failed(struct world *w, int policy)
{
    const struct ask ask = {.target = TARGET_A, .key = "k", .has_value = true, .value_len = 10};
    return retries_send(w, &ask, policy);
}

static void use_up(struct world *w)
{
    w->setup.events = EVENT_BIT(EVENT_RETRY_ACCEPTED);
    story_open(w);
    struct request *first = failed(w, POLICY_LIST), *r = first;
    for (int number = 1; number <= 3; number++) {
        story_until(w, r->delivered == 1);
        expect(w, r->retry.number == number && r->retry.origin == first);
        story_until(w, r->told[EVENT_RETRY_ACCEPTED] == 1);
        r = retries_send_again(w, r);
    }
    expect(w, r->expect == CODE_RETRIES_EXHAUSTED);
    story_until(w, r->dead == 1);
    story_until(w, COUNT(w, dead[CODE_RETRIES_EXHAUSTED]) == 1);
    expect(w, r->delivered == 0);
    story_finish(w);
    expect(w, r->told[EVENT_RETRY_ACCEPTED] == 0);
}

void retries_of_a_record_wait_longer_each_time_and_end(struct world *w)
{
    story_begin(w);
    use_up(w);
}

void retries_of_a_record_wait_longer_each_time_and_end_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    use_up(w);
}

/* A consumer that copies the timestamp of an old record must not retry in a loop. */
void a_retry_with_an_old_timestamp_waits_from_its_reading(struct world *w)
{
    const struct ask ask = {.target = TARGET_A, .age_ms = 3600000};
    story_begin(w);
    story_open(w);
    story_pass(w, 1000);
    struct request *r = retries_send(w, &ask, POLICY_SERIES);
    int64_t sent_ms = w->now_ms;
    story_until(w, r->delivered == 1);
    expect(w, r->finished_ms >= sent_ms + 200);
    story_finish(w);
}

/* The consumer does not copy the count. */
void a_retry_without_its_count_is_the_first_one(struct world *w)
{
    story_begin(w);
    story_open(w);
    for (int i = 0; i < 5; i++) {
        struct request *r = failed(w, POLICY_LIST);
        story_until(w, r->delivered == 1);
        expect(w, r->retry.number == 1 && r->retry.origin == r);
    }
    story_finish(w);
}

/* The target fails, the process is killed, and the lane gets a new owner: each of these writes or
   reads the envelope again. */
static void survive(struct world *w)
{
    story_open(w);
    struct request *first = failed(w, POLICY_LIST);
    story_until(w, first->delivered == 1);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    struct request *second = retries_send_again(w, first);
    story_until(w, COUNT(w, redeliveries) > 0);
    story_pass(w, 1000);
    story_crash(w);
    process_start(w, 0);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_until(w, second->delivered == 1);
    struct request *third = retries_send_again(w, second);
    story_until(w, third->delivered == 1);
    expect(w, third->retry.number == 3 && third->retry.origin == first);
    story_finish(w);
}

void a_retry_keeps_its_count_and_origin_through_failures(struct world *w)
{
    story_begin(w);
    survive(w);
}

void a_retry_keeps_its_count_and_origin_through_failures_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    survive(w);
}

/* The order's timer and the retry have the same key. */
void the_cancel_of_a_key_voids_no_retry(struct world *w)
{
    story_begin_cancels(w);
    story_open(w);
    struct request *timer = ask_named(w, "k", NULL, 9000);
    struct request *retry = failed(w, POLICY_LIST);
    const struct ask named = {.target = TARGET_A, .key = "k", .id = "retry-17"};
    struct request *by_id = retries_send(w, &named, POLICY_LIST);
    cancel_of(w, "k", NULL);
    cancel_of(w, "k", "retry-17");
    story_pass(w, 12000);
    expect(w, timer->voided > 0 && timer->delivered == 0);
    expect(w, retry->delivered == 1 && retry->voided == 0);
    expect(w, by_id->voided > 0 && by_id->delivered == 0);
    story_finish(w);
}

/* No process runs for longer than the deadline of the policy, which counts from the first retry. */
void retries_end_at_their_deadline(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct request *first = failed(w, POLICY_DEADLINE);
    story_until(w, first->delivered == 1);
    struct request *in_time = retries_send_again(w, first);
    story_until(w, in_time->delivered == 1);
    story_pass(w, POLICY_DEADLINE_MS);
    struct request *late = retries_send_again(w, in_time);
    late->expect = CODE_RETRIES_EXHAUSTED;
    story_until(w, late->dead == 1);
    struct request *fresh = failed(w, POLICY_DEADLINE);
    story_until(w, fresh->delivered == 1);
    story_finish(w);
}

/* No commit succeeds after the second retry is due, and its owner dies. The wait of the retry
   begins again when the next owner reads it, after the cancel was written. */
static void cancel_after_a_crash(struct world *w)
{
    const struct ask named = {.target = TARGET_A, .key = "k", .id = "retry-17"};
    w->setup.events = EVENT_BIT(EVENT_CANCELLED);
    story_open(w);
    struct request *first = retries_send(w, &named, POLICY_LIST);
    story_until(w, first->delivered == 1);
    story_pass(w, 500);
    w->knobs.commit_fails = 10000;
    struct request *r = retries_send_again(w, first);
    story_pass(w, 5000);
    story_crash(w);
    expect(w, r->delivered == !w->setup.exactly_once);
    w->knobs.commit_fails = 0;
    cancel_of(w, "k", "retry-17");
    process_start(w, 0);
    story_until(w, r->told[EVENT_CANCELLED] == 1);
    expect(w, r->certain == w->setup.exactly_once);
    story_finish(w);
}

void a_cancelled_retry_that_may_have_come_is_not_certain(struct world *w)
{
    story_begin_cancels(w);
    cancel_after_a_crash(w);
}

void a_cancelled_retry_is_certain_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    cancel_after_a_crash(w);
}
