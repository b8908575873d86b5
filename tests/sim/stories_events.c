/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of events: their partition is unavailable, and their transaction fails. */
#include "tests/sim/facts.h"
#include "tests/sim/story_cancel.h"

enum { OUTAGE_MS = 20000 };

static void without_leader(struct world *w)
{
    w->setup.lanes = 2;
    w->setup.events = EVENTS_ALL;
    story_open(w);
    story_pass(w, 1000);
    world_take_leader(w, CHAINS_EVENTS, w->now_ms + OUTAGE_MS);
}

void events_without_a_leader_stop_their_lane_alone_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    without_leader(w);
    struct request *first = story_ask(w, TARGET_A, 0); /* its transaction finds out */
    story_pass(w, 9000);
    struct request *r = story_ask(w, TARGET_A, 0), *other = story_ask_lane(w, 1, TARGET_A, 0);
    story_pass(w, 6000);
    expect(w, r->delivered == 0 && other->delivered == 1 && other->told[EVENT_DELIVERED] == 1);
    expect(w, w->notices[NOTICE_OUTLET_DOWN] > 0 && COUNT(w, events_blocked) == 1);
    story_pass(w, OUTAGE_MS);
    expect(w, first->told[EVENT_DELIVERED] == 1 && r->told[EVENT_DELIVERED] == 1);
    expect(w, w->notices[NOTICE_OUTLET_UP] > 0 && COUNT(w, events_blocked) == 0);
    story_finish(w);
}

void a_record_is_done_when_its_event_is_stored(struct world *w)
{
    story_begin(w);
    without_leader(w);
    struct request *r = story_ask(w, TARGET_A, 0), *other = story_ask_lane(w, 1, TARGET_A, 0);
    story_pass(w, 10000);
    expect(w, r->delivered == 1 && r->told[EVENT_DELIVERED] == 0);
    expect(w, story_committed(w, -1, 0)->base == 0);
    expect(w, other->told[EVENT_DELIVERED] == 1 && story_committed(w, -1, 1)->base == 1);
    story_pass(w, OUTAGE_MS);
    expect(w, r->delivered == 1 && r->told[EVENT_DELIVERED] > 0);
    story_finish(w);
}

void lossy_events_delay_no_record(struct world *w)
{
    story_begin(w);
    w->setup.events_lossy = true;
    without_leader(w);
    struct request *r = story_ask(w, TARGET_A, 0);
    story_pass(w, 2000);
    expect(w, r->delivered == 1 && r->told[EVENT_DELIVERED] == 0);
    expect(w, story_committed(w, -1, 0)->base == 1);
    story_pass(w, 2 * OUTAGE_MS);
    expect(w, COUNT(w, events_lost) > 0);
    story_finish(w);
}

static void refused_once(struct world *w)
{
    story_open(w);
    story_pass(w, 500);
    w->targets[TARGET_A].mood = TARGET_REFUSES;
    struct request *r = story_ask(w, TARGET_A, 0);
    story_until(w, r->tries == 1);
    w->targets[TARGET_A].mood = TARGET_FINE;
    story_until(w, r->delivered == 1);
    story_pass(w, 1000);
    expect(w, r->told_tries == 1u << 1 && r->told[EVENT_DELIVERED] == 1);
    expect(w, r->told[EVENT_ACCEPTED] == 1);
    story_finish(w);
}

void a_failed_delivery_has_one_event_for_each_try(struct world *w)
{
    story_begin(w);
    w->setup.events = EVENTS_ALL;
    refused_once(w);
}

void a_failed_delivery_has_one_event_for_each_try_exactly_once(struct world *w)
{
    story_begin_exactly_once(w);
    w->setup.events = EVENTS_ALL;
    refused_once(w);
}
