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
    bool aborted, restarted, apart_restarted;
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

static void on_apart_restarted(void *ctx)
{
    ((struct heard *)ctx)->apart_restarted = true;
}

static void on_leaders_doubted(void *ctx)
{
    ((struct heard *)ctx)->doubts++;
}

/* id_lasts: as with group.instance.id. */
static void open_stage_of(struct stage *stage, bool id_lasts)
{
    static char group[] = "producers", name[] = "bootstrap.servers";
    struct error error;
    *stage = (struct stage){.mock = mock_start(&error)};
    cr_assert_not_null(stage->mock, "%s", error.text);
    for (int slot = 0; slot < SLOTS; slot++)
        cr_assert_eq(mock_topic(stage->mock, topics[slot], LANES), 0);
    cr_assert_eq(mock_topic(stage->mock, "orders", 1), 0);
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
                                     .id_lasts = id_lasts,
                                     .committed = on_committed,
                                     .aborted = on_aborted,
                                     .restarted = on_restarted,
                                     .offsets_refused = on_leaders_doubted,
                                     .leaders_doubted = on_leaders_doubted,
                                     .apart_restarted = on_apart_restarted,
                                     .ctx = &stage->heard};
    cr_assert_eq(producer_new(&config, &stage->producer, &error), 0, "%s", error.text);
}

