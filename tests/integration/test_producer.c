/* SPDX-License-Identifier: Apache-2.0 */
/* producer with a transactional id: committed and aborted transactions. The mock's topics keep
   aborted records, so the tests check only the reports of the producer. */
#include "bridge/base/clock.h"
#include "consumer/client/client.h"
#include "consumer/client/mock.h"
#include "consumer/producer_parts.h"

#include <criterion/criterion.h>

enum { TIMEOUT_MS = 20000, LANES = 1, SLOTS = 2 };

static const char *const topics[SLOTS] = {"schedule", "schedule.1s"};

/* The events of the producer. */
struct heard {
    int reports, refusals;
    enum report report; /* the last one */
    uint64_t committed;
    bool aborted, restarted;
    int doubts; /* of leaders */
};

struct stage {
    struct mock *mock;
    struct wakeup wakeup;
    struct property bootstrap;
    struct config config;
    struct producer *producer;
    struct heard heard;
};

static void on_reported(void *ctx, struct parcel *parcel, enum report report, const char *why)
{
    struct heard *heard = ctx;
    (void)parcel, (void)why;
    heard->reports++;
    heard->refusals += report != REPORT_OK;
    heard->report = report;
}

static void on_landed(void *ctx, const struct parcel *parcel, struct queue_id level, int64_t offset)
{
    (void)ctx, (void)parcel, (void)level, (void)offset;
}

static void on_trimmed(void *ctx, const char *topic, int partition, int64_t low)
{
    (void)ctx, (void)topic, (void)partition, (void)low;
}

static void on_committed(void *ctx, uint64_t seq)
{
    ((struct heard *)ctx)->committed = seq;
}

static void on_aborted(void *ctx, enum abort_cause cause, const char *why)
{
    (void)cause, (void)why;
    ((struct heard *)ctx)->aborted = true;
}

static void on_restarted(void *ctx)
{
    ((struct heard *)ctx)->restarted = true;
}

static void on_leaders_doubted(void *ctx)
{
    ((struct heard *)ctx)->doubts++;
}

