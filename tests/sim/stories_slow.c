/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of how the bridge finds slow targets, in exactly-once mode. */
#include "tests/sim/story.h"

enum { ACK_MS = 400, LEARN_S = 3, MOST_MS = 150 };

void slow_target_does_not_delay_others(struct world *w)
{
    enum { N = 10 * STORY_EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = ACK_MS;
    story_ask_both(w, slow, good, LEARN_S * STORY_EACH_S);
    expect(w, w->apart_n > 0);
    story_ask_both(w, slow, good, N);
    story_pass(w, 2000);
    for (int i = 0; i < N; i++)
        expect(w, good[i]->finished_ms <= good[i]->appended_ms + MOST_MS);
    story_expect_delivered(w, slow, N);
    expect(w, COUNT(w, aborts) == 0);
    story_finish(w);
}

void target_that_is_fast_again_shares_transactions(struct world *w)
{
    enum { N = 15 * STORY_EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = ACK_MS;
    story_ask_both(w, slow, good, LEARN_S * STORY_EACH_S);
    w->targets[TARGET_A].ack_ms = 0;
    story_ask_both(w, slow, good, N);
    size_t apart_n = w->apart_n;
    story_ask_both(w, slow, good, N);
    expect(w, apart_n > 0 && w->apart_n == apart_n);
    story_finish(w);
    story_expect_delivered(w, slow, N);
}

void slow_targets_without_a_fast_one_share_transactions(struct world *w)
{
    enum { N = 10 * STORY_EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = w->targets[TARGET_B].ack_ms = ACK_MS;
    story_ask_both(w, slow, good, N);
    expect(w, w->apart_n == 0);
    story_finish(w);
    story_expect_delivered(w, slow, N);
}

void short_stall_of_a_target_makes_it_not_slow(struct world *w)
{
    enum { N = 5 * STORY_EACH_S, STALL_MS = 1600 };
    struct request *stalled[N], *good[N];
    story_begin_exactly_once(w);
    story_open(w);
    story_ask_both(w, stalled, good, STORY_EACH_S);
    w->targets[TARGET_A].ack_ms = STALL_MS;
    for (int i = 0; i < STORY_EACH_S; i++)
        (void)story_ask(w, TARGET_A, 0);
    story_pass(w, 100);
    w->targets[TARGET_A].ack_ms = 0;
    story_ask_both(w, stalled, good, N);
    expect(w, w->apart_n == 0 && counter_read(&story_owner(w, 0)->stats.targets_apart) == 0);
    story_finish(w);
    story_expect_delivered(w, stalled, N);
}
