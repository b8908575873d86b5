/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of targets that operators pause or limit. */
#include "tests/sim/coordinator.h"
#include "tests/sim/operators.h"
#include "tests/sim/story_cancel.h"

enum { HOUR_MS = 3600000, LABEL_PAYMENTS = 2 };
#define PAYMENTS(w, name) COUNT(w, targets[LABEL_PAYMENTS].name)

static void open_controlled(struct world *w)
{
    w->setup.control = true;
    story_open(w);
}

static struct request *ask_expiring(struct world *w, int64_t delay_ms, int64_t expires_in_ms)
{
    const struct ask ask = {.target = TARGET_A,
                            .delay_ms = delay_ms,
                            .expires_in_ms = expires_in_ms,
                            .has_value = true,
                            .value_len = 10};
    return workload_send(w, &ask);
}

/* The target of another entry of `targets` is not affected. */
static void pause_and_resume(struct world *w)
{
    open_controlled(w);
    operators_pause(w, "payments.*", 0);
    story_pass(w, 100);
    struct request *paused = story_ask(w, TARGET_A, 0), *other = story_ask(w, TARGET_DEFAULT, 0);
    story_until(w, other->delivered == 1);
    story_pass(w, 60000);
    expect(w, paused->delivered == 0 && PAYMENTS(w, paused) >= 8);
    expect(w, COUNT(w, redeliveries) == 0 && COUNT(w, deferrals) == 0);
    operators_remove(w, "payments.*");
    story_pass(w, 15000 + 1500); /* a quarter of the pause, and a hop */
    expect(w, paused->delivered == 1);
    expect(w, COUNT(w, lateness_max_ms) < 500);
    expect(w, COUNT(w, withheld_delay.sum_ms) > 50000 && COUNT(w, target_delay.sum_ms) == 0);
    story_finish(w);
}

void records_of_a_paused_target_wait_until_it_is_resumed(struct world *w)
{
    story_begin(w);
    pause_and_resume(w);
}

void records_of_a_paused_target_wait_until_it_is_resumed_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    pause_and_resume(w);
}

void an_hour_of_a_pause_has_few_writes(struct world *w)
{
    story_begin(w);
    open_controlled(w);
    operators_pause(w, "payments.a", 0);
    story_pass(w, 100);
    struct request *r = story_ask(w, TARGET_A, 0);
    story_pass(w, HOUR_MS);
    expect(w, PAYMENTS(w, paused) >= 26 && PAYMENTS(w, paused) <= 30);
    expect(w, r->delivered == 0);
    uint64_t before = PAYMENTS(w, paused);
    story_pass(w, HOUR_MS);
    expect(w, PAYMENTS(w, paused) - before == 6);
    operators_remove(w, "payments.a");
    story_pass(w, 600000 + 1500);
    expect(w, r->delivered == 1);
    story_finish(w);
}

/* No operator ends it. */
void a_pause_ends_at_its_time(struct world *w)
{
    story_begin(w);
    open_controlled(w);
    operators_pause(w, "*", 20000);
    int64_t ends_ms = w->now_ms + 20000;
    story_pass(w, 100);
    struct request *r = story_ask(w, TARGET_A, 0);
    story_until(w, r->delivered == 1);
    expect(w, w->now_ms >= ends_ms && w->now_ms < ends_ms + 500);
    story_finish(w);
}

void a_paused_record_uses_up_no_attempt(struct world *w)
{
    story_begin(w);
    w->setup.max_attempts = 2;
    open_controlled(w);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    struct request *r = story_ask(w, TARGET_A, 0);
    story_until(w, COUNT(w, redeliveries) == 1);
    operators_pause(w, "payments.a", 0);
    story_pass(w, 120000);
    w->targets[TARGET_A].mood = TARGET_FINE;
    operators_remove(w, "payments.a");
    story_until(w, r->delivered == 1);
    story_finish(w);
}

