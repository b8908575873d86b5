/* SPDX-License-Identifier: Apache-2.0 */
/* admission: records that wait for room, and queues that were paused. */
#include "bridge/core/admission.h"
#include "bridge/core/bridge.h"
#include "bridge/core/queue.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

static struct queue *q;

static void start(void)
{
    fixture_start();
    q = fixture_queue(LEVEL);
}

TestSuite(admission, .init = start, .fini = fixture_stop);

Test(admission, head_waits_for_a_free_parcel)
{
    size_t n = fx.b->pools.parcels_n;
    fx.b->pools.parcels_n = fx.b->pools.parcels_high;
    fixture_offer(LEVEL, fixture_record(START, BEGIN_WALL_MS));
    admission_serve(fx.b, q);
    cr_expect(q->waits_for_room);
    admission_serve(fx.b, q);
    cr_expect_eq(counter_read(&fx.stats.window_full), 1, "one wait");
    fx.b->pools.parcels_n = n;
    admission_serve(fx.b, q);
    cr_expect_null(q->head);
    cr_expect_eq(q->parcels, 1);
}

/* Pauses a queue whose head at START is due late, and wakes it when the head is near. */
static void pause_and_wake(bool head_is_done)
{
    q = fixture_queue(LONG_LEVEL);
    fixture_offer(LONG_LEVEL, fixture_record(START, BEGIN_WALL_MS + LONG_MS));
    admission_serve(fx.b, q);
    cr_assert_eq(q->state, QUEUE_PAUSED);
    if (head_is_done) {
        window_admit(&q->window, START);
        window_done(&q->window, START);
    }
    fixture_pass(LONG_MS);
    admission_serve(fx.b, q);
    cr_assert_eq(q->state, QUEUE_OPEN);
}

Test(admission, resumed_queue_expects_its_head)
{
    pause_and_wake(false);
    cr_expect_eq(q->silent_since_mono_ms, fx.b->now.mono_ms);
}

Test(admission, resumed_queue_expects_no_record_if_its_head_is_done)
{
    pause_and_wake(true);
    cr_expect_eq(q->silent_since_mono_ms, 0);
}

Test(admission, silent_queue_is_woken_again)
{
    pause_and_wake(false);
    for (int i = 1; i < SILENCES; i++) {
        fixture_pass(SILENCE_MS);
        admission_serve(fx.b, q);
        cr_expect_eq(counter_read(&fx.stats.stall_recoveries), (uint64_t)i);
    }
    cr_expect_eq(q->state, QUEUE_OPEN);
}

Test(admission, head_that_stays_missing_proves_another_log)
{
    pause_and_wake(false);
    fx.drained_offset = START;
    for (int i = 0; i < SILENCES; i++) {
        fixture_pass(SILENCE_MS);
        admission_serve(fx.b, q);
    }
    cr_expect(q->log_mismatch);
    cr_expect_eq(fixture_notices(NOTICE_REPLACED), 1);
}

Test(admission, head_that_the_client_has_not_fetched_yet_is_awaited)
{
    pause_and_wake(false);
    for (int i = 0; i < 2 * SILENCES; i++) {
        fixture_pass(SILENCE_MS);
        admission_serve(fx.b, q);
    }
    cr_expect_not(q->log_mismatch);
    cr_expect_eq(q->state, QUEUE_OPEN);
}
