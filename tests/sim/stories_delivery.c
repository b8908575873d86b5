/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of delivery: records that fit no topic, targets that are unavailable, and clocks that are
   wrong. */
#include "tests/sim/story.h"

void too_large_for_level_and_dead_letter_goes_without_value(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct request *r = story_ask_large(w, 8000, DEAD_BYTES_MAX + 1);
    struct request *next = story_ask(w, TARGET_A, 0);
    story_pass(w, 500);
    expect(w, r->dead == 1 && COUNT(w, dead[CODE_TOO_LARGE]) == 1 && next->delivered == 1);
    expect(w, story_committed(w, -1, 0)->base == 2); /* the next record continues */
    expect(w, w->forwards == 5); /* hop, dead letter with the value, the same alone, dead letter
                                    without the value, next record */
    story_finish(w);
}

static void tell_of_long_key(struct world *w)
{
    story_open(w);
    struct request *r = story_ask_long_key(w, 8000, DEAD_BYTES_MAX + 1);
    struct request *next = story_ask(w, TARGET_A, 0);
    story_pass(w, 3000);
    expect(w, r->dead == 1 && COUNT(w, dead[CODE_TOO_LARGE]) == 1 && next->delivered == 1);
    expect(w, story_committed(w, -1, 0)->base == 2); /* the next record continues */
    story_finish(w);
}

void dead_letter_with_too_large_a_key_goes_bare(struct world *w)
{
    story_begin(w);
    tell_of_long_key(w);
}

void dead_letter_with_too_large_a_key_goes_bare_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    tell_of_long_key(w);
}

void too_large_batch_is_tried_alone(struct world *w)
{
    story_begin(w);
    story_open(w);
    w->knobs.batch = 10000;
    struct request *r = story_ask(w, TARGET_A, 0);
    struct request *large = story_ask_large(w, 0, TARGET_BYTES_MAX + 1);
    story_pass(w, 500);
    expect(w, r->delivered == 1 && r->dead == 0 && COUNT(w, redeliveries) == 0);
    expect(w, large->dead == 1 && COUNT(w, dead[CODE_TOO_LARGE]) == 1);
    story_finish(w);
}

/* A broker answers such a request by closing the connection, so it must never be sent. The oracle
   checks that. */
static void tell_of_what_no_broker_takes(struct world *w)
{
    w->setup.request_max_bytes = REQUEST_BYTES_MAX;
    story_open(w);
    struct request *soon = story_ask_large(w, 0, REQUEST_BYTES_MAX + 1);
    struct request *late = story_ask_large(w, 20000, REQUEST_BYTES_MAX + 1);
    struct request *key = story_ask_long_key(w, 8000, REQUEST_BYTES_MAX + 1);
    struct request *next = story_ask(w, TARGET_A, 0);
    story_pass(w, 500);
    expect(w, soon->dead == 1 && late->dead == 1 && key->dead == 1 && next->delivered == 1);
    expect(w, COUNT(w, dead[CODE_TOO_LARGE]) == 3 && COUNT(w, refused) == 3);
    expect(w, w->forwards == 4); /* three dead letters and the next record */
    story_finish(w);
}

void record_above_the_request_limit_is_never_sent(struct world *w)
{
    story_begin(w);
    tell_of_what_no_broker_takes(w);
}

void record_above_the_request_limit_is_never_sent_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    tell_of_what_no_broker_takes(w);
}

/* The lane is lost and comes back while the dead letter is in flight. The record is read again, and
   the bridge must see that it is the same one, although it did not keep the value. */
void dead_letter_in_flight_without_its_value_is_not_sent_again(struct world *w)
{
    story_begin(w);
    w->setup.request_max_bytes = REQUEST_BYTES_MAX;
    story_open(w);
    story_hold_landings(w);
    struct request *large = story_ask_large(w, 0, REQUEST_BYTES_MAX + 1);
    struct request *key = story_ask_long_key(w, 0, REQUEST_BYTES_MAX + 1);
    story_until(w, w->forwards == 2);
    story_regroup(w);
    story_pass(w, 500);
    story_let_land(w);
    story_until(w, large->dead == 1 && key->dead == 1);
    story_pass(w, 500);
    expect(w, w->forwards == 2);
    story_finish(w);
}

