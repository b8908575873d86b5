/* SPDX-License-Identifier: Apache-2.0 */
/* sender: which client sends, commits and is replaced, in exactly-once mode. */
#include "bridge/core/bridge.h"
#include "bridge/core/commit.h"
#include "bridge/core/outcome.h"
#include "bridge/core/progress.h"
#include "bridge/core/queue.h"
#include "bridge/core/sender.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

enum { FIRST, SECOND, THIRD, FOURTH };

TestSuite(sender, .init = fixture_start_exactly_once, .fini = fixture_stop);

static struct txn_client *client(int i)
{
    return &fx.b->sender.clients[i];
}

static struct parcel *delivery(void)
{
    fx.lookup = LOOKUP_WHOLE;
    return fixture_send(SLOT_SCHEDULE, fixture_queue(SLOT_SCHEDULE)->window.next,
                        fx.b->now.wall_ms);
}

static void serve_after(int64_t ms)
{
    fixture_pass(ms);
    outcome_serve(fx.b);
    bridge_check(fx.b);
}

/* Closes the transaction of one acknowledged record, so that its offsets are sent. */
static void close_transaction(void)
{
    struct parcel *p = delivery();
    fx.holds_calls = true;
    fixture_report(p, REPORT_OK);
    fixture_pass(TXN_AGE_MAX_MS);
    commit_serve(fx.b);
    cr_assert_eq(fx.b->txn.offsets, OFFSETS_SENT);
}

static void request_commit(void)
{
    close_transaction();
    fixture_end(fx.b->sender.current, true);
    cr_assert_eq(client(fx.b->sender.current)->state, CLIENT_COMMITTING);
}

/* Sends progress without a record. */
static void announce_progress(void)
{
    fx.holds_calls = true;
    queue_changed(fixture_queue(SLOT_SCHEDULE));
    fixture_pass(COMMIT_EVERY_MS);
    commit_serve(fx.b);
}

static void commit_ends(bool ok, bool may_arrive, bool offsets_may_arrive)
{
    fixture_fact((struct client_fact){.event = CLIENT_ENDED,
                                      .client = fx.committer,
                                      .call = CALL_COMMIT,
                                      .ok = ok,
                                      .may_arrive = may_arrive,
                                      .offsets_may_arrive = offsets_may_arrive,
                                      .blame = BLAME_CLUSTER,
                                      .why = "no answer"});
}

static void purged(void)
{
    fixture_fact((struct client_fact){CLIENT_PURGED, fx.purged, .blame = BLAME_NOBODY, .why = ""});
}

/* The coordinator answers the current client, but no broker answers its record. */
static void be_refused(void)
{
    int i = fx.b->sender.current;
    fixture_pass(3000);
    fixture_fact((struct client_fact){.event = CLIENT_REGISTERED, .client = i});
    outcome_serve(fx.b);
}

Test(sender, two_clients_start_in_the_first_turn)
{
    cr_expect_eq(client(FIRST)->state, CLIENT_READY);
    cr_expect_eq(client(SECOND)->state, CLIENT_READY);
    cr_expect_eq(client(THIRD)->state, CLIENT_OFF);
    cr_expect(fx.renews[FIRST] == 1 && fx.renews[SECOND] == 1);
}

Test(sender, start_that_fails_is_repeated_after_a_second)
{
    *client(SECOND) = (struct txn_client){.state = CLIENT_STARTING};
    fx.holds_calls = true;
    outcome_serve(fx.b);
    fixture_end(SECOND, true);  /* destroyed */
    fixture_end(SECOND, false); /* not initialized */
    serve_after(999);
    cr_expect_eq(fx.renews[SECOND], 2);
    serve_after(1);
    cr_expect_eq(fx.renews[SECOND], 3);
}

/* The offsets of the process that had the ids before may be pending until then. */
Test(sender, lanes_are_not_assigned_before_the_clients_start)
{
    *client(SECOND) = (struct txn_client){.state = CLIENT_STARTING};
    fx.holds_calls = true;
    cr_expect_not(bridge_may_gain(fx.b));
    outcome_serve(fx.b);
    cr_expect_not(bridge_may_gain(fx.b));
    fixture_end(SECOND, true); /* destroyed */
    cr_expect(bridge_may_gain(fx.b), "the call that ends the old transaction runs");
}