static void open_stage(struct stage *stage)
{
    open_stage_of(stage, false);
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

/* Forwards a record in the transaction of the active producer, and waits for its
   acknowledgement. */
static void forward(struct stage *stage)
{
    static const struct record record = {.value = {(const uint8_t *)"x", 1}};
    static struct parcel_note parcel;
    const struct forward hop = {.kind = FORWARD_LEVEL,
                                .parcel = (struct parcel *)(void *)&parcel,
                                .record = &record,
                                .slot = 1};
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    int before = stage->heard.reports;
    while (producer_forward(stage->producer, &hop) != 0 && clock_mono_ms() < until_ms)
        serve(stage);
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

Test(producer, new_transaction_begins_after_an_aborted_one)
{
    struct stage stage;
    open_stage(&stage);
    forward(&stage);
    commit(&stage, 1, false);
    producer_abort(stage.producer);
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (!stage.heard.restarted && clock_mono_ms() < until_ms)
        serve(&stage);
    cr_assert(stage.heard.restarted);
    stage.heard.aborted = false;
    forward(&stage);
    commit(&stage, 2, true);
    cr_assert_eq(stage.heard.committed, 2);
    close_stage(&stage);
}

/* Forwards a record of a slow target. Returns without its report. */
static void forward_apart(struct stage *stage)
{
    static struct target_id target = {.name = "orders"};
    static const struct record record = {.value = {(const uint8_t *)"x", 1}};
    static struct parcel_note parcel;
    struct envelope env = {.stamp = {.target = {"orders", 6}, .expires_ms = STAMP_NEVER},
                           .value = {"x", 1}};
    const struct forward delivery = {.kind = FORWARD_TARGET,
                                     .parcel = (struct parcel *)(void *)&parcel,
                                     .record = &record,
                                     .env = &env,
                                     .target = &target,
                                     .apart = true};
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    target.handle = NULL; /* of the producer of an earlier test */
    (void)producer_lookup(stage->producer, &target);
    while (producer_forward(stage->producer, &delivery) != 0 && clock_mono_ms() < until_ms)
        serve(stage);
}

static void await_reports(struct stage *stage, int n)
{
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (stage->heard.reports < n && clock_mono_ms() < until_ms)
        serve(stage);
    cr_assert_eq(stage->heard.reports, n);
}

/* Begins a transaction apart, whose record is acknowledged. */
static void complete_apart(struct stage *stage)
{
    int before = stage->heard.reports;
    forward_apart(stage);
    await_reports(stage, before + 1);
    cr_assert_eq(stage->heard.report, REPORT_OK);
}

static void await_spare(struct stage *stage)
{
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (!producer_has_spare(stage->producer) && clock_mono_ms() < until_ms)
        serve(stage);
    cr_assert(producer_has_spare(stage->producer));
}

Test(producer, transaction_apart_is_open_while_others_begin_and_end)
{
    struct stage stage;
    open_stage(&stage);
    complete_apart(&stage);
    for (uint64_t seq = 1; seq <= 2; seq++) {
        forward(&stage);
        commit(&stage, seq, true);
    }
    cr_assert(producer_enter_apart(stage.producer));
    commit(&stage, 3, true);
    cr_assert_eq(stage.heard.committed, 3);
    cr_expect_neq(stage.producer->txn.turn, APART);
    forward(&stage);
    commit(&stage, 4, true);
    cr_assert_eq(stage.heard.committed, 4);
    close_stage(&stage);
}

Test(producer, client_that_is_open_without_a_record_continues_after_the_turn_of_slow_targets)
{
    struct stage stage;
    open_stage(&stage);
    complete_apart(&stage);
    await_spare(&stage);
    cr_assert_eq(producer_txn_enter(stage.producer), 0, "its first record was not accepted");
    enum role role = stage.producer->txn.turn;
    cr_assert(producer_enter_apart(stage.producer));
    commit(&stage, 1, true);
    cr_assert_eq(stage.heard.committed, 1);
    cr_expect_eq(stage.producer->txn.turn, role);
    for (uint64_t seq = 2; seq <= 4; seq++) {
        forward(&stage);
        commit(&stage, seq, true);
    }
    await_spare(&stage);
    close_stage(&stage);
}

Test(producer, slow_targets_get_no_turn_while_older_offsets_may_arrive)
{
    struct stage stage;
    open_stage(&stage);
    complete_apart(&stage);
    stage.producer->txn.stays = true; /* of the client whose turn it is */
    cr_expect_not(producer_enter_apart(stage.producer));
    commit(&stage, 1, true);
    cr_expect(producer_enter_apart(stage.producer));
    commit(&stage, 2, true);
    cr_assert_eq(stage.heard.committed, 2);
    close_stage(&stage);
}

Test(producer, slow_targets_get_no_turn_after_a_failure_of_the_other_client)
{
    struct stage stage;
    open_stage(&stage);
    complete_apart(&stage);
    stage.producer->txn.failing = true;
    cr_expect_not(producer_enter_apart(stage.producer));
    close_stage(&stage);
}

/* A request with its offsets failed on the wire, and was sent again. */
Test(producer, client_of_slow_targets_keeps_the_turn_until_its_late_offsets_are_fenced)
{
    struct stage stage;
    open_stage(&stage);
    complete_apart(&stage);
    cr_assert(producer_enter_apart(stage.producer));
    struct producer_turn *turn = producer_turn_of(stage.producer, APART);
    atomic_store(&turn->tainted, true);
    atomic_store(&turn->offsets_tainted, true);
    commit(&stage, 1, true);
    cr_assert_eq(stage.heard.committed, 1);
    cr_expect_eq(stage.producer->txn.turn, APART);
    forward(&stage);
    cr_expect_eq(stage.producer->txn.turn, APART, "no other client sends offsets before it");
    commit(&stage, 2, true);
    cr_assert_eq(stage.heard.committed, 2);
    cr_expect_neq(stage.producer->txn.turn, APART);
    close_stage(&stage);
}

static void give_up_apart(struct stage *stage)
{
    producer_abort_apart(stage->producer);
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (!stage->heard.apart_restarted && clock_mono_ms() < until_ms)
        serve(stage);
    cr_assert(stage->heard.apart_restarted);
}

Test(producer, failed_client_of_slow_targets_blames_no_record)
{
    struct stage stage;
    open_stage(&stage);
    complete_apart(&stage);
    rd_kafka_error_t *error =
        rd_kafka_abort_transaction(stage.producer->clients[APART].rk, TIMEOUT_MS);
    cr_assert_null(error, "it has no transaction any more, so it accepts no record");
    forward_apart(&stage);
    await_reports(&stage, 2);
    cr_expect_eq(stage.heard.report, REPORT_NOT_SENT);
    give_up_apart(&stage);
    complete_apart(&stage);
    close_stage(&stage);
}

static enum txn_phase phase_apart(const struct stage *stage)
{
    return producer_turn_of(stage->producer, APART)->phase;
}

/* A process that was killed in the turn of slow targets left offsets. Kafka returns no committed
   offsets of these lanes before the next process initializes the same id. */
Test(producer, client_of_slow_targets_is_initialized_at_the_start_if_its_id_lasts)
{
    struct stage stage;
    open_stage_of(&stage, true);
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (phase_apart(&stage) == PHASE_STARTING && clock_mono_ms() < until_ms)
        serve(&stage);
    cr_expect_eq(phase_apart(&stage), PHASE_READY);
    close_stage(&stage);
}

Test(producer, client_of_slow_targets_is_started_when_it_is_first_needed_otherwise)
{
    struct stage stage;
    open_stage(&stage);
    await_spare(&stage);
    cr_expect_eq(phase_apart(&stage), PHASE_OFF);
    cr_expect_not(producer_apart_is_ready(stage.producer));
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (!producer_apart_is_ready(stage.producer) && clock_mono_ms() < until_ms)
        serve(&stage);
    cr_expect_eq(phase_apart(&stage), PHASE_READY);
    complete_apart(&stage);
    cr_expect_eq(phase_apart(&stage), PHASE_OPEN);
    cr_expect(producer_apart_is_ready(stage.producer));
    close_stage(&stage);
}

/* Brokers cannot complete its last transaction, since a partition lost its leader. */
Test(producer, transaction_apart_that_the_coordinator_refuses_is_given_up)
{
    enum { INIT = 22, ADD_PARTITIONS = 24, ERRORS_N = 2000 };
    struct stage stage;
    open_stage(&stage);
    await_spare(&stage);
    mock_fail(stage.mock, ADD_PARTITIONS, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS, ERRORS_N);
    forward_apart(&stage);
    await_reports(&stage, 1);
    cr_expect_eq(stage.heard.report, REPORT_NOT_SENT, "neither record nor target is to blame");
    cr_expect_geq(stage.heard.doubts, 1);
    mock_fail(stage.mock, ADD_PARTITIONS, 0, 0);
    stage.heard.refusals = 0;
    mock_fail(stage.mock, INIT, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS, ERRORS_N);
    give_up_apart(&stage);
    forward(&stage);
    commit(&stage, 1, true);
    cr_expect_eq(stage.heard.committed, 1);
    cr_expect_not(producer_apart_is_ready(stage.producer));
    mock_fail(stage.mock, INIT, 0, 0);
    complete_apart(&stage);
    close_stage(&stage);
}