/* The brokers are restarted with a smaller limit while the record waits. */
static void tell_of_lowered_limit(struct world *w)
{
    story_open(w);
    struct request *due = story_ask_large(w, 8000, TARGET_BYTES_MAX);
    struct request *far = story_ask_large(w, 60000, TARGET_BYTES_MAX);
    struct request *next = story_ask(w, TARGET_A, 8000);
    story_pass(w, 2000);
    expect(w, COUNT(w, hops) == 3);
    w->setup.request_max_bytes = TARGET_BYTES_MAX + 500; /* headers of dead letters included */
    story_crash(w);
    process_start(w, 0);
    story_until(w, due->dead == 1 && far->dead == 1 && next->delivered == 1);
    story_pass(w, 100);
    expect(w, COUNT(w, dead[CODE_TOO_LARGE]) == 2 && w->now_ms < 60000); /* before it is due */
    story_finish(w);
}

void waiting_record_above_a_lowered_limit_is_dead_lettered(struct world *w)
{
    story_begin(w);
    tell_of_lowered_limit(w);
}

void waiting_record_above_a_lowered_limit_is_dead_lettered_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    tell_of_lowered_limit(w);
}

/* Records to an unavailable target, among others. */
static void ask_both(struct world *w, int n, struct request **bad, struct request **good)
{
    for (int i = 0; i < n; i++) {
        bad[i] = story_ask(w, TARGET_A, i % 3 * 100);
        good[i] = story_ask(w, TARGET_B, i % 3 * 100);
    }
}

enum { PAIRS = 20 };

void failing_target_does_not_block_the_lane(struct world *w)
{
    struct request *bad[PAIRS], *good[PAIRS];
    story_begin(w);
    w->setup.is_calm = true;
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    ask_both(w, PAIRS, bad, good);
    story_pass(w, 1000);
    for (int i = 0; i < PAIRS; i++)
        expect(w, good[i]->delivered == 1 && bad[i]->delivered == 0 && bad[i]->dead == 0);
    expect(w, story_committed(w, -1, 0)->base == 2 * PAIRS);
    w->setup.is_calm = false;
    story_finish(w);
    for (int i = 0; i < PAIRS; i++)
        expect(w, bad[i]->delivered == 1);
}

/* The look-up has no answer, as if it had been sent to a stopped broker. */
void target_without_a_lookup_answer_does_not_block_others(struct world *w)
{
    story_begin(w);
    story_open(w);
    w->targets[TARGET_A].unanswered = true;
    struct request *unknown = story_ask(w, TARGET_A, 0);
    story_pass(w, 50);
    struct request *good = story_ask(w, TARGET_B, 0);
    story_pass(w, 200);
    expect(w, unknown->delivered == 0 && good->delivered == 1);
    w->targets[TARGET_A].unanswered = false;
    story_pass(w, 3000);
    expect(w, unknown->delivered == 1);
    story_finish(w);
}

/* When the record is due, look-ups have no answers any more. */
void a_target_is_looked_up_before_its_record_is_due(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct request *held = story_ask(w, TARGET_A, 1500);
    story_pass(w, 1000);
    w->targets[TARGET_A].unanswered = true;
    story_pass(w, 510);
    expect(w, held->delivered == 1);
    w->targets[TARGET_A].unanswered = false;
    story_finish(w);
}

void a_target_that_is_created_in_time_costs_no_attempt(struct world *w)
{
    story_begin(w);
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_AWAY;
    struct request *held = story_ask(w, TARGET_A, 1500);
    story_pass(w, 1000);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_pass(w, 510);
    expect(w, held->delivered == 1 && COUNT(w, redeliveries) == 0);
    story_finish(w);
}

/* The query was sent before that, so its answer is old when it reaches the waiting record.
 */
