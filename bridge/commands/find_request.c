/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the schedule topic: requests, cancels and replaces, each judged as the bridge does. */
#include "bridge/commands/find_parts.h"
#include "bridge/commands/owned.h"

#include "bridge/config/rules.h"
#include "levels/request.h"

#include <stdio.h>
#include <stdlib.h>

bool find_is_wanted(const struct wanted *wanted, struct bytes id, struct bytes key,
                    struct place source)
{
    if (wanted->by_source &&
        (source.partition != wanted->lane || source.offset != wanted->source_offset))
        return false;
    return (bytes_is_null(wanted->id) || bytes_equal(id, wanted->id)) &&
           (bytes_is_null(wanted->key) || bytes_equal(key, wanted->key));
}

static struct bytes id_of(const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers;
    const void *value;
    size_t len;
    if (rd_kafka_message_headers(message, &headers) != 0 ||
        rd_kafka_header_get_last(headers, "dlb-id", &value, &len) != 0)
        return bytes_null();
    return bytes_of(value, len);
}

/* A request on the schedule topic. */
struct request {
    int lane;
    struct record record;
    bool pending;       /* it is not done */
    bool unread;        /* no later request is done: it may not be read yet */
    struct stamp stamp; /* if it is not refused */
    struct refusal refusal;
};

/* Judges a request as the bridge does, or did: an old one must not be judged by today's clock. */
static void judge(const struct find *find, struct request *request)
{
    static const char *const ANY[] = {"*"};
    const struct config *config = find->cli->config;
    struct request_rules rules = config_rules(config);
    if (config->targets_n == 0)
        rules.allowlist = (struct allowlist){ANY, 1, config->schedule};
    int64_t sent_ms = request->record.timestamp_ms;
    request->refusal.code = request_parse(&rules, (uint32_t)request->lane, &request->record,
                                          request->unread || sent_ms < 0 ? find->now_ms : sent_ms,
                                          &request->stamp, &request->refusal);
}

/* Returns the message as a record, whose headers the caller frees. */
static struct record record_of(const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *from = NULL;
    rd_kafka_timestamp_type_t type;
    int64_t timestamp_ms = rd_kafka_message_timestamp(message, &type);
    rd_kafka_resp_err_t err = rd_kafka_message_headers(message, &from);
    size_t n = err == 0 ? rd_kafka_header_cnt(from) : 0;
    struct header *headers = calloc(n + 1, sizeof *headers);
    n = headers == NULL ? 0 : n;
    for (size_t i = 0; i < n; i++) {
        const void *value;
        size_t len;
        rd_kafka_header_get_all(from, i, &headers[i].name, &value, &len);
        headers[i].value = bytes_of(value, len);
    }
    return (struct record){.offset = message->offset,
                           .timestamp_ms =
                               type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp_ms,
                           .key = bytes_of(message->key, message->key_len),
                           .value = bytes_of(message->payload, message->len),
                           .headers = headers,
                           .headers_n = n,
                           .headers_unreadable = err != 0 && err != RD_KAFKA_RESP_ERR__NOENT};
}

static bool is_known(const struct find *find, int lane, int64_t offset)
{
    for (int i = 0; i < find->known_n; i++)
        if (find->known[i].lane == lane && find->known[i].offset == offset)
            return true;
    return false;
}

static void add_known(struct find *find, const struct request *request)
{
    const struct stamp *stamp = &request->stamp;
    const struct record *record = &request->record;
    pthread_mutex_lock(&find->mutex);
    if (find->known_n < KNOWN_MAX && !is_known(find, request->lane, record->offset)) {
        struct known *known = &find->known[find->known_n++];
        *known = (struct known){.lane = request->lane,
                                .offset = record->offset,
                                .timestamp_ms = record->timestamp_ms,
                                .code = request->refusal.code};
        if (known->code == CODE_OK) {
            known->due_ms = stamp->due_ms;
            (void)owned_copy(stamp->key_overridden ? stamp->key : record->key, &known->key);
            (void)owned_copy(stamp_name(stamp, record->key, &known->kind), &known->name);
            snprintf(known->target, sizeof known->target, "%.*s", (int)stamp->target.len,
                     (const char *)stamp->target.data);
        }
    }
    pthread_mutex_unlock(&find->mutex);
}