Test(sender, transaction_begins_with_its_first_record)
{
    cr_expect_eq(fx.begins, 0);
    (void)delivery();
    (void)delivery();
    cr_expect_eq(fx.begins, 1);
    cr_expect_eq(fx.sent.client, FIRST);
    cr_expect_eq(client(FIRST)->state, CLIENT_OPEN);
}

Test(sender, begin_that_fails_aborts_without_a_record)
{
    fx.is_broken = true;
    cr_expect_eq(sender_enter(fx.b), ERR_FULL);
    cr_expect_eq(fx.b->txn.state, TXN_FAILED);
    outcome_serve(fx.b);
    cr_assert_eq(fx.purges, 1);
    purged();
    cr_expect_eq(fx.b->txn.state, TXN_BROKEN);
    cr_expect_str_eq(fixture_notice(NOTICE_ABORTED)->reason, "fenced");
}

Test(sender, progress_waits_for_a_client_that_is_ready)
{
    for (int i = FIRST; i <= SECOND; i++)
        *client(i) = (struct txn_client){.state = CLIENT_STARTING, .call = CALL_INIT};
    announce_progress();
    cr_expect_eq(fx.b->txn.offsets, OFFSETS_WAITING);
    fx.running[SECOND] = CALL_INIT;
    fixture_end(SECOND, true);
    outcome_serve(fx.b);
    cr_expect_eq(fx.b->sender.current, SECOND);
    cr_expect_eq(fx.b->txn.offsets, OFFSETS_SENT);
}

Test(sender, progress_of_lanes_that_are_gone_aborts)
{
    fx.is_unassigned = true;
    announce_progress();
    cr_expect_eq(fx.b->txn.state, TXN_FAILED);
    outcome_serve(fx.b);
    cr_expect_eq(fx.purges, 1);
}

Test(sender, commit_waits_for_the_offsets)
{
    close_transaction();
    commit_serve(fx.b);
    cr_expect_eq(fx.finishes, 0);
    fixture_end(FIRST, true);
    cr_expect_eq(fx.finishes, 1);
}

Test(sender, offsets_that_are_refused_abort)
{
    close_transaction();
    fixture_end(FIRST, false);
    cr_expect_eq(fx.b->txn.state, TXN_FAILED);
    cr_expect_eq(fx.finishes, 0);
    outcome_serve(fx.b);
    cr_expect_eq(fx.purges, 1);
}

Test(sender, next_transaction_goes_to_the_other_client)
{
    request_commit();
    commit_ends(true, false, false);
    cr_expect_eq(fx.b->sender.current, SECOND);
    cr_expect_eq(fx.b->txn.state, TXN_OPEN);
    cr_expect_eq(client(FIRST)->state, CLIENT_READY);
}

Test(sender, client_whose_request_may_arrive_is_replaced_before_it_is_used_again)
{
    request_commit();
    commit_ends(true, true, false);
    cr_expect_eq(fx.b->sender.current, SECOND);
    cr_expect_eq(client(FIRST)->state, CLIENT_CLOSING);
    cr_expect_eq(counter_read(&fx.stats.commits), 1);
}

Test(sender, client_whose_offsets_may_arrive_stays_the_current_one)
{
    request_commit();
    commit_ends(true, true, true);
    cr_expect_eq(fx.b->sender.current, FIRST);
    outcome_serve(fx.b);
    cr_expect_eq(fx.b->sender.current, FIRST, "even while it is replaced");
    fixture_end(FIRST, true);
    fixture_end(FIRST, true);
    announce_progress();
    fixture_end(FIRST, true);
    commit_ends(true, false, false);
    cr_expect_eq(fx.b->sender.current, SECOND, "it has committed newer offsets");
}

Test(sender, commit_without_progress_fences_no_older_offsets)
{
    request_commit();
    fx.b->sender.sent_n = 0;
    client(FIRST)->may_arrive = true;
    commit_ends(true, false, false);
    cr_expect_eq(fx.b->sender.current, FIRST);
}