void a_paused_record_expires_at_its_time(struct world *w)
{
    story_begin(w);
    open_controlled(w);
    operators_pause(w, "payments.a", 0);
    story_pass(w, HOUR_MS);
    struct request *r = ask_expiring(w, 1000, 30000);
    int64_t expires_ms = r->expires_ms - EPOCH_MS;
    story_until(w, r->dead == 1);
    expect(w, w->now_ms > expires_ms && w->now_ms < expires_ms + 1500);
    story_until(w, COUNT(w, dead[CODE_EXPIRED]) == 1);
    story_finish(w);
}

void a_cancel_meets_a_paused_record(struct world *w)
{
    story_begin_cancels(w);
    open_controlled(w);
    operators_pause(w, "*", 0);
    story_pass(w, 100);
    struct request *r = ask_named(w, "k", NULL, 0);
    story_until(w, PAYMENTS(w, paused) > 0);
    cancel_of(w, "k", NULL);
    story_pass(w, 1000);
    operators_remove(w, "*");
    story_pass(w, 60000);
    expect(w, r->voided > 0 && r->delivered == 0);
    story_finish(w);
}

static int delivered_of(struct request **all, int n)
{
    int delivered = 0;
    for (int i = 0; i < n; i++)
        delivered += all[i]->delivered;
    return delivered;
}

/* Each record is put back once, and then comes in its slot. */
static void limit(struct world *w)
{
    enum { N = 200 };
    struct request *all[N];
    open_controlled(w);
    operators_limit(w, "payments.*", 10, 1000);
    story_pass(w, 100);
    for (int i = 0; i < N; i++)
        all[i] = story_ask(w, TARGET_A, 0);
    int64_t begin_ms = w->now_ms;
    story_pass(w, 10000);
    int early = delivered_of(all, N);
    expect(w, early >= 98 && early <= 101);
    story_until(w, delivered_of(all, N) == N);
    expect(w, w->now_ms - begin_ms >= 19000 && w->now_ms - begin_ms <= 20500);
    expect(w, PAYMENTS(w, limited) >= N - 1 && PAYMENTS(w, limited) <= N);
    expect(w, COUNT(w, lateness_max_ms) < 500 && COUNT(w, withheld_delay.sum_ms) > 1000000);
    story_finish(w);
}

void records_of_a_limited_target_come_at_its_rate(struct world *w)
{
    story_begin(w);
    limit(w);
}

void records_of_a_limited_target_come_at_its_rate_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    limit(w);
}

/* A limit of an operator has precedence, and ends. */
void an_entry_of_targets_may_have_a_rate(struct world *w)
{
    enum { N = 40 };
    struct request *all[N];
    story_begin(w);
    w->setup.control = true;
    operators_configure(w, "payments.*", 2, 1000);
    story_open(w);
    for (int i = 0; i < N; i++)
        all[i] = story_ask(w, TARGET_A, 0);
    struct request *other = story_ask(w, TARGET_DEFAULT, 0);
    story_pass(w, 5000);
    expect(w, other->delivered == 1);
    expect(w, delivered_of(all, N) >= 8 && delivered_of(all, N) <= 11);
    operators_limit(w, "payments.a", 10, 1000);
    story_pass(w, 100);
    struct request *quick = story_ask(w, TARGET_A, 0);
    story_pass(w, 2000);
    expect(w, quick->delivered == 1);
    operators_remove(w, "payments.a");
    story_until(w, delivered_of(all, N) == N);
    expect(w, COUNT(w, lateness_max_ms) < 500);
    story_finish(w);
}

/* The new process does not know the slots that its predecessor gave. */
void slots_are_given_again_after_a_restart(struct world *w)
{
    enum { N = 100 };
    struct request *all[N];
    story_begin(w);
    open_controlled(w);
    operators_limit(w, "*", 5, 1000);
    story_pass(w, 100);
    for (int i = 0; i < N; i++)
        all[i] = story_ask(w, TARGET_A, 0);
    story_pass(w, 5000);
    story_crash(w);
    process_start(w, 0);
    story_until(w, story_owner(w, 0) != NULL);
    int64_t begin_ms = w->now_ms;
    int before = delivered_of(all, N);
    story_ask(w, TARGET_A, 0);
    story_until(w, delivered_of(all, N) == N);
    expect(w, w->now_ms - begin_ms >= (N - before) * 200 - 600);
    story_finish(w);
}

