/* SPDX-License-Identifier: Apache-2.0 */
/* A producer whose broker acknowledges slowly: all of a partition arrives, in order, and no thread
   polls without a pause meanwhile. On the mock. The calls of poll are counted, since the used time
   of a core depends on what else the machine does. */
#include "bridge/base/clock.h"
#include "consumer/client/client.h"
#include "consumer/client/mock.h"
#include "consumer/producer.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdatomic.h>
#include <time.h>

enum {
    LANES = 1,
    SLOTS = 2,
    RECORDS = 1500,
    EVERY_US = 1000,
    ROUND_TRIP_MS = 60, /* longer than any linger */
    LONG_TRIP_MS = 400, /* long enough for several batches of LARGE values */
    LARGE = 1000,
    TIMEOUT_MS = 20000,
    PERIOD_US = 50000,
    BUSY_POLLS = 200, /* of a period. Without a fault it is 1. A thread that polls without a pause
                         reaches this in a millisecond */
    BUSY_SHARE = 4,   /* at most a quarter of the periods is busy */
    ROUNDS = 3
};

static atomic_int polls; /* calls that do not wait, in all threads */

static int count_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    polls += timeout_ms == 0;
    return ppoll(fds, n, timeout_ms < 0 ? NULL : &timeout, NULL);
}

/* These replace the functions of the C library, also for librdkafka. */
int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    return count_poll(fds, n, timeout_ms);
}

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t size);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t size)
{
    (void)size;
    return count_poll(fds, n, timeout_ms);
}

static const char *const topics[SLOTS] = {"schedule", "schedule.1s"};

/* The start of a parcel, as the port uses it. */
struct sent {
    struct parcel_note note;
    int number;
};

/* The periods until the last report. */
struct watch {
    int64_t since_us; /* start of the period */
    int periods, busy;
};

struct stage {
    struct mock *mock;
    struct wakeup wakeup;
    struct property bootstrap;
    struct config config;
    struct producer *producer;
    struct sent records[RECORDS];
    int reports, refusals, disorders;
    struct watch watch;
};

static void on_reported(void *ctx, struct parcel *parcel, enum report report, const char *why)
{
    struct stage *stage = ctx;
    (void)why;
    stage->disorders += ((struct sent *)(void *)parcel)->number != stage->reports;
    stage->refusals += report != REPORT_OK;
    stage->reports++;
}

static void on_landed(void *ctx, const struct parcel *parcel, struct queue_id level, int64_t offset)
{
    (void)ctx, (void)parcel, (void)level, (void)offset;
}

static void on_delivered(void *ctx, struct parcel *parcel, int32_t partition, int64_t offset)
{
    (void)ctx, (void)parcel, (void)partition, (void)offset;
}

static struct stage *open_stage(void)
{
    static char group[] = "outboxes", name[] = "bootstrap.servers";
    static struct stage stage;
    struct error error;
    stage = (struct stage){.mock = mock_start(&error)};
    cr_assert_not_null(stage.mock, "%s", error.text);
    for (int slot = 0; slot < SLOTS; slot++)
        cr_assert_eq(mock_topic(stage.mock, topics[slot], LANES), 0);
    cr_assert_eq(mock_topic(stage.mock, "target", 1), 0);
    cr_assert_eq(wakeup_init(&stage.wakeup), 0);
    stage.bootstrap =
        (struct property){CLIENT_ALL, name, (char *)mock_bootstrap(stage.mock), false};
    stage.config = (struct config){.group = group, .kafka = &stage.bootstrap, .kafka_n = 1};
    struct producer_config config = {.config = &stage.config,
                                     .topics = topics,
                                     .slots = SLOTS,
                                     .lanes = LANES,
                                     .dead_letter = "schedule.dead",
                                     .cancelled = "schedule.cancelled",
                                     .events = "schedule.events",
                                     .wakeup = &stage.wakeup,
                                     .reported = on_reported,
                                     .landed = on_landed,
                                     .delivered = on_delivered,
                                     .ctx = &stage};
    cr_assert_eq(producer_new(&config, &stage.producer, &error), 0, "%s", error.text);
    return &stage;
}

static void close_stage(struct stage *stage)
{
    cr_expect(producer_free(stage->producer));
    wakeup_deinit(&stage->wakeup);
    mock_stop(stage->mock);
}

static void nothing(void *ctx, int32_t number)
{
    (void)ctx, (void)number;
}

