/* SPDX-License-Identifier: Apache-2.0 */
/* queue: the reading position of an input partition, and the signs that its log is another one. */
#include "bridge/core/bridge.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>
#include <signal.h>

static struct queue *q;

static void start(void)
{
    fixture_start();
    q = fixture_queue(LEVEL);
}

TestSuite(queue, .init = start, .fini = fixture_stop);

/* Admits the offsets below end without finishing them. */
static void admit_below(int64_t end)
{
    for (int64_t offset = q->window.next; offset < end; offset++)
        window_admit(&q->window, offset);
}

static void set_unset(void)
{
    window_init(&q->window, WINDOW_UNSET);
}

static void block_at_range(void)
{
    queue_block(fx.b, q);
    q->bad_from = START;
    q->bad_end = START + 3;
    q->bad_readings = BAD_READINGS;
    q->skip_requested = q->range_dead_lettered = true;
}

static uint64_t paused(void)
{
    return counter_read(&fx.stats.paused);
}

Test(queue, open_queue_has_no_progress_to_commit)
{
    queue_changed(q);
    queue_open(fx.b, q);
    cr_expect_eq(q->state, QUEUE_OPEN);
    cr_expect(q->active);
    cr_expect_eq(q->changes, 0);
    cr_expect_eq(q->base_kept, START);
    cr_expect_eq(q->base_trimmed, START);
    cr_expect(queue_has_progress(q));
}

Test(queue, replaced_log_stays_blocked_when_its_lane_is_assigned)
{
    q->log_mismatch = true;
    queue_open(fx.b, q);
    cr_expect_eq(q->state, QUEUE_BLOCKED);
    cr_expect_not(queue_has_progress(q));
}

Test(queue, closed_queue_releases_its_head)
{
    q->head = fixture_raw(START, 3);
    queue_close(fx.b, q);
    cr_expect_eq(fx.records, 0);
    cr_expect_eq(q->state, QUEUE_OFF);
    cr_expect_not(queue_has_progress(q));
    queue_check(fx.b, q);
}

Test(queue, unset_window_has_no_progress)
{
    set_unset();
    cr_expect_not(queue_has_progress(q));
    cr_expect_eq(queue_floor(q), 0);
}

Test(queue, dropped_head_leaves_a_mark_of_its_content)
{
    struct record *head = fixture_raw(START + 2, 3);
    struct mark mark = queue_mark_of(head);
    q->head = head;
    q->waits_for_room = true;
    queue_drop_head(fx.b, q);
    cr_expect_eq(q->mark.offset, START + 2);
    cr_expect_eq(q->mark.from_offset, START + 2);
    cr_expect_eq(q->mark.checksum, mark.checksum);
    cr_expect_eq(q->mark.timestamp_wall_ms, BEGIN_WALL_MS);
    cr_expect_not(q->waits_for_room);
}

Test(queue, head_below_the_position_leaves_no_mark)
{
    admit_below(START + 1);
    q->head = fixture_raw(START, 3);
    queue_drop_head(fx.b, q);
    cr_expect_eq(q->mark.offset, -1);
}

Test(queue, checksum_distinguishes_key_and_value)
{
    const struct record ab = {.key = bytes_text("ab"), .value = bytes_text("c")};
    const struct record a = {.key = bytes_text("a"), .value = bytes_text("bc")};
    cr_expect_neq(record_checksum(&ab), record_checksum(&a));
}

Test(queue, pause_drops_the_head_and_keeps_its_place)
{
    admit_below(START + 2);
    q->head = fixture_raw(START + 5, 3);
    queue_pause(fx.b, q);
    cr_expect_eq(fx.pauses, 1);
    cr_expect_eq(paused(), 1);
    cr_expect_eq(q->paused_offset, START + 2);
    cr_expect_eq(q->mark.offset, START + 5);
    cr_expect_eq(q->mark.from_offset, START + 2, "no record is between the position and the head");
    queue_check(fx.b, q);
}