/* Two processes with a lane each share the rate. Their owners change. */
void lanes_share_a_limit(struct world *w)
{
    enum { N = 100 };
    struct request *all[N];
    story_begin(w);
    w->setup.processes = w->setup.lanes = 2;
    open_controlled(w);
    operators_limit(w, "payments.a", 10, 1000);
    story_pass(w, 100);
    for (int i = 0; i < N; i++)
        all[i] = story_ask_lane(w, i % 2, TARGET_A, 0);
    int64_t begin_ms = w->now_ms;
    story_pass(w, 3000);
    expect(w, delivered_of(all, N) <= 32);
    story_regroup(w);
    story_until(w, delivered_of(all, N) == N);
    expect(w, w->now_ms - begin_ms >= 9000);
    story_finish(w);
}

void a_removed_limit_is_over(struct world *w)
{
    story_begin(w);
    open_controlled(w);
    operators_limit(w, "payments.a", 1, 60000);
    story_pass(w, 100);
    struct request *slow = story_ask(w, TARGET_A, 0);
    story_pass(w, 1000);
    operators_remove(w, "payments.a");
    story_pass(w, 100);
    struct request *r = story_ask(w, TARGET_A, 0);
    story_until(w, r->delivered == 1);
    story_until(w, slow->delivered == 1);
    story_finish(w);
}

/* Slots of a rate by mistake end in 20 minutes, and the longest level has 30 s. */
static void limit_by_mistake(struct world *w, struct request *all[], int n)
{
    open_controlled(w);
    operators_limit(w, "payments.a", 1, 60000);
    story_pass(w, 100);
    for (int i = 0; i < n; i++)
        all[i] = story_ask(w, TARGET_A, 0);
    story_pass(w, 3000);
    expect(w, delivered_of(all, n) == 0 && PAYMENTS(w, limited) == (uint64_t)n);
}

void a_removed_limit_frees_records_at_their_next_hop(struct world *w)
{
    enum { N = 20 };
    struct request *all[N];
    story_begin(w);
    limit_by_mistake(w, all, N);
    operators_remove(w, "payments.a");
    story_pass(w, 33000);
    expect(w, delivered_of(all, N) == N && PAYMENTS(w, limited) == N);
    story_finish(w);
}

void a_raised_limit_gives_earlier_slots_at_the_next_hop(struct world *w)
{
    enum { N = 20 };
    struct request *all[N];
    story_begin_exactly_once(w);
    limit_by_mistake(w, all, N);
    operators_limit(w, "payments.a", 5, 1000);
    story_pass(w, 33000 + N * 200 + 1000);
    expect(w, delivered_of(all, N) == N && PAYMENTS(w, limited) <= 2 * N);
    story_finish(w);
}

static int delivered_once_more(struct world *w, int64_t within_ms)
{
    const struct request *r = story_ask(w, TARGET_A, 0);
    story_pass(w, within_ms);
    return r->delivered;
}

/* The slots of cancelled records would keep the target idle for two minutes. */
void cancelled_records_give_their_slots_back(struct world *w)
{
    enum { N = 12 };
    story_begin_cancels(w);
    open_controlled(w);
    operators_limit(w, "payments.a", 6, 60000);
    story_pass(w, 100);
    for (int i = 0; i < N; i++)
        ask_named(w, "k", NULL, 0);
    story_until(w, PAYMENTS(w, limited) == N);
    cancel_of(w, "k", NULL);
    story_pass(w, 33000);
    expect(w, delivered_once_more(w, 33000) == 1);
    operators_remove(w, "payments.a");
    story_finish(w);
}

/* Opens the bridge with a limit, and sends n requests that are due at once. */
static void ask_limited(struct world *w, struct request *all[], int n, struct rate rate)
{
    open_controlled(w);
    operators_limit(w, "payments.a", (int)rate.records, (int)rate.unit_ms);
    story_pass(w, 100);
    for (int i = 0; i < n; i++)
        all[i] = story_ask(w, TARGET_A, 0);
}