void early_lookup_of_a_missing_target_fails_no_record(struct world *w)
{
    story_begin(w);
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_AWAY;
    w->knobs.lookup_pending = 10000;
    struct request *held = story_ask(w, TARGET_A, 1500);
    story_pass(w, 1000);
    expect(w, w->processes[0].asked != NULL && w->processes[0].answer == LOOKUP_MISSING);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_pass(w, 510);
    expect(w, w->processes[0].asked != NULL && held->delivered == 0);
    w->knobs.lookup_pending = 0;
    story_pass(w, 100);
    expect(w, held->delivered == 1 && COUNT(w, redeliveries) == 0);
    story_finish(w);
}

/* The target has as many records in flight as allowed, and acknowledges none. */
void silent_target_does_not_block_the_lane(struct world *w)
{
    struct request *bad[PAIRS], *good[PAIRS];
    story_begin(w);
    w->setup.memory_bytes = 32 << 10;
    story_open(w);
    w->targets[TARGET_A].mood = TARGET_SLOW;
    story_hold_landings(w);
    for (int i = 0; i < PAIRS; i++)
        bad[i] = story_ask(w, TARGET_A, 0);
    story_pass(w, 900);
    expect(w, w->forwards < PAIRS); /* the other records wait behind them */
    w->knobs.hold_landings = false; /* nothing was armed for the silent one */
    for (int i = 0; i < PAIRS; i++)
        good[i] = story_ask(w, TARGET_B, 0);
    story_pass(w, 1500);
    for (int i = 0; i < PAIRS; i++)
        expect(w, good[i]->delivered == 1 && bad[i]->dead == 0);
    expect(w, COUNT(w, deferrals) > 0 && COUNT(w, redeliveries) == 0);
    story_finish(w);
}

/* Another broker acknowledges the records of other targets meanwhile. */
void throttling_for_seconds_uses_up_no_attempt(struct world *w)
{
    story_begin(w);
    w->setup.max_attempts = 1;
    story_open(w);
    w->knobs.timed_out = 10000;
    struct request *r = story_ask(w, TARGET_A, 0);
    story_until(w, w->forwards == 1);
    w->knobs.timed_out = 0;
    bridge_throttled(w->processes[0].bridge, 4000);
    for (int i = 0; i < 7; i++) {
        story_ask(w, TARGET_B, 0);
        story_pass(w, 1000);
    }
    expect(w, COUNT(w, resends) == 1 && COUNT(w, redeliveries) == 0 && r->dead == 0);
    story_finish(w);
    expect(w, r->delivered > 0);
}

void kafka_away_uses_up_no_attempts(struct world *w)
{
    story_begin(w);
    w->setup.max_attempts = 1;
    story_open(w);
    story_ask(w, TARGET_A, 0);
    struct request *r = story_ask(w, TARGET_A, 900);
    story_pass(w, 500);
    w->outage_until = w->now_ms + 20000;
    story_pass(w, 22000);
    expect(w, COUNT(w, resends) > 0 && COUNT(w, redeliveries) == 0);
    expect(w, r->delivered > 0 && r->dead == 0);
    story_finish(w);
}

/* A loop that was blocked gets the answer to a commit before the timeouts of deliveries. */
void an_outage_closes_no_target_in_any_order_of_answers(struct world *w)
{
    story_begin(w);
    w->setup.max_attempts = 1;
    story_open(w);
    story_ask(w, TARGET_A, 0);
    struct request *r = story_ask(w, TARGET_A, 300);
    story_pass(w, 200);
    w->outage_until = w->now_ms + 8000;
    w->knobs.hold_reports = true;
    story_pass(w, 9000);
    w->knobs.hold_reports = false;
    story_pass(w, 2000);
    expect(w, r->delivered > 0 && COUNT(w, resends) == 1);
    expect(w, w->notices[NOTICE_TARGET_DOWN] == 0 && COUNT(w, deferrals) == 0);
    story_finish(w);
}