/* Adds a request that is not done. */
static bool add_pending(struct find *find, const struct request *request)
{
    struct found found = {.state = FOUND_WAITING,
                          .read = request->unread ? READ_NOT : READ_AND_KEPT,
                          .partition = request->lane,
                          .offset = request->record.offset,
                          .stamped_ms = find->now_ms,
                          .key = request->record.key,
                          .source_lane = request->lane,
                          .source_offset = request->record.offset};
    void *envelope = NULL;
    snprintf(found.topic, sizeof found.topic, "%s", find->cli->config->schedule);
    if (request->refusal.code != CODE_OK) {
        snprintf(found.code, sizeof found.code, "%s", code_name(request->refusal.code));
        snprintf(found.reason, sizeof found.reason, "%s", request->refusal.reason);
    } else {
        size_t size = envelope_enclosed_size(&request->stamp, &request->record);
        envelope = malloc(size);
        if (envelope != NULL)
            envelope_enclose(&request->stamp, &request->record, envelope);
        found.value = bytes_of(envelope, envelope == NULL ? 0 : size);
        found.due_ms = request->stamp.due_ms;
        if (request->unread && found.due_ms - find->now_ms <= find->cli->config->hold_ms)
            found.read = READ_UNKNOWN;
    }
    bool continues = find_add(find, &found);
    free(envelope);
    return continues;
}

/* Reads the cancel or replace into a voider, whose name is borrowed. Returns false if it is
   refused, or a plain request. */
static bool read_voider(const struct request *request, struct voider *voider)
{
    const struct stamp *stamp = &request->stamp;
    if (!request_voids(request->refusal.code, stamp))
        return false;
    *voider =
        (struct voider){.lane = request->lane,
                        .offset = request->record.offset,
                        .timestamp_ms = request->record.timestamp_ms,
                        .op = stamp->op == REQUEST_CANCEL ? CANCEL_OP_CANCEL : CANCEL_OP_REPLACE};
    voider->name = cancel_name(request->record.key, stamp->id, &voider->kind);
    return true;
}

bool find_read_voider(const struct find *find, const rd_kafka_message_t *message,
                      struct voider *voider)
{
    struct request request = {.lane = message->partition, .record = record_of(message)};
    judge(find, &request);
    bool is = read_voider(&request, voider);
    free((void *)request.record.headers);
    return is;
}

static void add_voider(struct find *find, const struct request *request)
{
    struct voider voider;
    if (!read_voider(request, &voider))
        return;
    pthread_mutex_lock(&find->mutex);
    if (find->voiders_n < VOIDERS_MAX) {
        struct voider *kept = &find->voiders[find->voiders_n++];
        *kept = voider;
        (void)owned_copy(voider.name, &kept->name);
    }
    if (request->unread)
        find_note(find, "the %s at %.64s/%d/%lld is not processed yet",
                  voider.op == CANCEL_OP_CANCEL ? "cancel" : "replace", find->cli->config->schedule,
                  voider.lane, (long long)voider.offset);
    pthread_mutex_unlock(&find->mutex);
}

/* Adds what a request with an operation voids. Returns true if it is a cancel, which neither waits
   nor is delivered. */
static bool match_op(struct find *find, const struct request *request)
{
    add_voider(find, request);
    return request->refusal.code == CODE_OK && request->stamp.op == REQUEST_CANCEL;
}

bool find_match_request(struct find *find, const rd_kafka_message_t *message)
{
    struct bytes key = bytes_of(message->key, message->key_len);
    struct bytes id = bytes_is_null(find->wanted.id) ? bytes_null() : id_of(message);
    struct place source = {message->partition, message->offset};
    if (!find_is_wanted(&find->wanted, id, key, source))
        return true;
    const struct window *window = offsets_cell(&find->offsets, message->partition, 0)->window;
    struct request request = {.lane = message->partition, .record = record_of(message)};
    request.pending = message->offset >= window->base && !window_is_done(window, message->offset);
    request.unread = request.pending && message->offset >= window_read_end(window);
    judge(find, &request);
    bool continues = true;
    if (!match_op(find, &request)) {
        add_known(find, &request);
        continues = !request.pending || find->only_requests || add_pending(find, &request);
    }
    free((void *)request.record.headers);
    return continues;
}
