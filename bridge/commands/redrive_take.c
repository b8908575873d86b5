/* SPDX-License-Identifier: Apache-2.0 */
/* Decides about one dead-lettered record: sends its request again, or lists the reason against it.
 */
#include "bridge/commands/redrive_parts.h"

#include "bridge/base/clock.h"
#include "bridge/commands/result.h"
#include "consumer/record.h"
#include "levels/refusal.h"

#include <inttypes.h>
#include <stdlib.h>

/* One dead-lettered record on its way to the batch. */
struct candidate {
    const struct dead_item *item;
    struct record *dead;       /* owned, until the batch takes it */
    struct record *again;      /* owned, in the same way; NULL: the request was not read again */
    struct dead_record letter; /* points into dead */
};

/* Returns the record with the request's key, value and headers. */
static struct record *request_of(const struct candidate *c)
{
    return c->again != NULL ? c->again : c->dead;
}

static struct redrive_place place_of(const struct dead_item *item)
{
    return (struct redrive_place){item->partition, item->offset};
}

static rd_kafka_headers_t *headers_of(const struct redrive *redrive)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(redrive->headers_n);
    for (size_t i = 0; i < redrive->headers_n; i++)
        rd_kafka_header_add(headers, redrive->headers[i].name, -1, redrive->headers[i].value.data,
                            (ssize_t)redrive->headers[i].value.len);
    return headers;
}

/* Sends a request that the bridge will accept. The batch takes its record. */
static int send_request(struct redriving *r, struct candidate *c, const struct redrive *redrive)
{
    int row = tally_add(&r->view.tally, &c->letter);
    if (row < 0)
        return redrive_out_of_memory(r);
    if (r->view.dry_run)
        return EXIT_DONE;
    struct batch_item item = {.record = request_of(c),
                              .headers = headers_of(redrive),
                              .partition = c->item->partition,
                              .offset = c->item->offset,
                              .row = row,
                              .source_offset = -1};
    (void)dead_record_source(&c->letter, r->cli->config->schedule, &item.source_lane,
                             &item.source_offset);
    batch_add(r->batch, &item);
    *(c->again != NULL ? &c->again : &c->dead) = NULL;
    return EXIT_DONE;
}

/* Checks the new request as the bridge would, and sends it. */
static int judge_and_send(struct redriving *r, struct candidate *c, const struct redrive *redrive)
{
    struct stamp stamp;
    struct refusal refusal;
    int64_t now_wall_ms = clock_wall_ms();
    const struct record request = {.timestamp_ms = now_wall_ms,
                                   .key = request_of(c)->key,
                                   .value = request_of(c)->value,
                                   .headers = redrive->headers,
                                   .headers_n = redrive->headers_n};
    enum code code = request_parse(&r->request_rules, 0, &request, now_wall_ms, &stamp, &refusal);
    if (code == CODE_OK)
        return send_request(r, c, redrive);
    return redrive_view_skip(&r->view, place_of(c->item), SKIP_REFUSED,
                             "it would be refused again: %s: %s", code_name(code), refusal.reason);
}

static int rewrite_and_send(struct redriving *r, struct candidate *c)
{
    const struct record *request = request_of(c);
    struct redrive redrive = {.headers = calloc(request->headers_n + 1, sizeof *redrive.headers)};
    if (redrive.headers == NULL)
        return redrive_out_of_memory(r);
    int code = EXIT_DONE;
    switch (
        redrive_rewrite(&r->rules, request, c->letter.sent_wall_ms, clock_wall_ms(), &redrive)) {
    case REDRIVE_SEND:
        code = judge_and_send(r, c, &redrive);
        break;
    case REDRIVE_EXPIRED:
        code = redrive_view_skip(&r->view, place_of(c->item), SKIP_EXPIRED,
                                 "dlb-expires-at is before its delivery: --drop-expiry sends it");
        break;
    case REDRIVE_UNDATED:
        code = redrive_view_skip(&r->view, place_of(c->item), SKIP_UNDATED,
                                 "it has no dlb-sent-at: --restart-delay sends it");
        break;
    case REDRIVE_CHOOSE:
        redrive_view_clear(&r->view);
        code = complain(r->cli, EXIT_USAGE,
                        "%s/%d/%" PRId64
                        " has a relative delay: pass --keep-due or --restart-delay, the command "
                        "continues there",
                        r->reader.topic, c->item->partition, c->item->offset);
        break;
    }
    free(redrive.headers);
    return code;
}

