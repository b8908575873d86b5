/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of how the bridge finds slow targets, in exactly-once mode. */
#include "tests/sim/story.h"

enum { ACK_MS = 400, LEARN_S = 3 };
enum { OPEN_MS = 100 }; /* a transaction takes records for this long */

static uint64_t slow_n(struct world *w)
{
    return counter_read(&story_owner(w, 0)->stats.targets_slow);
}

/* A request waits for the transaction that is open, and then for its own. */
void slow_target_delays_others_for_two_transactions_at_most(struct world *w)
{
    enum { N = 10 * STORY_EACH_S, MOST_MS = 2 * (OPEN_MS + ACK_MS) };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = ACK_MS;
    story_ask_both(w, slow, good, N);
    expect(w, slow_n(w) == 1 && w->notices[NOTICE_TARGET_SLOW] == 1);
    story_pass(w, MOST_MS);
    for (int i = 0; i < N; i++)
        expect(w, good[i]->finished && good[i]->finished_ms <= good[i]->appended_ms + MOST_MS);
    story_expect_delivered(w, slow, N);
    expect(w, COUNT(w, aborts) == 0 && w->notices[NOTICE_TARGET_FAST] == 0);
    story_finish(w);
}

void target_that_is_fast_again_is_slow_no_more(struct world *w)
{
    enum { N = 15 * STORY_EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = ACK_MS;
    story_ask_both(w, slow, good, LEARN_S * STORY_EACH_S);
    expect(w, slow_n(w) == 1 && w->notices[NOTICE_TARGET_FAST] == 0);
    w->targets[TARGET_A].ack_ms = 0;
    story_ask_both(w, slow, good, N);
    expect(w, slow_n(w) == 0 && w->notices[NOTICE_TARGET_FAST] == 1);
    expect(w, w->notices[NOTICE_TARGET_SLOW] == 1);
    story_finish(w);
    story_expect_delivered(w, slow, N);
}

void target_is_not_slow_without_a_fast_one(struct world *w)
{
    enum { N = 10 * STORY_EACH_S };
    struct request *slow[N], *good[N];
    story_begin_exactly_once(w);
    story_open(w);
    w->targets[TARGET_A].ack_ms = w->targets[TARGET_B].ack_ms = ACK_MS;
    story_ask_both(w, slow, good, N);
    expect(w, slow_n(w) == 0 && w->notices[NOTICE_TARGET_SLOW] == 0);
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
    expect(w, slow_n(w) == 0 && w->notices[NOTICE_TARGET_SLOW] == 0);
    story_finish(w);
    story_expect_delivered(w, stalled, N);
}
