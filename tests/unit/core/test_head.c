/* SPDX-License-Identifier: Apache-2.0 */
/* head: the signs that a record is another one than at the last reading. Records that are still in
   flight from an earlier life of their lane are adopted. */
#include "bridge/core/bridge.h"
#include "bridge/core/forward.h"
#include "bridge/core/head.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

static struct queue *q;

static void start(void)
{
    fixture_start();
    q = fixture_queue(LEVEL);
}

TestSuite(head, .init = start, .fini = fixture_stop);

/* Reads the record at the offset and drops it, which leaves a mark. */
static void mark(int64_t offset)
{
    struct record *record = fixture_record(offset, BEGIN_WALL_MS);
    q->mark = queue_mark_of(record);
    q->mark.from_offset = START;
    fx.b->port.release(NULL, record);
}

/* Returns a record that differs in one field of the envelope. */
static struct record *changed(struct record *record, void (*change)(struct envelope *env))
{
    struct envelope env;
    cr_assert_eq(envelope_open(record->value, &env), 0);
    change(&env);
    struct record *other = fx.b->port.make(NULL, record->key, envelope_size(&env));
    cr_assert_not_null(other);
    envelope_encode(&env, (void *)other->value.data);
    other->offset = record->offset;
    fx.b->port.release(NULL, record);
    return other;
}

static void change_lane(struct envelope *env)
{
    env->stamp.origin_lane++;
}

static void change_offset(struct envelope *env)
{
    env->stamp.origin_offset++;
}

static void change_timestamp(struct envelope *env)
{
    env->stamp.timestamp_ms++;
}

static void change_attempt(struct envelope *env)
{
    env->stamp.attempt++;
}

static void change_value(struct envelope *env)
{
    env->value = bytes_text("other");
}

Test(head, marked_record_is_read_again)
{
    mark(START);
    fixture_offer(LEVEL, fixture_record(START, BEGIN_WALL_MS));
    cr_expect(head_find(fx.b, q));
    cr_expect_eq(q->head->offset, START);
}

Test(head, other_timestamp_at_the_mark_proves_another_log)
{
    mark(START);
    struct record *record = fixture_record(START, BEGIN_WALL_MS);
    record->timestamp_ms++;
    fixture_offer(LEVEL, record);
    cr_expect_not(head_find(fx.b, q));
    cr_expect(q->log_mismatch);
    cr_expect_eq(fx.records, 0);
}

Test(head, other_content_at_the_mark_proves_another_log)
{
    mark(START);
    fixture_offer(LEVEL, fixture_record(START, BEGIN_WALL_MS + 1));
    cr_expect_not(head_find(fx.b, q));
    cr_expect(q->log_mismatch);
}

Test(head, log_that_ends_before_the_mark_misses_its_record)
{
    mark(START + 2);
    fx.drained_offset = START + 2;
    cr_expect(head_is_missing(fx.b, q));
    fx.drained_offset = START + 3;
    cr_expect_not(head_is_missing(fx.b, q));
    fx.drained_offset = -1; /* the end is not reached yet */
    cr_expect_not(head_is_missing(fx.b, q));
}

Test(head, record_that_is_done_is_not_missing)
{
    mark(START + 2);
    fx.drained_offset = START;
    window_done(&q->window, START + 2);
    cr_expect_not(head_is_missing(fx.b, q));
}

Test(head, record_beyond_the_window_may_be_missing)
{
    window_admit(&q->window, START);
    mark(START + WINDOW_SPAN);
    fx.drained_offset = START + 1;
    cr_expect(head_is_missing(fx.b, q));
}

Test(head, unset_window_misses_no_record)
{
    mark(START);
    fx.drained_offset = START;
    window_init(&q->window, WINDOW_UNSET);
    cr_expect_not(head_is_missing(fx.b, q));
}

/* Sends the record at START, then loses its lane and gets it again. Returns the parcel. */
static struct parcel *regained(int slot)
{
    q = fixture_queue(slot);
    struct parcel *p = fixture_send(slot, START, BEGIN_WALL_MS);
    bridge_lane_lost(fx.b, 0);
    fixture_gain(0);
    cr_assert_eq(p->ownership, REVOKED);
    return p;
}

static bool adopts(struct record *head)
{
    q->head = head;
    bool adopted = head_adopt_in_flight(fx.b, q, START);
    queue_drop_head(fx.b, q);
    return adopted;
}

Test(head, record_in_flight_is_adopted)
{
    struct parcel *p = regained(LEVEL);
    cr_expect(adopts(fixture_record(START, BEGIN_WALL_MS)));
    cr_expect_eq(p->ownership, OWNED);
    cr_expect_eq(q->parcels, 1);
    cr_expect_eq(fx.b->revoked, 0);
    cr_expect_eq(q->window.next, START + 1);
    bridge_check(fx.b);
}

Test(head, record_written_again_for_another_try_is_adopted)
{
    (void)regained(LEVEL);
    cr_expect(adopts(changed(fixture_record(START, BEGIN_WALL_MS), change_attempt)));
}

Test(head, request_of_a_record_in_flight_is_adopted)
{
    (void)regained(SLOT_SCHEDULE);
    struct record *request = fixture_raw(START, 5);
    memcpy((void *)request->value.data, "value", 5);
    cr_expect(adopts(request));
}

Test(head, request_of_another_time_or_value_is_not_adopted)
{
    (void)regained(SLOT_SCHEDULE);
    struct record *request = fixture_raw(START, 5);
    memcpy((void *)request->value.data, "value", 5);
    request->timestamp_ms++;
    cr_expect_not(adopts(request));
    cr_expect_not(adopts(fixture_raw(START, 5)));
}

Test(head, record_of_another_request_is_not_adopted)
{
    (void)regained(LEVEL);
    void (*const changes[])(struct envelope *) = {change_lane, change_offset, change_timestamp};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        cr_expect_not(adopts(changed(fixture_record(START, BEGIN_WALL_MS), changes[i])));
    cr_expect_not(adopts(fixture_raw(START, 5)), "it is no envelope");
}

Test(head, record_with_another_value_is_not_adopted)
{
    (void)regained(LEVEL);
    cr_expect_not(adopts(changed(fixture_record(START, BEGIN_WALL_MS), change_value)));
}

Test(head, record_with_another_key_is_not_adopted)
{
    (void)regained(LEVEL);
    struct record *record = fixture_record(START, BEGIN_WALL_MS);
    record->key = bytes_null();
    cr_expect_not(adopts(record));
}

Test(head, refused_record_is_adopted_by_its_checksum)
{
    q = fixture_queue(LEVEL);
    fixture_offer(LEVEL, fixture_raw(START, 5));
    fixture_turn();
    cr_assert_eq(fx.b->in_flight, 1);
    bridge_lane_lost(fx.b, 0);
    fixture_gain(0);
    cr_expect_not(adopts(fixture_raw(START, 6)));
    struct record *later = fixture_raw(START, 5);
    later->timestamp_ms++;
    cr_expect_not(adopts(later));
    cr_expect(adopts(fixture_raw(START, 5)));
}

Test(head, range_is_adopted_without_a_record)
{
    struct parcel *p = regained(LEVEL);
    cr_expect(head_adopt_in_flight(fx.b, q, START));
    cr_expect_eq(p->ownership, OWNED);
}

Test(head, range_of_another_log_is_not_adopted)
{
    struct parcel *p = regained(LEVEL);
    p->ownership = FOREIGN;
    cr_expect_not(head_adopt_in_flight(fx.b, q, START));
    cr_expect_not(head_adopt_in_flight(fx.b, q, START + 1));
}