Test(sender, offsets_that_may_arrive_late_are_remembered_after_a_failure)
{
    close_transaction();
    fixture_fact((struct client_fact){.event = CLIENT_ENDED,
                                      .client = FIRST,
                                      .call = CALL_SEND_OFFSETS,
                                      .offsets_may_arrive = true,
                                      .blame = BLAME_CLUSTER,
                                      .why = "no answer"});
    outcome_serve(fx.b);
    purged();
    outcome_serve(fx.b);
    cr_expect_eq(fx.b->sender.current, FIRST);
    cr_expect_eq(client(FIRST)->state, CLIENT_CLOSING);
}

Test(sender, commit_that_failed_may_arrive)
{
    request_commit();
    commit_ends(false, false, false);
    cr_expect_eq(client(FIRST)->state, CLIENT_PURGING);
    purged();
    cr_expect_eq(fx.b->txn.state, TXN_BROKEN);
    outcome_serve(fx.b);
    cr_expect_eq(fx.b->sender.current, FIRST, "until it has committed newer offsets");
}

Test(sender, next_transaction_begins_after_the_failed_client_is_destroyed)
{
    struct parcel *p = delivery();
    fx.holds_calls = true;
    fixture_report(p, REPORT_NOT_SENT);
    fixture_fail(BLAME_CLUSTER, "fenced");
    bridge_lane_lost(fx.b, 0);
    serve_after(1);
    cr_expect_eq(fx.b->sender.current, SECOND);
    cr_expect_eq(fx.b->txn.state, TXN_BROKEN);
    cr_expect_not(bridge_may_gain(fx.b));
    fixture_end(FIRST, true); /* destroyed */
    serve_after(1);
    cr_expect_eq(fx.b->txn.state, TXN_OPEN);
    cr_expect(bridge_may_gain(fx.b));
}

Test(sender, failed_transaction_lasts_until_its_lanes_are_lost)
{
    struct parcel *p = delivery();
    fixture_report(p, REPORT_NOT_SENT);
    fixture_fail(BLAME_CLUSTER, "fenced");
    serve_after(1);
    cr_expect_eq(fx.b->txn.state, TXN_BROKEN);
    cr_expect(bridge_must_reread(fx.b));
    bridge_lane_lost(fx.b, 0);
    cr_expect_not(bridge_must_reread(fx.b));
    serve_after(1);
    cr_expect_eq(fx.b->txn.state, TXN_OPEN);
}

Test(sender, purge_waits_for_the_offsets_that_are_being_sent)
{
    close_transaction();
    bridge_lane_lost(fx.b, 0);
    outcome_serve(fx.b);
    cr_expect_eq(fx.purges, 0);
    fixture_end(FIRST, true);
    outcome_serve(fx.b);
    cr_expect_eq(fx.purges, 1);
}

Test(sender, end_of_a_commit_that_was_given_up_is_not_reported)
{
    request_commit();
    bridge_lane_lost(fx.b, 0);
    commit_ends(true, false, false);
    cr_expect_eq(counter_read(&fx.stats.commits), 0);
    outcome_serve(fx.b);
    cr_expect_eq(fx.b->txn.state, TXN_OPEN);
}

Test(sender, commit_that_was_given_up_and_fails_is_purged)
{
    request_commit();
    bridge_lane_lost(fx.b, 0);
    commit_ends(false, false, false);
    purged();
    cr_expect_eq(fixture_notices(NOTICE_ABORTED), 0);
    cr_expect_eq(client(FIRST)->state, CLIENT_CLOSING);
    cr_expect_eq(fx.b->txn.state, TXN_BROKEN);
}

Test(sender, transaction_that_the_coordinator_refuses_is_given_up)
{
    (void)delivery();
    fx.holds_calls = true;
    be_refused();
    cr_expect_eq(fx.b->txn.state, TXN_FAILED);
    cr_expect_eq(fx.purges, 1);
    cr_expect_eq(fixture_target("orders")->state, TARGET_UNKNOWN, "it is looked up again");
}