Test(queue, read_on_seeks_to_the_first_offset_that_was_not_admitted)
{
    admit_below(START + 2);
    queue_pause(fx.b, q);
    queue_read_on(fx.b, q);
    cr_expect_eq(q->state, QUEUE_OPEN);
    cr_expect_eq(fx.seek_offset, START + 2);
    cr_expect(q->seek_pending);
    cr_expect_eq(paused(), 0);
}

Test(queue, queue_in_the_list_is_counted_until_it_is_resumed)
{
    queue_stand_in_line(fx.b, q);
    cr_expect_eq(fx.b->bulk.in_line, 1);
    cr_expect_eq(paused(), 1);
    queue_check(fx.b, q);
    queue_block(fx.b, q);
    cr_expect_eq(fx.b->bulk.in_line, 0);
    cr_expect_eq(paused(), 0);
}

Test(queue, reread_seeks_to_the_first_offset_that_is_not_done)
{
    admit_below(START + 3);
    window_done(&q->window, START);
    window_done(&q->window, START + 2);
    queue_reread(fx.b, q);
    cr_expect_eq(fx.seek_offset, START + 1);
    cr_expect(window_is_done(&q->window, START + 2));
}

Test(queue, reread_ignores_closed_blocked_and_unset_queues)
{
    queue_block(fx.b, q);
    queue_reread(fx.b, q);
    queue_close(fx.b, q);
    queue_reread(fx.b, q);
    q = fixture_queue(LONG_LEVEL);
    set_unset();
    queue_reread(fx.b, q);
    cr_expect_eq(fx.seeks, 0);
}

Test(queue, reread_forgets_an_unreadable_range)
{
    block_at_range();
    cr_expect(queue_is_blocked_at_range(q));
    queue_reread(fx.b, q);
    cr_expect_eq(q->state, QUEUE_OPEN);
    cr_expect_eq(q->bad_end, 0);
    cr_expect_not(q->skip_requested);
    cr_expect_not(q->range_dead_lettered);
}

Test(queue, range_that_was_read_too_rarely_blocks_nothing)
{
    block_at_range();
    q->bad_readings = BAD_READINGS - 1;
    cr_expect_not(queue_is_blocked_at_range(q));
    cr_expect_not(queue_forget_range(q));
    q->bad_readings = BAD_READINGS;
    q->state = QUEUE_OPEN;
    cr_expect_not(queue_is_blocked_at_range(q));
}

Test(queue, block_reports_its_reason)
{
    queue_block_for(fx.b, q, NOTICE_NEWER_ENVELOPE, START + 4);
    const struct notice *notice = fixture_notice(NOTICE_NEWER_ENVELOPE);
    cr_assert_not_null(notice);
    cr_expect_eq(notice->queue.slot, LEVEL);
    cr_expect_eq(notice->offset, START + 4);
    cr_expect_eq(q->state, QUEUE_BLOCKED);
    cr_expect_eq(q->head_release_wall_ms, BEGIN_WALL_MS);
}

Test(queue, replaced_log_is_blocked_without_progress)
{
    queue_replaced(fx.b, q, START, "a sign");
    const struct notice *notice = fixture_notice(NOTICE_REPLACED);
    cr_assert_not_null(notice);
    cr_expect_str_eq(notice->reason, "a sign");
    cr_expect_eq(q->state, QUEUE_BLOCKED);
    cr_expect(q->log_mismatch);
    cr_expect_not(queue_has_progress(q));
}

Test(queue, forgotten_log_disowns_its_records_in_flight)
{
    struct parcel *p = fixture_send(LEVEL, START, BEGIN_WALL_MS);
    bridge_lane_lost(fx.b, 0);
    cr_assert_eq(p->ownership, REVOKED);
    q->log_mismatch = true;
    q->mark.offset = START;
    queue_forget_log(q);
    cr_expect_eq(p->ownership, FOREIGN);
    cr_expect_eq(q->mark.offset, -1);
    cr_expect_not(q->log_mismatch);
}