/* Ends a period if it is over. It is busy if a thread polled in it without a pause. */
static void watch(struct watch *watch)
{
    int64_t now_us = clock_us(CLOCK_MONOTONIC);
    if (now_us - watch->since_us < PERIOD_US)
        return;
    watch->since_us = now_us;
    watch->busy += atomic_exchange(&polls, 0) > BUSY_POLLS;
    watch->periods++;
}

static void serve(struct stage *stage, int64_t wait_us)
{
    wakeup_wait(&stage->wakeup, 0, wait_us, nothing, NULL);
    producer_reports(stage->producer);
    watch(&stage->watch);
}

static void forward(struct stage *stage, struct forward *f, int number)
{
    stage->records[number].number = number;
    f->parcel = (struct parcel *)(void *)&stage->records[number];
    f->timestamp_wall_ms = clock_wall_ms();
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (producer_forward(stage->producer, f) !=
           0) { /* full until the brokers acknowledge more */
        cr_assert_lt(clock_mono_ms(), until_ms);
        serve(stage, 1000);
    }
}

/* Sends records at a steady rate to one partition, and waits for all reports. */
static void stream_once(struct stage *stage, struct forward *f, int round_trip_ms)
{
    mock_delay(stage->mock, round_trip_ms);
    int64_t start_us = clock_us(CLOCK_MONOTONIC);
    stage->watch = (struct watch){.since_us = start_us};
    stage->reports = 0;
    polls = 0;
    for (int number = 0; number < RECORDS; number++) {
        forward(stage, f, number);
        int64_t next_us = start_us + (number + 1) * EVERY_US;
        for (int64_t left_us; (left_us = next_us - clock_us(CLOCK_MONOTONIC)) > 0;)
            serve(stage, left_us);
    }
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (stage->reports < RECORDS && clock_mono_ms() < until_ms)
        serve(stage, 10000);
}

static bool is_busy(const struct watch *watch)
{
    return watch->busy * BUSY_SHARE > watch->periods;
}

/* On a loaded machine, this thread may be delayed while it hands a batch over. The client then
   sends a part of it, and polls until that part is acknowledged. So the best round counts. A thread
   without an outbox polls in all of them. */
static void stream(struct stage *stage, struct forward *f, int round_trip_ms)
{
    stream_once(stage, f, round_trip_ms);
    for (int i = 1; i < ROUNDS && is_busy(&stage->watch); i++)
        stream_once(stage, f, round_trip_ms);
    cr_expect_eq(stage->reports, RECORDS);
    cr_expect_eq(stage->refusals, 0);
    cr_expect_eq(stage->disorders, 0);
    cr_expect(!is_busy(&stage->watch), "busy in %d of %d periods", stage->watch.busy,
              stage->watch.periods);
}

Test(outbox, slow_acknowledgements_of_hops_burn_no_core)
{
    static const struct record record = {.value = {(const uint8_t *)"x", 1}};
    struct stage *stage = open_stage();
    struct forward hop = {.kind = FORWARD_LEVEL, .record = &record, .slot = 1};
    stream(stage, &hop, ROUND_TRIP_MS);
    close_stage(stage);
}

Test(outbox, batches_that_wait_for_slow_acknowledgements_burn_no_core)
{
    static const uint8_t value[LARGE] = "x";
    static const struct record record = {.value = {value, sizeof value}};
    struct stage *stage = open_stage();
    struct forward hop = {.kind = FORWARD_LEVEL, .record = &record, .slot = 1};
    stream(stage, &hop, LONG_TRIP_MS);
    close_stage(stage);
}

static void await_target(struct stage *stage, struct target_id *target)
{
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    enum lookup found;
    while ((found = producer_lookup(stage->producer, target)) == LOOKUP_PENDING &&
           clock_mono_ms() < until_ms)
        serve(stage, 10000);
    cr_assert(found == LOOKUP_FOUND || found == LOOKUP_WHOLE);
}

Test(outbox, slow_acknowledgements_of_deliveries_burn_no_core)
{
    static const struct record record = {.key = {(const uint8_t *)"k", 1}};
    static const struct envelope envelope = {.value = {(const uint8_t *)"x", 1}};
    static struct target_id target = {.name = "target"};
    struct stage *stage = open_stage();
    await_target(stage, &target);
    struct forward delivery = {
        .kind = FORWARD_TARGET, .record = &record, .env = &envelope, .target = &target};
    stream(stage, &delivery, ROUND_TRIP_MS);
    producer_forget(stage->producer, &target);
    close_stage(stage);
}