/* There is room for one bucket. The records that come between the others must not start it again:
   it starts empty, so the target would get none at all. */
void a_limited_target_keeps_its_bucket_until_it_is_idle(struct world *w)
{
    enum { N = 20 };
    struct request *first[N], *second[N];
    story_begin(w);
    w->setup.limited_max = 1;
    open_controlled(w);
    operators_limit(w, "payments.*", 1, 1000);
    story_pass(w, 100);
    for (int i = 0; i < N; i++) {
        first[i] = story_ask(w, TARGET_A, i * 500);
        second[i] = story_ask(w, TARGET_B, i * 500 + 1);
    }
    story_pass(w, N * 1000 + 1500);
    expect(w, delivered_of(first, N) == N && delivered_of(second, N) == 0);
    expect(w, COUNT(w, limits_full) >= N);
    story_pass(w, N * 1000 + 5000 + 3000);
    expect(w, delivered_of(second, N) == N);
    expect(w, COUNT(w, redeliveries) == 0 && COUNT(w, deferrals) == 0);
    story_finish(w);
}

/* Its requests are dead-lettered meanwhile. */
void a_limited_target_without_a_topic_takes_no_bucket(struct world *w)
{
    story_begin(w);
    w->setup.limited_max = 1;
    open_controlled(w);
    operators_limit(w, "*", 1, 60000);
    story_pass(w, 100);
    struct request *wrong = story_ask(w, TARGET_GHOST, 0);
    story_pass(w, 100);
    struct request *r = story_ask(w, TARGET_A, 0);
    story_until(w, r->delivered == 1);
    story_until(w, wrong->dead == 1);
    expect(w, COUNT(w, limits_full) == 0);
    story_finish(w);
}

/* Its records were sent while there was no limit. */
void a_limit_that_is_set_again_forgets_its_slots(struct world *w)
{
    enum { N = 12 };
    struct request *all[N];
    story_begin(w);
    ask_limited(w, all, N, (struct rate){6, 60000});
    story_until(w, PAYMENTS(w, limited) == N);
    operators_remove(w, "payments.a");
    story_pass(w, 33000);
    expect(w, delivered_of(all, N) == N);
    operators_limit(w, "payments.a", 6, 60000);
    story_pass(w, 100);
    expect(w, delivered_once_more(w, 12000) == 1);
    operators_remove(w, "payments.a");
    story_finish(w);
}

/* The wall clock of a process goes forward by an hour. */
void a_step_of_the_clock_adds_nothing_to_a_limit(struct world *w)
{
    enum { N = 60 };
    struct request *all[N];
    story_begin(w);
    ask_limited(w, all, N, (struct rate){2, 1000});
    story_pass(w, 5000);
    int before = delivered_of(all, N);
    for (int i = 0; i < 4; i++) {
        process_step_clock(&w->processes[0], HOUR_MS);
        story_pass(w, 1000);
    }
    expect(w, delivered_of(all, N) - before <= 10);
    operators_remove(w, "payments.a");
    story_pass(w, 35000);
    expect(w, delivered_of(all, N) == N);
    story_finish(w);
}

/* The records that have slots are read again, and get slots of the same time. */
void an_abort_voids_the_slots_of_a_limit(struct world *w)
{
    enum { N = 100 };
    struct request *all[N];
    story_begin_exactly_once(w);
    ask_limited(w, all, N, (struct rate){5, 1000});
    story_until(w, PAYMENTS(w, limited) == N);
    struct process *p = &w->processes[0];
    coordinator_fence(p->producer);
    story_until(w, COUNT(w, aborts) == 1 && p->lanes[0].epoch == 2);
    story_pass(w, N * 200 + 1500);
    expect(w, delivered_of(all, N) == N);
    story_finish(w);
}

/* Records come before their slots, which others wait behind. */
void a_step_of_the_clock_voids_the_slots_of_a_limit(struct world *w)
{
    enum { N = 100 };
    struct request *all[N];
    story_begin(w);
    ask_limited(w, all, N, (struct rate){5, 1000});
    story_until(w, PAYMENTS(w, limited) == N);
    process_step_clock(&w->processes[0], N * 200);
    story_pass(w, N * 200 + 1500);
    expect(w, delivered_of(all, N) == N);
    story_finish(w);
}