void clock_step_back_rereads(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct request *r = story_ask(w, TARGET_A, 900);
    story_pass(w, 100);
    expect(w, COUNT(w, buffered_records) == 1 && COUNT(w, hops) == 0);
    process_step_clock(&w->processes[0], -10000);
    story_pass(w, 500);
    expect(w, w->notices[NOTICE_CLOCK_BACK] == 1);
    expect(w,
           COUNT(w, buffered_records) == 0 && COUNT(w, hops) == 1); /* to the level that fits now */
    story_until(w, r->delivered == 1);
    expect(w, w->now_ms > 10000);
    story_finish(w);
}

/* A clock that is an hour slow puts a record that is due soon into a level of long waits. */
void records_of_a_slow_clock_are_late_not_lost(struct world *w)
{
    static const int64_t hour_ms = 3600 * 1000;
    story_begin(w);
    story_open(w);
    struct process *p = &w->processes[0];
    struct request *first = story_ask(w, TARGET_A, 31000);
    story_pass(w, 200);
    process_step_clock(p, -hour_ms);
    story_pass(w, 200);
    struct request *second = story_ask(w, TARGET_A, 6000);
    story_pass(w, 200);
    process_step_clock(p, hour_ms);
    expect(w, story_level(w, 2, 0)->end == 2);
    story_until(w, first->delivered == 1 && second->delivered == 1);
    expect(w, second->finished_ms > 20000 && w->now_ms < 35000);
    expect(w, COUNT(w, order_violations) == 1 && COUNT(w, lateness_max_ms) > 20000);
    story_finish(w);
}

enum { TURN_MS = 50 };

/* Requests are written during a turn, whose clock is older than they are. The oracle compares the
   timestamp of each record with that of its request. */
static void tell_of_requests_younger_than_the_turn(struct world *w)
{
    story_open(w);
    w->knobs.turn_age_ms = TURN_MS;
    story_pass(w, 200);
    struct request *now = story_ask(w, TARGET_A, 0);
    struct request *held = story_ask(w, TARGET_A, 900);
    struct request *hops = story_ask(w, TARGET_A, 3000);
    struct ask refused = {.target = TARGET_DENIED, .fault = CODE_TARGET_DENIED};
    struct request *dead = workload_send(w, &refused);
    story_pass(w, 1000);
    expect(w, now->delivered == 1 && held->delivered == 1 && dead->dead == 1);
    expect(w, COUNT(w, hops) > 0 && COUNT(w, lateness_max_ms) >= TURN_MS);
    story_until(w, hops->delivered == 1);
    story_finish(w);
}

void a_delivery_is_stamped_after_its_request(struct world *w)
{
    story_begin(w);
    tell_of_requests_younger_than_the_turn(w);
}

void a_delivery_is_stamped_after_its_request_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    tell_of_requests_younger_than_the_turn(w);
}

void a_record_that_expires_during_a_turn_is_not_delivered(struct world *w)
{
    story_begin(w);
    story_open(w);
    w->knobs.turn_age_ms = TURN_MS;
    struct ask ask = {.target = TARGET_A, .delay_ms = 200, .expires_in_ms = TURN_MS / 2};
    struct request *r = workload_send(w, &ask);
    story_pass(w, 1000);
    expect(w, r->delivered == 0 && r->dead == 1 && COUNT(w, dead[CODE_EXPIRED]) == 1);
    story_finish(w);
}

/* A record is due by the clock of the turn. The stepped clock would stamp it before its due time.
 */
void a_clock_step_back_during_a_turn_stamps_nothing_early(struct world *w)
{
    story_begin(w);
    story_open(w);
    w->knobs.turn_step_ms = -100;
    struct request *r = story_ask(w, TARGET_A, 500);
    story_pass(w, 450);
    expect(w, r->delivered == 1);
    story_finish(w);
}