static void open_stage(struct stage *stage)
{
    static char group[] = "producers", name[] = "bootstrap.servers";
    struct error error;
    *stage = (struct stage){.mock = mock_start(&error)};
    cr_assert_not_null(stage->mock, "%s", error.text);
    for (int slot = 0; slot < SLOTS; slot++)
        cr_assert_eq(mock_topic(stage->mock, topics[slot], LANES), 0);
    cr_assert_eq(wakeup_init(&stage->wakeup), 0);
    stage->bootstrap =
        (struct property){CLIENT_ALL, name, (char *)mock_bootstrap(stage->mock), false};
    stage->config = (struct config){.group = group, .kafka = &stage->bootstrap, .kafka_n = 1};
    struct producer_config config = {.config = &stage->config,
                                     .topics = topics,
                                     .slots = SLOTS,
                                     .lanes = LANES,
                                     .dead_letter = "schedule.dead",
                                     .wakeup = &stage->wakeup,
                                     .reported = on_reported,
                                     .landed = on_landed,
                                     .trimmed = on_trimmed,
                                     .transactional_id = "producers",
                                     .committed = on_committed,
                                     .aborted = on_aborted,
                                     .restarted = on_restarted,
                                     .offsets_refused = on_leaders_doubted,
                                     .leaders_doubted = on_leaders_doubted,
                                     .ctx = &stage->heard};
    cr_assert_eq(producer_new(&config, &stage->producer, &error), 0, "%s", error.text);
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

static void serve(struct stage *stage)
{
    wakeup_wait(&stage->wakeup, 0, 10000, nothing, NULL);
    producer_reports(stage->producer);
}

/* Forwards a record in the transaction of the active producer. Returns without its report. */
static void send_hop(struct stage *stage)
{
    static const struct record record = {.value = {(const uint8_t *)"x", 1}};
    static struct parcel_note parcel;
    const struct forward hop = {.kind = FORWARD_LEVEL,
                                .parcel = (struct parcel *)(void *)&parcel,
                                .record = &record,
                                .slot = 1};
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (producer_forward(stage->producer, &hop) != 0 && clock_mono_ms() < until_ms)
        serve(stage);
}

/* Does the same, and waits for the acknowledgement. */
static void forward(struct stage *stage)
{
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    int before = stage->heard.reports;
    send_hop(stage);
    while (stage->heard.reports == before && clock_mono_ms() < until_ms)
        serve(stage);
    cr_assert_eq(stage->heard.reports, before + 1);
    cr_assert_eq(stage->heard.refusals, 0);
}

static void commit(struct stage *stage, uint64_t seq, bool with_offsets)
{
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    rd_kafka_topic_partition_list_t *offsets =
        with_offsets ? rd_kafka_topic_partition_list_new(1) : NULL;
    if (with_offsets)
        rd_kafka_topic_partition_list_add(offsets, topics[0], 0)->offset = (int64_t)seq;
    producer_announce(stage->producer, offsets,
                      with_offsets ? rd_kafka_consumer_group_metadata_new("producers") : NULL);
    producer_finish(stage->producer, seq);
    while (stage->heard.committed != seq && !stage->heard.aborted && clock_mono_ms() < until_ms)
        serve(stage);
}

Test(producer, forwarded_records_are_committed_with_their_offsets)
{
    struct stage stage;
    open_stage(&stage);
    for (uint64_t seq = 1; seq <= 4; seq++) { /* two transactions for each producer */
        forward(&stage);
        commit(&stage, seq, true);
        cr_assert_eq(stage.heard.committed, seq);
    }
    cr_assert_not(stage.heard.aborted);
    close_stage(&stage);
}

/* Without its offsets, for example for lack of memory, a committed transaction would be repeated.
 */
Test(producer, transaction_without_its_offsets_is_aborted)
{
    struct stage stage;
    open_stage(&stage);
    forward(&stage);
    commit(&stage, 1, false);
    cr_assert_eq(stage.heard.committed, 0);
    cr_assert(stage.heard.aborted);
    close_stage(&stage);
}

static void await_restart(struct stage *stage)
{
    producer_abort(stage->producer);
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (!stage->heard.restarted && clock_mono_ms() < until_ms)
        serve(stage);
    cr_assert(stage->heard.restarted);
    stage->heard.aborted = false;
    stage->heard.refusals = 0;
}

Test(producer, new_transaction_begins_after_an_aborted_one)
{
    struct stage stage;
    open_stage(&stage);
    forward(&stage);
    commit(&stage, 1, false);
    await_restart(&stage);
    forward(&stage);
    commit(&stage, 2, true);
    cr_assert_eq(stage.heard.committed, 2);
    close_stage(&stage);
}

/* A request with its offsets failed on the wire, and was sent again. */
Test(producer, client_keeps_the_turn_until_its_late_offsets_are_fenced)
{
    struct stage stage;
    open_stage(&stage);
    forward(&stage);
    enum role role = stage.producer->txn.turn;
    struct producer_turn *turn = producer_turn_of(stage.producer, role);
    atomic_store(&turn->tainted, true);
    atomic_store(&turn->offsets_tainted, true);
    commit(&stage, 1, true);
    cr_assert_eq(stage.heard.committed, 1);
    cr_expect_eq(stage.producer->txn.turn, role);
    forward(&stage);
    cr_expect_eq(stage.producer->txn.turn, role, "no other client sends offsets before it");
    commit(&stage, 2, true);
    cr_assert_eq(stage.heard.committed, 2);
    cr_expect_neq(stage.producer->txn.turn, role);
    close_stage(&stage);
}

/* Brokers cannot complete the last transaction of this client, since a partition lost its leader.
 */
Test(producer, transaction_that_the_coordinator_refuses_is_given_up)
{
    enum { ADD_PARTITIONS = 24, ERRORS_N = 2000 };
    struct stage stage;
    open_stage(&stage);
    mock_fail(stage.mock, ADD_PARTITIONS, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS, ERRORS_N);
    send_hop(&stage);
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (!stage.heard.aborted && clock_mono_ms() < until_ms)
        serve(&stage);
    cr_assert(stage.heard.aborted);
    cr_expect_eq(stage.heard.report, REPORT_NOT_SENT, "neither record nor topic is to blame");
    cr_expect_geq(stage.heard.doubts, 1);
    mock_fail(stage.mock, ADD_PARTITIONS, 0, 0);
    await_restart(&stage);
    forward(&stage);
    commit(&stage, 1, true);
    cr_expect_eq(stage.heard.committed, 1);
    close_stage(&stage);
}