/* A hop of a long wait ends it, too. */
void a_record_of_a_long_pause_comes_at_its_next_hop(struct world *w)
{
    story_begin(w);
    open_controlled(w);
    operators_pause(w, "payments.a", 0);
    story_pass(w, HOUR_MS);
    struct request *r = story_ask(w, TARGET_A, 0);
    story_until(w, PAYMENTS(w, paused) == 1);
    operators_remove(w, "payments.a");
    story_pass(w, 33000);
    expect(w, r->delivered == 1);
    story_finish(w);
}

/* The oracle knows that a process reads the topic before its first delivery. */
void lanes_open_when_the_pauses_were_read(struct world *w)
{
    story_begin(w);
    open_controlled(w);
    operators_pause(w, "payments.a", 0);
    story_pass(w, 100);
    struct request *r = story_ask(w, TARGET_A, 0);
    w->knobs.hold_control = true;
    story_crash(w);
    process_start(w, 0);
    story_until(w, story_owner(w, 0) != NULL);
    story_pass(w, 5000);
    w->knobs.hold_control = false;
    story_pass(w, 10000);
    expect(w, r->delivered == 0 && w->notices[NOTICE_CONTROL_UNKNOWN] == 0);
    operators_remove(w, "payments.a");
    story_finish(w);
}

/* The lane has read its cancels, and waits for the pauses only. The overdue record was fetched
   before, and the cancel was not. */
void a_cancel_wins_that_is_written_while_lanes_wait_for_the_pauses(struct world *w)
{
    story_begin_cancels(w);
    open_controlled(w);
    struct request *r = ask_named(w, "k", NULL, 20000);
    story_pass(w, 2000);
    w->knobs.hold_control = true;
    story_crash(w);
    process_start(w, 0);
    story_until(w, story_owner(w, 0) != NULL);
    story_pass(w, 3000);
    w->knobs.hold_fetches = true;
    cancel_of(w, "k", NULL);
    story_until(w, w->now_ms > r->due_ms - EPOCH_MS + 2000);
    w->knobs.hold_control = false;
    story_pass(w, 1000);
    w->knobs.hold_fetches = false;
    story_pass(w, 10000);
    expect(w, r->voided > 0 && r->delivered == 0 && w->notices[NOTICE_CONTROL_UNKNOWN] == 0);
    story_finish(w);
}

/* A small topic must not stop all deliveries. */
void lanes_open_after_half_a_minute_without_the_pauses(struct world *w)
{
    story_begin(w);
    w->knobs.hold_control = true;
    open_controlled(w);
    struct request *r = story_ask(w, TARGET_A, 0);
    story_pass(w, 29000);
    expect(w, r->delivered == 0);
    story_pass(w, 2000);
    expect(w, r->delivered == 1 && w->notices[NOTICE_CONTROL_UNKNOWN] == 1);
    w->knobs.hold_control = false;
    story_finish(w);
}

static uint64_t withheld(struct world *w)
{
    uint64_t sum = 0;
    struct process *p = &w->processes[0];
    bridge_survey(p->bridge, process_clock(p));
    for (int slot = 0; slot < p->slots; slot++)
        sum += counter_read(&p->stats.slots[slot].withheld);
    return sum;
}

void a_withheld_record_is_not_redelivering(struct world *w)
{
    story_begin(w);
    open_controlled(w);
    operators_pause(w, "payments.a", 0);
    story_pass(w, 100);
    story_ask(w, TARGET_A, 0);
    story_ask(w, TARGET_A, 0);
    for (int i = 0; i < 60; i++) {
        story_pass(w, 1000);
        expect(w, withheld(w) == 2);
        for (int slot = 0; slot < w->processes[0].slots; slot++)
            expect(w, counter_read(&w->processes[0].stats.slots[slot].redelivering) == 0);
    }
    operators_remove(w, "payments.a");
    story_pass(w, 20000);
    expect(w, withheld(w) == 0);
    story_finish(w);
}
