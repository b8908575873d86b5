/* SPDX-License-Identifier: Apache-2.0 */
/* dead_reader and spot: the ends at the start, the progress of a group, and single records. On the
   mock. */
#include "consumer/admin/dead_reader.h"
#include "consumer/client/client.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>

enum { TIMEOUT_MS = 20000, PARTS = 2, EACH = 5 };

static const char *const DEAD = "S.dead-letter";

static rd_kafka_t *producer;
static rd_kafka_mock_cluster_t *mock;
static struct property broker;
static struct config config = {.kafka = &broker, .kafka_n = 1, .group = (char *)"G"};

/* Writes n records into each partition. The value is the partition and a number. */
static void write_records(int n)
{
    for (int i = 0; i < n * PARTS; i++) {
        char value[32];
        int len = snprintf(value, sizeof value, "%d:%d", i % PARTS, i / PARTS);
        cr_assert_eq(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(DEAD),
                                       RD_KAFKA_V_PARTITION(i % PARTS),
                                       RD_KAFKA_V_VALUE(value, (size_t)len),
                                       RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
                     0);
    }
    cr_assert_eq(rd_kafka_flush(producer, TIMEOUT_MS), 0);
}

static void start(void)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    cr_assert_eq(rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", error, sizeof error), 0);
    producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cr_assert_not_null(producer, "%s", error);
    mock = rd_kafka_handle_mock_cluster(producer);
    rd_kafka_mock_topic_create(mock, DEAD, PARTS, 1);
    broker = (struct property){.name = (char *)"bootstrap.servers",
                               .value = (char *)rd_kafka_mock_cluster_bootstraps(mock)};
    write_records(EACH);
}

static void stop(void)
{
    rd_kafka_destroy(producer);
}

TestSuite(dead_reader, .init = start, .fini = stop);

/* Opens a reader. group: NULL, or the group whose progress it resumes. */
static void open_reader(struct dead_reader *reader, struct spot *spot, const char *group)
{
    struct error error = {""};
    *spot = (struct spot){.config = &config, .timeout_ms = TIMEOUT_MS};
    *reader = (struct dead_reader){.spot = spot, .timeout_ms = TIMEOUT_MS};
    snprintf(reader->topic, sizeof reader->topic, "%s", DEAD);
    rd_kafka_conf_t *conf = client_conf(&config, CLIENT_ALL, &error);
    cr_assert_not_null(conf, "%s", error.text);
    dead_reader_conf(&config, group, conf);
    reader->rk = client_new(RD_KAFKA_CONSUMER, conf, &error);
    cr_assert_not_null(reader->rk, "%s", error.text);
    cr_assert_eq(dead_reader_open(reader, group != NULL, &error), 0, "%s", error.text);
}

static void close_reader(struct dead_reader *reader, struct spot *spot)
{
    dead_reader_deinit(reader);
    spot_deinit(spot);
}

/* Reads up to most records. Checks that each partition is read in order. Returns their number;
 *last is the last item. */
static int read_records(struct dead_reader *reader, int most, struct dead_item *last)
{
    int n = 0, result = DEAD_READ_NONE;
    int64_t next[PARTS];
    struct error error;
    struct dead_item item;
    for (int i = 0; i < PARTS; i++)
        next[i] = reader->parts[i].next;
    while (n < most && result != DEAD_READ_END) {
        result = dead_reader_next(reader, 100, &item, &error);
        cr_assert_geq(result, 0, "%s", error.text);
        if (result != DEAD_READ_RECORD)
            continue;
        cr_expect_eq(item.offset, next[item.partition]++);
        rd_kafka_message_destroy(item.message);
        *last = item;
        n++;
    }
    return n;
}

Test(dead_reader, later_records_are_left_for_the_next_run)
{
    struct spot spot;
    struct dead_reader reader;
    struct dead_item last;
    open_reader(&reader, &spot, NULL);
    write_records(3);
    cr_expect_eq(read_records(&reader, 100, &last), PARTS * EACH);
    cr_expect(dead_reader_is_finished(&reader));
    cr_expect_float_eq(dead_reader_share(&reader), 1, 0.001);
    close_reader(&reader, &spot);
}