Test(queue, forgotten_log_of_a_missing_topic_stays_mismatched)
{
    q->missing = true;
    queue_forget_log(q);
    cr_expect(q->log_mismatch);
}

Test(queue, missing_topic_counts_the_records_that_waited)
{
    admit_below(START + 4);
    window_done(&q->window, START + 1);
    fx.end_offset = START + 10;
    bridge_topic_missing(fx.b, q->id);
    bridge_topic_missing(fx.b, q->id);
    cr_expect_eq(fixture_notices(NOTICE_MISSING), 1);
    cr_expect_eq(fixture_notice(NOTICE_MISSING)->count, 9);
    cr_expect(q->missing);
    cr_expect(q->log_mismatch);
    cr_expect_eq(q->state, QUEUE_BLOCKED);
}

Test(queue, missing_topic_of_unknown_end_counts_none)
{
    bridge_topic_missing(fx.b, q->id);
    cr_expect_eq(fixture_notice(NOTICE_MISSING)->count, 0);
}

Test(queue, missing_topic_of_another_lane_is_ignored)
{
    bridge_topic_missing(fx.b, bridge_queue(fx.b, 1, LEVEL)->id);
    cr_expect_eq(fixture_notices(NOTICE_MISSING), 0);
}

Test(queue, work_is_limited_to_the_offsets_of_a_commit_text)
{
    fx.config.commit_text_max = 64;
    fixture_again();
    q = fixture_queue(LEVEL);
    int64_t span = window_span_of(64);
    cr_assert_gt(span, 0);
    cr_expect(queue_fits(fx.b, q, START + 2 * span), "no record is in work");
    admit_below(START + 1);
    cr_expect(queue_fits(fx.b, q, START + span - 1));
    cr_expect_not(queue_fits(fx.b, q, START + span));
}

Test(queue, start_of_an_unset_window_is_its_base)
{
    set_unset();
    queue_start_at(q, 40);
    cr_expect_eq(q->window.base, 40);
    cr_expect_eq(q->window.next, 40);
}

Test(queue, all_offsets_below_a_start_are_done)
{
    admit_below(START + 2);
    queue_start_at(q, START + 9);
    cr_expect_eq(q->window.base, START + 9);
    cr_expect_eq(q->window.next, START + 9);
}

Test(queue, start_inside_the_work_keeps_the_rest_in_progress)
{
    admit_below(START + 5);
    queue_start_at(q, START + 2);
    cr_expect_eq(q->window.base, START + 2);
    cr_expect_eq(q->window.next, START + 5);
}

Test(queue, passed_range_is_done)
{
    queue_pass_range(q, START + 3);
    cr_expect_eq(q->window.base, START + 3);
}

Test(queue, range_inside_the_work_is_passed)
{
    admit_below(START + 5);
    queue_pass_range(q, START + 5);
    cr_expect_eq(q->window.base, START + 5);
}

Test(queue, range_beyond_the_window_is_read_again_later)
{
    admit_below(START + 1);
    queue_pass_range(q, START + WINDOW_SPAN + 1);
    cr_expect_eq(q->window.base, START);
    set_unset();
    queue_pass_range(q, START);
    cr_expect_eq(q->window.base, WINDOW_UNSET);
}

Test(queue, offsets_below_the_log_start_are_lost_and_done)
{
    bridge_out_of_range(fx.b, q->id, START + 20, START + 50);
    const struct notice *notice = fixture_notice(NOTICE_OUT_OF_RANGE);
    cr_assert_not_null(notice);
    cr_expect_eq(notice->count, 20);
    cr_expect_eq(counter_read(&fx.stats.lost_positions), 1);
    cr_expect_eq(q->window.base, START + 20);
    cr_expect_eq(fx.seek_offset, START + 20);
    cr_expect_eq(q->changes, 1);
    cr_expect_eq(q->silent_since_mono_ms, fx.b->now.mono_ms);
}

