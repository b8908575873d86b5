/* SPDX-License-Identifier: Apache-2.0 */
/* A producer whose broker acknowledges slowly: all of a partition arrives, in order, and no thread
   polls without a pause meanwhile. On the mock. */
#include "bridge/base/clock.h"
#include "consumer/client/client.h"
#include "consumer/client/mock.h"
#include "consumer/producer.h"

#include <criterion/criterion.h>
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
    BUSY_PERCENT =
        20 /* with an outbox it is 2; a thread that polls without a pause takes much more */
};

static const char *const topics[SLOTS] = {"schedule", "schedule.1s"};

/* The start of a parcel, as the port uses it. */
struct sent {
    struct parcel_note note;
    int number;
};

struct stage {
    struct mock *mock;
    struct wakeup wakeup;
    struct property bootstrap;
    struct config config;
    struct producer *producer;
    struct sent records[RECORDS];
    int reports, refusals, disorders;
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

static void serve(struct stage *stage, int64_t wait_us)
{
    wakeup_wait(&stage->wakeup, wait_us, nothing, NULL);
    producer_reports(stage->producer);
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

static int64_t cpu_us(void)
{
    return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

/* Sends records at a steady rate to one partition. Returns the used percentage of a core. */
static int64_t stream(struct stage *stage, struct forward *f, int round_trip_ms)
{
    mock_delay(stage->mock, round_trip_ms);
    int64_t start_us = clock_us(CLOCK_MONOTONIC), busy_us = cpu_us();
    for (int number = 0; number < RECORDS; number++) {
        forward(stage, f, number);
        int64_t next_us = start_us + (number + 1) * EVERY_US;
        for (int64_t left_us; (left_us = next_us - clock_us(CLOCK_MONOTONIC)) > 0;)
            serve(stage, left_us);
    }
    int64_t took_us = clock_us(CLOCK_MONOTONIC) - start_us;
    busy_us = cpu_us() - busy_us;
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (stage->reports < RECORDS && clock_mono_ms() < until_ms)
        serve(stage, 10000);
    return busy_us * 100 / took_us;
}

static void judge(const struct stage *stage, int64_t busy_percent)
{
    cr_expect_eq(stage->reports, RECORDS);
    cr_expect_eq(stage->refusals, 0);
    cr_expect_eq(stage->disorders, 0);
    cr_expect_lt(busy_percent, BUSY_PERCENT, "%" PRId64 " %% of a core", busy_percent);
}

Test(outbox, slow_acknowledgements_of_hops_burn_no_core)
{
    static const struct record record = {.value = {(const uint8_t *)"x", 1}};
    struct stage *stage = open_stage();
    struct forward hop = {.kind = FORWARD_LEVEL, .record = &record, .slot = 1};
    judge(stage, stream(stage, &hop, ROUND_TRIP_MS));
    close_stage(stage);
}

Test(outbox, batches_that_wait_for_slow_acknowledgements_burn_no_core)
{
    static const uint8_t value[LARGE] = "x";
    static const struct record record = {.value = {value, sizeof value}};
    struct stage *stage = open_stage();
    struct forward hop = {.kind = FORWARD_LEVEL, .record = &record, .slot = 1};
    judge(stage, stream(stage, &hop, LONG_TRIP_MS));
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
    judge(stage, stream(stage, &delivery, ROUND_TRIP_MS));
    producer_forget(stage->producer, &target);
    close_stage(stage);
}