Test(dead_reader, second_run_continues_behind_the_progress)
{
    struct spot spot;
    struct error error;
    struct dead_reader reader;
    struct dead_item last;
    open_reader(&reader, &spot, "G.redrive.1");
    cr_expect_eq(read_records(&reader, 4, &last), 4);
    dead_reader_return(&reader, &last); /* it is not decided */
    cr_expect_not(dead_reader_is_finished(&reader));
    cr_assert_eq(dead_reader_commit(&reader, &error), 0, "%s", error.text);
    close_reader(&reader, &spot);

    open_reader(&reader, &spot, "G.redrive.1");
    cr_expect_eq(read_records(&reader, 100, &last), PARTS * EACH - 3);
    cr_assert_eq(dead_reader_commit(&reader, &error), 0, "%s", error.text);
    close_reader(&reader, &spot);

    open_reader(&reader, &spot, "G.redrive.1");
    cr_expect_eq(read_records(&reader, 100, &last), 0);
    close_reader(&reader, &spot);

    open_reader(&reader, &spot, "G.redrive.2");
    cr_expect_eq(read_records(&reader, 100, &last), PARTS * EACH);
    close_reader(&reader, &spot);
}

Test(dead_reader, progress_beyond_the_end_starts_at_the_beginning)
{
    struct spot spot;
    struct error error;
    struct dead_reader reader;
    struct dead_item last;
    open_reader(&reader, &spot, "G.redrive.1");
    reader.parts[0].next = reader.parts[1].next = 1000;
    cr_assert_eq(dead_reader_commit(&reader, &error), 0, "%s", error.text);
    close_reader(&reader, &spot);
    open_reader(&reader, &spot, "G.redrive.1");
    cr_expect_eq(read_records(&reader, 100, &last), PARTS * EACH);
    close_reader(&reader, &spot);
}

Test(dead_reader, missing_topic_is_an_error)
{
    struct error error = {""};
    struct spot spot = {.config = &config, .timeout_ms = TIMEOUT_MS};
    struct dead_reader reader = {.spot = &spot, .timeout_ms = TIMEOUT_MS, .topic = "missing"};
    rd_kafka_conf_t *conf = client_conf(&config, CLIENT_ALL, &error);
    dead_reader_conf(&config, NULL, conf);
    reader.rk = client_new(RD_KAFKA_CONSUMER, conf, &error);
    cr_expect_eq(dead_reader_open(&reader, false, &error), ERR_CONFIG);
    cr_expect_not_null(strstr(error.text, "missing"));
    close_reader(&reader, &spot);
}

Test(dead_reader, spot_reads_one_record_or_reports_its_absence)
{
    struct error error = {""};
    rd_kafka_message_t *message;
    struct spot spot = {.config = &config, .timeout_ms = TIMEOUT_MS};
    for (int64_t offset = EACH - 1; offset >= 0; offset -= 2) {
        char want[32];
        int len = snprintf(want, sizeof want, "1:%lld", (long long)offset);
        cr_assert_eq(spot_read(&spot, DEAD, 1, offset, &message, &error), 0, "%s", error.text);
        cr_assert_not_null(message);
        cr_expect(message->len == (size_t)len && memcmp(message->payload, want, (size_t)len) == 0);
        rd_kafka_message_destroy(message);
    }
    cr_assert_eq(spot_read(&spot, DEAD, 1, EACH, &message, &error), 0, "%s", error.text);
    cr_expect_null(message, "behind the end");
    cr_assert_eq(spot_read(&spot, DEAD, 1, EACH + 100, &message, &error), 0, "%s", error.text);
    cr_expect_null(message, "beyond the end");
    spot_deinit(&spot);
}

/* Answers the next three requests of a kind as a broker does that is no longer the coordinator. */
static void move_coordinator(int16_t request)
{
    rd_kafka_mock_push_request_errors(mock, request, 3, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
                                      RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
                                      RD_KAFKA_RESP_ERR_NOT_COORDINATOR);
}

Test(dead_reader, progress_is_read_and_kept_while_the_coordinator_moves)
{
    enum { OFFSET_COMMIT = 8, OFFSET_FETCH = 9 };
    struct dead_reader reader;
    struct spot spot;
    struct dead_item last;
    struct error error = {""};
    move_coordinator(OFFSET_FETCH);
    open_reader(&reader, &spot, "moving");
    cr_assert_eq(read_records(&reader, EACH * PARTS, &last), EACH * PARTS);
    move_coordinator(OFFSET_COMMIT);
    cr_expect_eq(dead_reader_commit(&reader, &error), 0, "%s", error.text);
    close_reader(&reader, &spot);

    move_coordinator(OFFSET_FETCH);
    open_reader(&reader, &spot, "moving");
    cr_expect(dead_reader_is_finished(&reader));
    close_reader(&reader, &spot);
}
