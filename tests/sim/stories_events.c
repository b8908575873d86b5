/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of events: their partition is unavailable, and their transaction fails. */
#include "tests/sim/facts.h"
#include "tests/sim/oracle.h"
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
    for (int s = 0; s < 2 * OUTAGE_MS / 1000; s++) {
        story_ask(w, TARGET_A, 0);
        story_pass(w, 1000);
    }
    expect(w, COUNT(w, events_lost) > 0);
    r = story_ask(w, TARGET_A, 0);
    story_pass(w, 1000);
    expect(w, r->told[EVENT_DELIVERED] == 1); /* the partition is known to be back */
    expect(w, w->notices[NOTICE_OUTLET_DOWN] == 1 && w->notices[NOTICE_OUTLET_UP] == 1);
    story_finish(w);
}

/* Two processes share two lanes. The one whose lane has no partition of events loses it. */
void a_lane_that_was_lost_counts_as_blocked_no_more(struct world *w)
{
    story_begin(w);
    w->setup.processes = 2;
    without_leader(w);
    struct process *owner = story_owner(w, 0);
    story_ask(w, TARGET_A, 0);
    story_ask_lane(w, 1, TARGET_A, 0);
    story_until(w, counter_read(&owner->stats.events_blocked) == 1);
    process_stall(owner, 4 * w->setup.session_ms);
    story_until(w, story_owner(w, 0) != NULL && story_owner(w, 0) != owner);
    story_until(w, !owner->stalled && owner->member == MEMBER_STABLE);
    expect(w, story_owner(w, 0) == owner || counter_read(&owner->stats.events_blocked) == 0);
    story_finish(w);
}

/* The client accepts some records, and then none for a while: a story has a limit of turns. */
void an_event_that_the_client_refuses_costs_no_turns_exactly_once(struct world *w)
{
    enum { N = 40 };
    struct request *asked[N];
    story_begin_exactly_once(w);
    w->setup.events = EVENTS_ALL;
    story_open(w);
    for (int i = 0; i < N; i++) {
        size_t forwards = w->forwards;
        asked[i] = story_ask(w, TARGET_A, 0);
        w->knobs.full = 5000;
        story_until(w, w->forwards > forwards);
        w->knobs.full = 10000;
        story_pass(w, 200);
    }
    w->knobs.full = 0;
    story_finish(w);
    for (int i = 0; i < N; i++)
        expect(w, asked[i]->delivered == 1);
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

/* facts.c checks the members of each event. */
void events_of_a_cancel_by_id_have_its_record_key(struct world *w)
{
    story_begin_cancels(w);
    w->setup.events = EVENTS_ALL;
    story_open(w);
    struct request *r = ask_named(w, "k", "id", 0);
    story_until(w, r->delivered == 1);
    struct request *cancel = cancel_of(w, "k", "id");
    story_pass(w, 5000);
    expect(w, cancel->told[EVENT_CANCEL_ACCEPTED] == 1 && cancel->told[EVENT_TOO_LATE] == 1);
    story_finish(w);
}

/* The cancel of a name that no request has, next to one that voids a request. */
static void cancel_nothing(struct world *w)
{
    w->setup.events = EVENT_BIT(EVENT_CANCEL_UNMATCHED);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 7000);
    story_pass(w, 1000);
    struct request *matched = cancel_of(w, "k", NULL), *unmatched = cancel_of(w, "other", NULL);
    struct request *named = cancel_of(w, "k", "no such id");
    story_pass(w, 30000);
    expect(w, r->voided > 0 && matched->told[EVENT_CANCEL_UNMATCHED] == 0);
    expect(w, unmatched->told[EVENT_CANCEL_UNMATCHED] == 1);
    expect(w, named->told[EVENT_CANCEL_UNMATCHED] == 1);
    expect(w, counter_read(&story_owner(w, 0)->stats.cancel_entries) == 0);
    story_finish(w);
}

void a_cancel_that_voids_nothing_has_an_event(struct world *w)
{
    story_begin_cancels(w);
    cancel_nothing(w);
}

void a_cancel_that_voids_nothing_has_an_event_exactly_once(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    cancel_nothing(w);
}

/* The first owner drops the request and dies before the entry of the cancel is stored. The next
   owner reads the cancel again, and no request is left. */
void a_cancel_that_an_earlier_owner_applied_is_not_unmatched(struct world *w)
{
    story_begin_cancels(w);
    w->setup.events = EVENT_BIT(EVENT_CANCEL_UNMATCHED);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 4000);
    story_pass(w, 2000);
    story_owner(w, 0)->producer->cut_until_ms = w->now_ms + OUTAGE_MS;
    struct request *c = cancel_of(w, "k", NULL);
    story_until(w, r->voided > 0);
    expect(w, c->entries == 0);
    story_crash(w);
    process_start(w, 0);
    story_pass(w, OUTAGE_MS + 40000);
    expect(w, c->entries > 0 && c->told[EVENT_CANCEL_UNMATCHED] == 0);
    expect(w, counter_read(&story_owner(w, 0)->stats.cancel_entries) == 0);
    story_finish(w);
}

/* The event of the first cancel waits for the partition. The second cancel dies while the partition
   is known to be down, so its entry waits to be reported. */
void an_unmatched_cancel_waits_for_the_partition_of_its_event(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    w->setup.events = EVENT_BIT(EVENT_CANCEL_UNMATCHED);
    story_open(w);
    story_pass(w, 500);
    world_take_leader(w, CHAINS_EVENTS, w->now_ms + 30000);
    struct request *first = cancel_of(w, "first", NULL);
    story_pass(w, 3000);
    struct request *second = cancel_of(w, "second", NULL);
    story_pass(w, 25000);
    expect(w, first->told[EVENT_CANCEL_UNMATCHED] == 0);
    expect(w, counter_read(&story_owner(w, 0)->stats.cancel_entries) == 1);
    story_pass(w, 10000);
    expect(w, first->told[EVENT_CANCEL_UNMATCHED] == 1);
    expect(w, second->told[EVENT_CANCEL_UNMATCHED] == 1);
    story_finish(w);
}

