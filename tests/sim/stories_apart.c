/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of slow targets, in exactly-once mode: they have a separate transaction. */
#include "tests/sim/story.h"

enum { ACK_MS = 400, LEARN_S = 3, EACH_S = 10, MOST_MS = 150 };

static void ask_both(struct world *w, struct request **slow, struct request **good, int n)
{
    for (int i = 0; i < n; i++) {
        slow[i] = i % 2 == 0 ? story_ask(w, TARGET_A, 0) : slow[i - 1];
        good[i] = story_ask(w, TARGET_B, 0);
        story_pass(w, 1000 / EACH_S);
    }
}

static void expect_delivered(struct world *w, struct request **r, int n)
{
    for (int i = 0; i < n; i++)
        expect(w, r[i]->delivered == 1);
}

void slow_target_does_not_delay_others(struct world *w)
{
    enum { N = 10 * EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = ACK_MS;
    ask_both(w, slow, good, LEARN_S * EACH_S);
    expect(w, w->apart_n > 0);
    ask_both(w, slow, good, N);
    story_pass(w, 2000);
    for (int i = 0; i < N; i++)
        expect(w, good[i]->finished_ms <= good[i]->due_ms + MOST_MS);
    expect_delivered(w, slow, N);
    expect(w, COUNT(w, aborts) == 0);
    story_finish(w);
}

void target_that_is_fast_again_shares_transactions(struct world *w)
{
    enum { N = 15 * EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = ACK_MS;
    ask_both(w, slow, good, LEARN_S * EACH_S);
    w->targets[TARGET_A].ack_ms = 0;
    ask_both(w, slow, good, N);
    size_t apart_n = w->apart_n;
    ask_both(w, slow, good, N);
    expect(w, apart_n > 0 && w->apart_n == apart_n);
    story_finish(w);
    expect_delivered(w, slow, N);
}

void slow_targets_without_a_fast_one_share_transactions(struct world *w)
{
    enum { N = 10 * EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = w->targets[TARGET_B].ack_ms = ACK_MS;
    ask_both(w, slow, good, N);
    expect(w, w->apart_n == 0);
    story_finish(w);
    expect_delivered(w, slow, N);
}

void failure_of_a_slow_target_reads_no_lane_again(struct world *w)
{
    enum { N = 5 * EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    w->setup.max_attempts = 50;
    story_open(w);
    w->targets[TARGET_A].ack_ms = ACK_MS;
    ask_both(w, slow, good, LEARN_S * EACH_S);
    int epoch = w->processes[0].lanes[0].epoch;
    size_t apart_n = w->apart_n;
    w->targets[TARGET_A].mood = TARGET_KEYED; /* refuses records without a key */
    ask_both(w, slow, good, EACH_S);
    w->targets[TARGET_A].mood = TARGET_FINE;
    ask_both(w, slow, good, N);
    expect(w, w->apart_n > apart_n && w->processes[0].lanes[0].epoch == epoch);
    story_finish(w);
    expect_delivered(w, slow, N);
    expect_delivered(w, good, N);
}

/* Both its records and those of others are sent again, and each is committed once. */
void lanes_that_are_lost_abort_the_transaction_apart(struct world *w)
{
    enum { N = 2 * EACH_S };
    struct request *slow[N], *good[N], *again_slow[N], *again_good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = ACK_MS;
    ask_both(w, slow, good, N);
    struct request *lost = story_ask(w, TARGET_A, 0);
    story_pass(w, 50);
    story_regroup(w);
    ask_both(w, again_slow, again_good, N);
    struct request *last = story_ask(w, TARGET_A, 0);
    story_pass(w, 50);
    story_crash(w);
    story_finish(w);
    expect_delivered(w, slow, N);
    expect_delivered(w, again_slow, N);
    expect_delivered(w, again_good, N);
    expect(w, lost->delivered == 1 && last->delivered == 1);
}
