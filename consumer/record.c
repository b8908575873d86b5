/* SPDX-License-Identifier: Apache-2.0 */
/* Records over librdkafka messages, without copies of their bytes. */
#include "consumer/record.h"

#include <stdlib.h>

/* Memory of a fetched message in the client, in addition to its bytes. The operation that owns it
   takes 320, and a batch adds some bytes to each record. */
enum { FETCHED_OVERHEAD = 352 };

struct kafka_record {
    struct record record;
    rd_kafka_message_t *message; /* owns the bytes; NULL: they follow the struct */
    struct header headers[];
};

static size_t list_headers(rd_kafka_headers_t *from, struct header *to, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const void *value;
        size_t len;
        rd_kafka_header_get_all(from, i, &to[i].name, &value, &len);
        to[i].value = bytes_of(value, len);
        bytes += strlen(to[i].name) + len;
    }
    return bytes;
}

/* Sets *headers, which the message owns, or NULL if it has none. Returns false if the client cannot
   parse them: it refuses more than 100,000 headers. */
static bool parse_headers(const rd_kafka_message_t *message, rd_kafka_headers_t **headers)
{
    *headers = NULL;
    rd_kafka_resp_err_t err = rd_kafka_message_headers(message, headers);
    return err == RD_KAFKA_RESP_ERR_NO_ERROR || err == RD_KAFKA_RESP_ERR__NOENT;
}

struct record *record_of_message(rd_kafka_message_t *message, bool with_headers)
{
    rd_kafka_headers_t *headers = NULL;
    bool unreadable = with_headers && !parse_headers(message, &headers);
    size_t headers_n = headers == NULL ? 0 : rd_kafka_header_cnt(headers);
    struct kafka_record *r = malloc(sizeof *r + headers_n * sizeof *r->headers);
    if (r == NULL)
        return NULL;
    rd_kafka_timestamp_type_t type;
    int64_t timestamp_ms = rd_kafka_message_timestamp(message, &type);
    r->message = message;
    r->record = (struct record){
        .offset = message->offset,
        .timestamp_ms = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp_ms,
        .key = bytes_of(message->key, message->key_len),
        .value = bytes_of(message->payload, message->len),
        .headers = r->headers,
        .headers_n = headers_n,
        .headers_unreadable = unreadable,
        .cost_bytes = message->len + message->key_len,
        .overhead_bytes = sizeof *r + FETCHED_OVERHEAD,
    };
    r->record.cost_bytes += list_headers(headers, r->headers, headers_n);
    return &r->record;
}

static size_t headers_size(const struct record *record)
{
    size_t bytes = 0;
    for (size_t i = 0; i < record->headers_n; i++)
        bytes += strlen(record->headers[i].name) + 1 + record->headers[i].value.len;
    return bytes;
}

/* Copies bytes to *to and advances *to behind them. */
static struct bytes copy(char **to, struct bytes bytes)
{
    if (bytes_is_null(bytes))
        return bytes_null();
    char *at = *to;
    if (bytes.len > 0)
        memcpy(at, bytes.data, bytes.len);
    *to = at + bytes.len;
    return bytes_of(at, bytes.len);
}

static void copy_record(struct kafka_record *to, const struct record *from)
{
    char *at = (char *)(to->headers + from->headers_n);
    to->message = NULL;
    to->record = *from;
    to->record.overhead_bytes = sizeof *to;
    to->record.headers = to->headers;
    for (size_t i = 0; i < from->headers_n; i++) {
        const char *name = from->headers[i].name;
        to->headers[i].name = copy(&at, bytes_of(name, strlen(name) + 1)).data;
        to->headers[i].value = copy(&at, from->headers[i].value);
    }
    to->record.key = copy(&at, from->key);
    to->record.value = copy(&at, from->value);
}

static struct record *copy_of(const struct record *record)
{
    size_t size = sizeof(struct kafka_record) + record->headers_n * sizeof(struct header) +
                  headers_size(record) + record->key.len + record->value.len;
    struct kafka_record *r = malloc(size + 1);
    if (r == NULL)
        return NULL;
    copy_record(r, record);
    return &r->record;
}

struct record *record_keep(struct record *record)
{
    const struct kafka_record *r = (const struct kafka_record *)(const void *)record;
    if (r->message == NULL)
        return record;
    rd_kafka_message_t *message = r->message;
    bool listed = record->headers_n > 0 || record->headers_unreadable;
    struct record *all = listed ? record : record_of_message(message, true);
    struct record *kept = all == NULL ? NULL : copy_of(all);
    if (all != NULL && all != record)
        free(all); /* record still owns the message */
    if (kept != NULL)
        record_release(record);
    return kept;
}

struct record *record_make(struct bytes key, size_t value_size)
{
    struct kafka_record *r = malloc(sizeof *r + key.len + value_size + 1);
    if (r == NULL)
        return NULL;
    char *bytes = (char *)(r + 1);
    if (key.len > 0)
        memcpy(bytes + value_size, key.data, key.len);
    r->message = NULL;
    r->record = (struct record){
        .offset = -1,
        .timestamp_ms = -1,
        .key = key.data == NULL ? bytes_null() : bytes_of(bytes + value_size, key.len),
        .value = bytes_of(bytes, value_size),
        .cost_bytes = key.len + value_size,
        .overhead_bytes = sizeof *r,
    };
    return &r->record;
}

void record_release(struct record *record)
{
    struct kafka_record *r = (struct kafka_record *)(void *)record;
    if (r->message != NULL)
        rd_kafka_message_destroy(r->message);
    free(r);
}