Test(sender, transaction_with_an_answered_record_is_not_refused)
{
    (void)delivery();
    fixture_fact((struct client_fact){.event = CLIENT_PRODUCED, .client = FIRST});
    be_refused();
    cr_expect_eq(fx.purges, 0);
}

Test(sender, time_before_the_first_record_is_no_refusal)
{
    fx.is_full = true;
    cr_assert_eq(sender_enter(fx.b), 0);
    fixture_pass(4000);
    fx.is_full = false;
    (void)delivery();
    fixture_fact((struct client_fact){.event = CLIENT_REGISTERED, .client = FIRST});
    outcome_serve(fx.b);
    cr_expect_eq(fx.purges, 0);
}

Test(sender, failure_of_an_order_is_served_at_once)
{
    fx.is_unassigned = true;
    queue_changed(fixture_queue(SLOT_SCHEDULE));
    fixture_pass(COMMIT_EVERY_MS);
    cr_expect_eq(bridge_turn(fx.b, fx.b->now), 0);
    cr_expect_eq(fx.b->txn.state, TXN_FAILED);
}

Test(sender, client_that_is_refused_is_left_to_its_call)
{
    close_transaction();
    be_refused();
    purged();
    cr_expect_eq(client(FIRST)->state, CLIENT_LEFT);
    cr_expect_eq(client(SECOND)->state, CLIENT_CLOSING, "its transaction may have the partition");
    fixture_end(SECOND, true);
    fixture_end(SECOND, true);
    bridge_lane_lost(fx.b, 0);
    outcome_serve(fx.b);
    cr_expect_eq(fx.b->sender.current, SECOND);
    fixture_end(THIRD, true); /* it had no handle to destroy */
    outcome_serve(fx.b);
    cr_expect_eq(fx.b->txn.state, TXN_OPEN, "it does not wait for the client that is left");
    fixture_end(FIRST, false);
    cr_expect_eq(client(FIRST)->state, CLIENT_CLOSING);
    cr_expect(fx.was_left);
}

Test(sender, another_client_replaces_one_that_brokers_hold)
{
    *client(FIRST) = (struct txn_client){
        .state = CLIENT_STARTING, .call = CALL_INIT, .since_mono_ms = fx.b->now.mono_ms};
    serve_after(2999);
    cr_expect_eq(client(THIRD)->state, CLIENT_OFF);
    cr_expect_eq(fx.b->sender.current, SECOND);
    fx.holds_calls = true;
    serve_after(1);
    cr_expect_eq(client(THIRD)->state, CLIENT_CLOSING);
    cr_expect_eq(client(FOURTH)->state, CLIENT_OFF);
}

Test(sender, no_client_is_added_while_kafka_is_away)
{
    *client(FIRST) = (struct txn_client){
        .state = CLIENT_STARTING, .call = CALL_INIT, .since_mono_ms = fx.b->now.mono_ms};
    fixture_pass(3000);
    fixture_fact((struct client_fact){.event = CLIENT_AWAY});
    serve_after(2999);
    cr_expect_eq(client(THIRD)->state, CLIENT_OFF);
    serve_after(1);
    cr_expect_neq(client(THIRD)->state, CLIENT_OFF);
}

Test(sender, no_client_is_a_spare_while_one_is_held)
{
    cr_expect(sender_has_spare(fx.b));
    client(SECOND)->state = CLIENT_LEFT;
    client(THIRD)->state = CLIENT_READY;
    cr_expect_not(sender_has_spare(fx.b));
}

Test(sender, cause_that_names_records_replaces_another)
{
    (void)delivery();
    sender_fail(fx.b, BLAME_NOBODY, "purged");
    cr_expect_eq(fx.b->txn.blame, BLAME_CLUSTER);
    sender_fail(fx.b, BLAME_CLUSTER, "first");
    sender_fail(fx.b, BLAME_RECORDS, "second");
    sender_fail(fx.b, BLAME_CLUSTER, "third");
    cr_expect_eq(fx.b->txn.blame, BLAME_RECORDS);
    cr_expect_str_eq(fx.b->txn.why, "first");
}
