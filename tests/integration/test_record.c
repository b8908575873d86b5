/* SPDX-License-Identifier: Apache-2.0 */
/* record: which headers of a fetched message are listed, and what of it a dead letter keeps. On the
   mock, which stores any number of headers. */
#include "consumer/message.h"
#include "consumer/record.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>

enum { TIMEOUT_MS = 20000, CLIENT_HEADERS_MAX = 100000, TINY = 3 };

static const char *const TOPICS[] = {"many"};

static rd_kafka_headers_t *tiny_headers(size_t n)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(n);
    for (size_t i = 0; i < n; i++)
        rd_kafka_header_add(headers, "h", -1, "v", 1);
    return headers;
}

static void write_record(rd_kafka_t *producer, size_t headers_n)
{
    rd_kafka_headers_t *headers = headers_n > 0 ? tiny_headers(headers_n) : NULL;
    rd_kafka_resp_err_t err =
        headers != NULL
            ? rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("many"), RD_KAFKA_V_PARTITION(0),
                                RD_KAFKA_V_KEY("key", 3), RD_KAFKA_V_VALUE("value", 5),
                                RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END)
            : rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("many"), RD_KAFKA_V_PARTITION(0),
                                RD_KAFKA_V_KEY("key", 3), RD_KAFKA_V_VALUE("value", 5),
                                RD_KAFKA_V_END);
    cr_assert_eq(err, RD_KAFKA_RESP_ERR_NO_ERROR, "%s", rd_kafka_err2str(err));
    cr_assert_eq(rd_kafka_flush(producer, TIMEOUT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static rd_kafka_t *client(rd_kafka_type_t type, const char *brokers)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (brokers == NULL)
        rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", error, sizeof error);
    else
        rd_kafka_conf_set(conf, "bootstrap.servers", brokers, error, sizeof error);
    rd_kafka_conf_set(conf, "group.id", "record", error, sizeof error);
    rd_kafka_conf_set(conf, "message.max.bytes", "4000000", error, sizeof error);
    rd_kafka_t *rk = rd_kafka_new(type, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    return rk;
}

static struct record *read_record(rd_kafka_t *consumer)
{
    rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, TIMEOUT_MS);
    cr_assert_not_null(message);
    cr_assert_eq(message->err, 0, "%s", rd_kafka_err2str(message->err));
    struct record *record = record_of_message(message, true);
    cr_assert_not_null(record);
    return record;
}

static void expect_letter(const struct record *record)
{
    static const struct refusal refusal = {CODE_BAD_HEADER, "they cannot be parsed"};
    struct forward f = {.kind = FORWARD_DEAD, .record = record, .refusal = &refusal};
    struct message m = message_of(&f, TOPICS);
    cr_expect(bytes_equal(m.key, bytes_text("key")));
    cr_expect(bytes_equal(m.value, bytes_text("value")));
    rd_kafka_headers_destroy(m.headers);
}

/* Checks that a copy outside its batch is the same record, also if it was read without headers. */
static void expect_kept(rd_kafka_t *consumer, size_t headers_n, bool with_headers)
{
    rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, TIMEOUT_MS);
    cr_assert(message != NULL && message->err == 0);
    int64_t offset = message->offset, timestamp_ms = rd_kafka_message_timestamp(message, NULL);
    struct record *fetched = record_of_message(message, with_headers);
    cr_assert_not_null(fetched);
    size_t fetched_bytes = fetched->overhead_bytes;
    struct record *kept = record_keep(fetched);
    cr_assert_not_null(kept);
    cr_expect_gt(kept->overhead_bytes, 0);
    cr_expect_gt(fetched_bytes, kept->overhead_bytes, "the client keeps no message of a copy");
    cr_expect(kept->offset == offset && kept->timestamp_ms == timestamp_ms);
    cr_expect_eq(kept->headers_n, headers_n);
    cr_expect_eq(kept->cost_bytes, 8 + 2 * headers_n);
    for (size_t i = 0; i < kept->headers_n; i++) {
        cr_assert_str_eq(kept->headers[i].name, "h");
        cr_assert(bytes_equal(kept->headers[i].value, bytes_text("v")));
    }
    expect_letter(kept);
    cr_expect_eq(record_keep(kept), kept);
    record_release(kept);
}

static void expect_headers(rd_kafka_t *consumer, size_t headers_n, bool readable)
{
    struct record *record = read_record(consumer);
    cr_expect_eq(record->headers_n, readable ? headers_n : 0, "of %zu: %zu", headers_n,
                 record->headers_n);
    cr_expect_eq(record->headers_unreadable, !readable, "of %zu", headers_n);
    if (!readable)
        expect_letter(record);
    record_release(record);
}

Test(record, unparsable_headers_are_distinguished_from_none)
{
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, NULL);
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(producer);
    rd_kafka_mock_topic_create(mock, "many", 1, 1);
    write_record(producer, CLIENT_HEADERS_MAX + 1);
    write_record(producer, 0);
    write_record(producer, TINY);
    write_record(producer, CLIENT_HEADERS_MAX);
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, rd_kafka_mock_cluster_bootstraps(mock));
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(all, "many", 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
    cr_assert_eq(rd_kafka_assign(consumer, all), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_topic_partition_list_destroy(all);
    expect_headers(consumer, CLIENT_HEADERS_MAX + 1, false);
    expect_headers(consumer, 0, true);
    expect_headers(consumer, TINY, true);
    expect_headers(consumer, CLIENT_HEADERS_MAX, true);
    write_record(producer, TINY);
    write_record(producer, TINY);
    write_record(producer, 0);
    expect_kept(consumer, TINY, true);
    expect_kept(consumer, TINY, false);
    expect_kept(consumer, 0, true);
    rd_kafka_destroy(consumer);
    rd_kafka_destroy(producer);
}