void budget_of_one_record_still_progresses(struct world *w)
{
    story_begin(w);
    w->setup.memory_bytes = 1;
    story_open(w);
    struct request *last = NULL;
    for (int i = 0; i < 8; i++)
        last = story_ask_large(w, i % 2 ? 6000 : 0, TARGET_BYTES_MAX);
    story_until(w, last->delivered == 1);
    expect(w, w->now_ms < 10000 && COUNT(w, window_full) > 0);
    story_finish(w);
}

enum { MANY = 60, HEADERS = 15, BUDGET = 64 << 10, LEAST_COST = 896 + HEADERS * 96 };

static void ask_with_headers(struct world *w, enum code fault)
{
    struct ask ask = {
        .target = TARGET_A, .delay_ms = 900, .key = "many", .headers = HEADERS, .fault = fault};
    for (int i = 0; i < MANY; i++)
        workload_send(w, &ask);
}

/* The port counts 200 bytes for a record, as the client needs memory to keep a fetched message. A
   request has two headers. */
void memory_of_the_client_counts_against_the_budget(struct world *w)
{
    enum { LEAST = 896 + 200 + 2 * 96 };
    story_begin(w);
    w->setup.memory_bytes = BUDGET;
    story_open(w);
    for (int i = 0; i < MANY; i++)
        (void)story_ask(w, TARGET_A, 900);
    story_pass(w, 500);
    expect(w,
           COUNT(w, buffered_records) > 1 && COUNT(w, buffered_records) <= BUDGET * 3 / 4 / LEAST);
    story_until(w, COUNT(w, deliveries) == MANY);
    story_finish(w);
}

/* The client allocates a list entry for each header, so a header costs more than its bytes. */
void headers_count_against_the_budget(struct world *w)
{
    story_begin(w);
    w->setup.memory_bytes = BUDGET;
    story_open(w);
    ask_with_headers(w, CODE_OK);
    story_pass(w, 500);
    expect(w, COUNT(w, buffered_records) > 1 &&
                  COUNT(w, buffered_records) <= BUDGET * 3 / 4 / LEAST_COST);
    story_until(w, COUNT(w, deliveries) == MANY);
    story_finish(w);
}

/* While the dead-letter topic is unavailable, records that wait for it leave the budget to good
   requests. */
void dead_letters_take_a_share_of_the_budget(struct world *w)
{
    story_begin(w);
    w->setup.memory_bytes = BUDGET;
    w->setup.lanes = 2;
    story_open(w);
    story_hold_landings(w);
    ask_with_headers(w, CODE_NO_TIME);
    story_pass(w, 500);
    expect(w, COUNT(w, buffered_records) > 1 &&
                  COUNT(w, buffered_records) <= BUDGET / 4 / 2 / LEAST_COST + 1);
    story_ask_lane(w, 1, TARGET_A, 900);
    uint64_t held = COUNT(w, buffered_records);
    story_pass(w, 100);
    expect(w, COUNT(w, buffered_records) == held + 1);
    story_let_land(w);
    story_until(w, COUNT(w, dead[CODE_NO_TIME]) == MANY);
    story_finish(w);
}

/* Refused requests among others, whose hops are ready in the same turns. */
static void refuse_among_hops(struct world *w)
{
    enum { N = 60 };
    struct request *asked[N];
    story_open(w);
    w->knobs.hold_fetches = true;
    for (int i = 0; i < N; i++) {
        struct ask ask = {.target = TARGET_A,
                          .delay_ms = 7000,
                          .has_value = true,
                          .fault = i % 2 == 0 ? CODE_NO_TIME : CODE_OK};
        asked[i] = workload_send(w, &ask);
    }
    story_pass(w, 100);
    w->knobs.hold_fetches = false;
    story_finish(w);
    for (int i = 2; i < N; i += 2)
        expect(w, asked[i]->dead == 1 && asked[i]->letter_forward > asked[i - 2]->letter_forward);
}

void dead_letters_keep_the_order_of_their_requests(struct world *w)
{
    story_begin(w);
    refuse_among_hops(w);
}

void dead_letters_keep_the_order_of_their_requests_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    refuse_among_hops(w);
}