Test(queue, unset_window_starts_at_the_log_start_without_a_loss)
{
    set_unset();
    bridge_out_of_range(fx.b, q->id, 30, 30);
    cr_expect_eq(fixture_notices(NOTICE_OUT_OF_RANGE), 0);
    cr_expect_eq(q->window.base, 30);
    cr_expect_eq(q->silent_since_mono_ms, 0, "the log is empty");
}

Test(queue, position_inside_the_log_is_read_again)
{
    bridge_out_of_range(fx.b, q->id, START - 10, START + 10);
    cr_expect_eq(counter_read(&fx.stats.lost_positions), 0);
    cr_expect_eq(fx.seek_offset, START);
    cr_expect_eq(q->changes, 0);
}

Test(queue, position_beyond_the_log_end_blocks)
{
    bridge_out_of_range(fx.b, q->id, 0, START - 1);
    cr_expect_eq(fixture_notice(NOTICE_BEYOND_END)->offset, START);
    cr_expect_eq(q->state, QUEUE_BLOCKED);
    cr_expect(q->log_mismatch);
    bridge_out_of_range(fx.b, q->id, START + 5, START + 9);
    cr_expect_eq(fx.seeks, 0, "a blocked queue is not read");
}

Test(queue, position_of_a_lost_lane_is_ignored)
{
    bridge_lane_lost(fx.b, 0);
    bridge_out_of_range(fx.b, q->id, START + 20, START + 50);
    cr_expect_eq(counter_read(&fx.stats.lost_positions), 0);
    cr_expect_eq(fixture_notices(NOTICE_OUT_OF_RANGE), 0);
    cr_expect_eq(fx.seeks, 0);
    cr_expect_eq(q->window.base, START);
}

Test(queue, hop_stored_below_the_position_proves_another_log)
{
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS + 5 * SHORT_MS);
    p->floor_offset = START;
    bridge_hop_stored(fx.b, p, q->id, START - 1);
    cr_expect_eq(fixture_notices(NOTICE_REPLACED), 1);
    cr_expect(q->log_mismatch);
    bridge_hop_stored(fx.b, p, q->id, START - 1);
    cr_expect_eq(fixture_notices(NOTICE_REPLACED), 1, "reported once");
}

Test(queue, hop_stored_at_the_known_end_or_later_proves_nothing)
{
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS + 5 * SHORT_MS);
    p->floor_offset = START;
    bridge_hop_stored(fx.b, p, q->id, START);
    bridge_hop_stored(fx.b, p, q->id, -1); /* unknown */
    cr_expect_not(q->log_mismatch);
}

Test(queue, hop_of_a_lost_lane_proves_nothing)
{
    struct parcel *p = fixture_send(SLOT_SCHEDULE, START, BEGIN_WALL_MS + 5 * SHORT_MS);
    cr_assert_eq(p->floor_offset, START);
    p->ownership = REVOKED;
    bridge_hop_stored(fx.b, p, q->id, START - 1);
    p->ownership = OWNED;
    cr_expect_not(q->log_mismatch);
}

Test(queue, head_is_done_below_the_position_or_by_a_late_report)
{
    q->head = fixture_raw(START + 1, 3);
    cr_expect_not(queue_head_is_done(q));
    window_done(&q->window, START + 1);
    cr_expect(queue_head_is_done(q));
    q->head->offset = START - 1;
    cr_expect(queue_head_is_done(q));
}

Test(queue, check_rejects_a_head_in_a_paused_queue, .signal = SIGABRT)
{
    queue_pause(fx.b, q);
    q->head = fixture_raw(START, 3);
    queue_check(fx.b, q);
}

Test(queue, check_rejects_a_commit_of_more_than_was_sent, .signal = SIGABRT)
{
    q->changes = q->changes_kept = 1;
    queue_check(fx.b, q);
}
