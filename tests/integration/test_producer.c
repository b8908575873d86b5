/* SPDX-License-Identifier: Apache-2.0 */
/* producer with a transactional id: the orders to its clients, and the facts that follow. The
   mock's topics keep aborted records, so the tests check only reports and facts. */
#include "bridge/base/clock.h"
#include "consumer/client/client.h"
#include "consumer/client/mock.h"
#include "consumer/producer_parts.h"

#include <criterion/criterion.h>

enum { TIMEOUT_MS = 20000, LANES = 1, SLOTS = 2 };
enum { PRODUCE = 0, ADD_PARTITIONS = 24 }; /* requests of the protocol */

static const char *const topics[SLOTS] = {"schedule", "schedule.1s"};

struct heard {
    int reports, refusals;
    enum report report;                    /* the last one */
    int facts[CLIENT_AWAY + 1];            /* by event */
    struct client_fact ended[TXN_CLIENTS]; /* the last one of each client */
    enum blame blame;                      /* of the last CLIENT_FAILED */
    int failed_reports;                    /* the reports before it */
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

static void on_fact(void *ctx, const struct client_fact *fact)
{
    struct heard *heard = ctx;
    heard->facts[fact->event]++;
    if (fact->event == CLIENT_ENDED)
        heard->ended[fact->client] = *fact;
    if (fact->event == CLIENT_FAILED) {
        heard->blame = fact->blame;
        heard->failed_reports = heard->reports;
    }
}

static void on_offsets_refused(void *ctx)
{
    (void)ctx;
    cr_assert_fail();
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

/* Waits for the end of a call. */
static void await_end(struct stage *stage, int client, enum client_call call)
{
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    struct client_fact *ended = &stage->heard.ended[client];
    while (ended->call != call && clock_mono_ms() < until_ms)
        serve(stage);
    cr_assert_eq(ended->call, call);
    cr_assert(ended->ok);
    ended->call = CALL_NONE;
}

static void await_fact(struct stage *stage, enum client_event event)
{
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (stage->heard.facts[event] == 0 && clock_mono_ms() < until_ms)
        serve(stage);
    cr_assert_gt(stage->heard.facts[event], 0);
}

static void renew(struct stage *stage, int client)
{
    producer_renew(stage->producer, client, false);
    await_end(stage, client, CALL_INIT);
    stage->heard.refusals = 0;
    memset(stage->heard.facts, 0, sizeof stage->heard.facts);
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
                                     .fact = on_fact,
                                     .offsets_refused = on_offsets_refused,
                                     .ctx = &stage->heard};
    cr_assert_eq(producer_new(&config, &stage->producer, &error), 0, "%s", error.text);
    renew(stage, 0);
}

static void close_stage(struct stage *stage)
{
    cr_expect(producer_free(stage->producer));
    wakeup_deinit(&stage->wakeup);
    mock_stop(stage->mock);
}

/* Forwards a record. Returns without its report. */
static int send_hop(struct stage *stage, int client)
{
    static const struct record record = {.value = {(const uint8_t *)"x", 1}};
    static struct parcel_note parcel;
    const struct forward hop = {.kind = FORWARD_LEVEL,
                                .parcel = (struct parcel *)(void *)&parcel,
                                .record = &record,
                                .slot = 1,
                                .client = client};
    return producer_forward(stage->producer, &hop);
}

static void await_report(struct stage *stage, int before)
{
    int64_t until_ms = clock_mono_ms() + TIMEOUT_MS;
    while (stage->heard.reports == before && clock_mono_ms() < until_ms)
        serve(stage);
    cr_assert_eq(stage->heard.reports, before + 1);
}

/* Begins a transaction with one record, and waits for its acknowledgement. */
static void begin(struct stage *stage, int client)
{
    int before = stage->heard.reports;
    cr_assert_eq(producer_begin(stage->producer, client), 0);
    cr_assert_eq(send_hop(stage, client), 0);
    await_report(stage, before);
    cr_assert_eq(stage->heard.refusals, 0);
}

static const struct client_fact *commit(struct stage *stage, int client, int64_t offset)
{
    rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(offsets, topics[0], 0)->offset = offset;
    producer_send_offsets(stage->producer, client, offsets,
                          rd_kafka_consumer_group_metadata_new("producers"));
    await_end(stage, client, CALL_SEND_OFFSETS);
    producer_commit(stage->producer, client);
    await_end(stage, client, CALL_COMMIT);
    return &stage->heard.ended[client];
}

Test(producer, forwarded_records_are_committed_with_their_offsets)
{
    struct stage stage;
    open_stage(&stage);
    renew(&stage, 1);
    for (int n = 0; n < 4; n++) { /* two transactions for each client */
        begin(&stage, n % 2);
        const struct client_fact *ended = commit(&stage, n % 2, n);
        cr_expect_not(ended->may_arrive || ended->offsets_may_arrive);
    }
    cr_expect_eq(stage.heard.facts[CLIENT_FAILED], 0);
    cr_expect_eq(stage.heard.facts[CLIENT_PRODUCED], 4);
    cr_expect_geq(stage.heard.facts[CLIENT_REGISTERED], 1);
    close_stage(&stage);
}

/* It has no handle yet, and two have. */
Test(producer, client_that_was_never_used_is_created)
{
    struct stage stage;
    open_stage(&stage);
    producer_renew(stage.producer, 2, false);
    cr_expect_eq(stage.heard.ended[2].call, CALL_NONE, "no fact arrives inside its order");
    await_end(&stage, 2, CALL_INIT);
    begin(&stage, 2);
    (void)commit(&stage, 2, 1);
    close_stage(&stage);
}

Test(producer, new_transaction_begins_after_one_that_was_given_up)
{
    struct stage stage;
    open_stage(&stage);
    begin(&stage, 0);
    producer_purge_client(stage.producer, 0);
    cr_expect_eq(stage.heard.facts[CLIENT_PURGED], 0, "no fact arrives inside its order");
    await_fact(&stage, CLIENT_PURGED);
    renew(&stage, 0);
    begin(&stage, 0);
    (void)commit(&stage, 0, 2);
    close_stage(&stage);
}

/* A request with its offsets failed on the wire, and was sent again. */
Test(producer, late_request_may_arrive_until_the_client_is_replaced)
{
    struct stage stage;
    open_stage(&stage);
    begin(&stage, 0);
    atomic_store(&stage.producer->txn[0].tainted, true);
    atomic_store(&stage.producer->txn[0].offsets_tainted, true);
    const struct client_fact *ended = commit(&stage, 0, 1);
    cr_expect(ended->may_arrive);
    cr_expect(ended->offsets_may_arrive);
    renew(&stage, 0);
    begin(&stage, 0);
    ended = commit(&stage, 0, 2);
    cr_expect_not(ended->may_arrive || ended->offsets_may_arrive);
    close_stage(&stage);
}

Test(producer, failure_of_a_record_comes_before_its_report_and_blames_it)
{
    struct stage stage;
    open_stage(&stage);
    mock_fail(stage.mock, PRODUCE, RD_KAFKA_RESP_ERR_INVALID_RECORD, 1);
    cr_assert_eq(producer_begin(stage.producer, 0), 0);
    cr_assert_eq(send_hop(&stage, 0), 0);
    await_report(&stage, 0);
    cr_expect_eq(stage.heard.report, REPORT_UNFIT);
    cr_expect_eq(stage.heard.facts[CLIENT_FAILED], 1);
    cr_expect_eq(stage.heard.failed_reports, 0);
    cr_expect_eq(stage.heard.blame, BLAME_RECORDS);
    close_stage(&stage);
}

/* The worker must not wait for 0 ms meanwhile. */
Test(producer, broken_client_accepts_no_record_until_it_is_purged)
{
    struct stage stage;
    open_stage(&stage);
    mock_fail(stage.mock, PRODUCE, RD_KAFKA_RESP_ERR_INVALID_RECORD, 1);
    cr_assert_eq(producer_begin(stage.producer, 0), 0);
    cr_assert_eq(send_hop(&stage, 0), 0);
    await_report(&stage, 0);
    cr_assert_eq(send_hop(&stage, 0), 0, "it is held");
    producer_reports(stage.producer);
    cr_expect_eq(producer_wait_ms(stage.producer), INT64_MAX);
    cr_expect_eq(send_hop(&stage, 0), ERR_FULL);
    producer_reports(stage.producer);
    cr_expect_eq(stage.heard.facts[CLIENT_FAILED], 2);
    cr_expect_eq(stage.heard.blame, BLAME_NOBODY, "the client names no cause");
    producer_purge_client(stage.producer, 0);
    await_fact(&stage, CLIENT_PURGED);
    cr_expect_eq(stage.heard.reports, 2);
    renew(&stage, 0);
    begin(&stage, 0);
    (void)commit(&stage, 0, 1);
    close_stage(&stage);
}

/* Brokers cannot complete the last transaction of this client, since a partition lost its leader.
 */
Test(producer, coordinator_that_refuses_a_transaction_is_heard)
{
    enum { ERRORS_N = 2000 };
    struct stage stage;
    open_stage(&stage);
    mock_fail(stage.mock, ADD_PARTITIONS, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS, ERRORS_N);
    cr_assert_eq(producer_begin(stage.producer, 0), 0);
    cr_assert_eq(send_hop(&stage, 0), 0);
    await_fact(&stage, CLIENT_REGISTERED);
    cr_expect_eq(stage.heard.facts[CLIENT_PRODUCED], 0);
    producer_purge_client(stage.producer, 0);
    await_fact(&stage, CLIENT_PURGED);
    cr_expect_eq(stage.heard.reports, 1);
    cr_expect_eq(stage.heard.report, REPORT_NOT_SENT, "neither record nor topic is to blame");
    mock_fail(stage.mock, ADD_PARTITIONS, 0, 0);
    renew(&stage, 0);
    begin(&stage, 0);
    (void)commit(&stage, 0, 1);
    close_stage(&stage);
}