/* The events of a replace are sent while the lane is given up, and the last one waits for a commit.
   The lane must not be released before it. */
void lane_is_released_after_the_event_that_waits_for_a_commit(struct world *w)
{
    story_begin_cancels(w);
    w->setup.is_calm = true;
    w->setup.events = EVENT_BIT(EVENT_DELIVERED) | EVENT_BIT(EVENT_REPLACED);
    story_open(w);
    struct request *r = replace_of(w, "k", NULL, 0, CODE_OK);
    story_until(w, r->delivered == 1);
    w->knobs.hold_reports = true;
    group_regroup(w);
    story_until(w, w->processes[0].member == MEMBER_REVOKING);
    w->knobs.hold_reports = false;
    story_until(w, w->processes[0].member == MEMBER_STABLE);
    expect(w, r->told[EVENT_REPLACED] == 1 && story_committed(w, -1, 0)->base == 1);
    story_finish(w);
    expect(w, r->delivered == 1);
}

/* The client refuses events while the lane is given up. The transaction needs them, so it ends
   neither without them nor with an abort. */
void lane_is_released_after_events_that_the_client_refuses_exactly_once(struct world *w)
{
    enum { N = 20 };
    struct request *asked[N];
    story_begin_exactly_once(w);
    w->setup.events = EVENT_BIT(EVENT_DELIVERED);
    story_open(w);
    for (int i = 0; i < N; i++) {
        size_t forwards = w->forwards;
        asked[i] = story_ask(w, TARGET_A, 0);
        w->knobs.full = 5000; /* of record and event, one at a time */
        story_until(w, w->forwards > forwards);
        w->knobs.full = 10000;
        group_regroup(w);
        story_until(w, w->processes[0].member == MEMBER_REVOKING);
        w->processes[0].deadline_ms = w->now_ms + 1000;
        story_pass(w, 100);
        w->knobs.full = 0;
        story_until(w, w->processes[0].member == MEMBER_STABLE);
    }
    expect(w, COUNT(w, aborts) == 0);
    story_finish(w);
    for (int i = 0; i < N; i++)
        expect(w, asked[i]->delivered == 1 && asked[i]->told[EVENT_DELIVERED] == 1);
}

/* All are due at one instant, and each has two events. */
static void many_at_once(struct world *w, size_t records_max, size_t bytes_max)
{
    enum { N = 30 };
    struct request *asked[N];
    story_begin_exactly_once(w);
    w->setup.events = EVENTS_ALL;
    w->setup.txn_records_max = records_max;
    w->setup.txn_bytes_max = bytes_max;
    story_open(w);
    w->knobs.hold_fetches = true;
    for (int i = 0; i < N; i++)
        asked[i] = story_ask(w, TARGET_A, 0);
    story_pass(w, 100);
    w->knobs.hold_fetches = false;
    story_finish(w);
    expect(w, COUNT(w, aborts) == 0);
    for (int i = 0; i < N; i++) {
        expect(w, asked[i]->delivered == 1 && asked[i]->told[EVENT_DELIVERED] == 1);
        expect(w, asked[i]->told[EVENT_ACCEPTED] == 1);
    }
}

void a_transaction_closes_before_events_exceed_its_records_exactly_once(struct world *w)
{
    many_at_once(w, TXN_RECORDS_MIN + 1, 0); /* a record and its two events do not divide it */
}

void an_empty_transaction_takes_a_record_of_any_size_exactly_once(struct world *w)
{
    many_at_once(w, 0, 1);
}

/* The entry of a cancel is in memory when the records are read again, and retention has deleted the
   cancel. It remains in force until its end, and has voided nothing. */
void a_cancel_that_is_deleted_before_its_entry_is_unmatched(struct world *w)
{
    story_begin_cancels_exactly_once(w);
    w->setup.events = EVENT_BIT(EVENT_CANCEL_UNMATCHED);
    story_open(w);
    story_pass(w, 500);
    w->knobs.full = 10000;
    struct request *c = cancel_of(w, "other", NULL);
    story_pass(w, 500);
    expect(w, counter_read(&story_owner(w, 0)->stats.cancel_entries) == 1);
    oracle_truncate(w, TOPIC_SCHEDULE, 0, c->offset + 1);
    process_step_clock(story_owner(w, 0), -10000);
    story_pass(w, 500);
    w->knobs.full = 0;
    story_pass(w, 30000);
    expect(w, c->entries == 0 && c->told[EVENT_CANCEL_UNMATCHED] == 1);
    story_finish(w);
}

/* No process runs when the cancel is written. Its next owner has it in force before it forwards a
   record, so no owner has delivered a request that is due later. */
void a_cancel_that_a_restore_finds_is_certain(struct world *w)
{
    story_begin_cancels(w);
    w->setup.events = EVENT_BIT(EVENT_CANCELLED);
    story_open(w);
    struct request *r = ask_named(w, "k", NULL, 20000);
    story_pass(w, 1000);
    story_crash(w);
    story_pass(w, 6000);          /* the record leaves its level at once */
    for (int i = 0; i < 300; i++) /* the cancel is admitted later */
        story_ask(w, TARGET_B, 0);
    cancel_of(w, "k", NULL);
    process_start(w, 0);
    story_until(w, r->told[EVENT_CANCELLED] == 1);
    expect(w, r->certain);
    story_finish(w);
}