/* Returns whether the record is the request that was dead-lettered. Another one has its place if
   the schedule topic was created again. */
static bool is_request_of(const struct record *record, const struct candidate *c)
{
    bool same_time = record->timestamp_ms < 0 || c->letter.sent_wall_ms < 0 ||
                     record->timestamp_ms == c->letter.sent_wall_ms;
    bool same_key = bytes_equal(c->letter.truncated, bytes_text("all")) ||
                    bytes_equal(record->key, c->dead->key);
    return same_time && same_key;
}

static int skip_gone(struct redriving *r, const struct candidate *c)
{
    struct refusal sentence;
    refusal_begin(&sentence, CODE_OK);
    refusal_say(&sentence, "it lacks a part, and its request is no longer at ");
    refusal_quote(&sentence, c->letter.source);
    return redrive_view_skip(&r->view, place_of(c->item), SKIP_GONE, "%s", sentence.reason);
}

/* Replaces an incomplete dead letter by the request at its source. Returns EXIT_DONE also if that
   is gone; *gone says so. */
static int read_again(struct redriving *r, struct candidate *c, bool *gone)
{
    int lane;
    int64_t offset;
    struct error error;
    rd_kafka_message_t *message;
    const char *schedule = r->cli->config->schedule;
    *gone = true;
    if (!dead_record_source(&c->letter, schedule, &lane, &offset))
        return skip_gone(r, c);
    int err = spot_read(&r->spot, schedule, lane, offset, &message, &error);
    if (err != 0)
        return redrive_failed(r, err, &error);
    if (message == NULL)
        return skip_gone(r, c);
    struct record *record = record_of_message(message, true);
    if (record == NULL) {
        rd_kafka_message_destroy(message);
        return redrive_out_of_memory(r);
    }
    *gone = !is_request_of(record, c);
    if (*gone) {
        record_release(record);
        return skip_gone(r, c);
    }
    c->again = record;
    return EXIT_DONE;
}

static int take_selected(struct redriving *r, struct candidate *c)
{
    bool gone = false;
    int code = EXIT_DONE;
    if (bytes_equal(c->letter.code, bytes_text(code_name(CODE_UNREADABLE))))
        return redrive_view_skip(&r->view, place_of(c->item), SKIP_UNREADABLE,
                                 "it stands for a batch that could not be read");
    if (bytes_equal(c->letter.code, bytes_text(code_name(CODE_NOT_OURS))))
        return redrive_view_skip(&r->view, place_of(c->item), SKIP_NOT_OURS, "it was no request");
    if (!bytes_is_null(c->letter.truncated))
        code = read_again(r, c, &gone);
    if (code != EXIT_DONE || gone)
        return code;
    if (dead_record_is_operation(request_of(c), r->rules.compat) && !r->with_operations)
        return redrive_view_skip(&r->view, place_of(c->item), SKIP_OPERATION,
                                 "it is a cancel or a replace: --with-cancels sends it");
    return rewrite_and_send(r, c);
}

static int take_record(struct redriving *r, struct candidate *c)
{
    if (!dead_record_read(c->dead, &r->request_rules, &c->letter))
        return redrive_view_skip(&r->view, place_of(c->item), SKIP_FOREIGN,
                                 "the bridge did not write it");
    if (dead_filter_selects(&r->selection.filter, &c->letter))
        return take_selected(r, c);
    r->view.others++;
    return EXIT_DONE;
}

int redrive_take(struct redriving *r, const struct dead_item *item)
{
    struct candidate c = {.item = item, .dead = record_of_message(item->message, true)};
    if (c.dead == NULL) {
        rd_kafka_message_destroy(item->message);
        return redrive_out_of_memory(r);
    }
    int code = take_record(r, &c);
    if (c.dead != NULL)
        record_release(c.dead);
    if (c.again != NULL)
        record_release(c.again);
    return code;
}
