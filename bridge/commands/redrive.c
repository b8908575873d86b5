/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge redrive: sends dead-lettered requests again. */
#include "levels/redrive.h"
#include "bridge/base/clock.h"
#include "bridge/commands/batch.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/redrive_view.h"
#include "bridge/commands/result.h"
#include "bridge/commands/selection.h"
#include "consumer/record.h"
#include "levels/refusal.h"
#include "levels/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { POLL_MS = 100, BATCH_POLL_MS = 20, GROUP_MAX = 600 };

struct redriving {
    const struct cli *cli;
    struct selection selection;
    struct redrive_rules rules;
    struct request_rules request_rules;
    struct dead_reader reader;
    struct spot spot;
    struct batch *batch;
    struct redrive_view view;
    int64_t limit; /* 0: none */
    double per_s;  /* 0: no limit */
    int64_t since_mono_ms;
    char group[GROUP_MAX];
    bool with_operations;
    bool broken;   /* a record was not stored, or the progress was not committed */
    bool complete; /* every record up to the ends was read */
};

/* One dead-lettered record on its way to the batch. */
struct candidate {
    const struct dead_event *event;
    struct record *dead;       /* owned, until the batch takes it */
    struct record *again;      /* owned, in the same way; NULL: the request was not read again */
    struct dead_record letter; /* points into dead */
};

/* Returns the record with the request's key, value and headers. */
static struct record *request_of(const struct candidate *c)
{
    return c->again != NULL ? c->again : c->dead;
}

static struct redrive_place place_of(const struct dead_event *event)
{
    return (struct redrive_place){event->partition, event->offset};
}

static int out_of_memory(const struct redriving *r)
{
    return complain(r->cli, EXIT_INTERNAL, "out of memory");
}

/* Returns the exit code of an error of Kafka. After a part was sent, the command can be repeated.
 */
static int fail(const struct redriving *r, int code, const struct error *error)
{
    redrive_view_clear(&r->view);
    if (code != EXIT_UNREACHABLE || r->view.tally.n == 0 || r->view.dry_run)
        return complain(r->cli, code, "%s", error->text);
    return complain(r->cli, EXIT_PARTIAL, "%s: run the command again, it continues", error->text);
}

static int fail_by(const struct redriving *r, int err, const struct error *error)
{
    return fail(r,
                err == ERR_CONFIG      ? EXIT_CONFIG
                : err == ERR_NO_MEMORY ? EXIT_INTERNAL
                                       : EXIT_UNREACHABLE,
                error);
}

/* Judges the reports of the batch. Returns EXIT_DONE if each record is stored or skipped. */
static int judge_reports(struct redriving *r)
{
    struct error error;
    int code = EXIT_DONE;
    for (int i = 0; i < r->batch->items_n; i++) {
        const struct batch_item *item = &r->batch->items[i];
        const struct redrive_place place = {item->partition, item->offset};
        if (item->err == RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        tally_remove(&r->view.tally, item->row);
        if (batch_is_refusal(item->err))
            redrive_view_skip(&r->view, place, SKIP_TOO_LARGE, "the schedule topic refuses it: %s",
                              rd_kafka_err2str(item->err));
        else if (code == EXIT_DONE)
            code = connect_exit_of(r->batch->rk, item->err, &error);
    }
    return code == EXIT_DONE ? EXIT_DONE : fail(r, code, &error);
}

/* Waits for the acknowledgements of the batch and commits the progress. Every record that was read
   must be in the batch or decided. After a failure, no progress is committed any more. */
static int end_batch(struct redriving *r)
{
    struct error error;
    if (r->view.dry_run || r->broken)
        return EXIT_DONE;
    batch_await(r->batch);
    int code = judge_reports(r);
    batch_clear(r->batch);
    int err = code == EXIT_DONE ? dead_reader_commit(&r->reader, &error) : 0;
    if (err != 0)
        code = fail_by(r, err, &error);
    r->broken = code != EXIT_DONE;
    redrive_view_draw(&r->view, dead_reader_share(&r->reader));
    return code;
}

/* Waits until --rate allows another record. Called between records: it commits the progress first,
   so that none waits. */
static int await_rate(struct redriving *r)
{
    if (r->per_s <= 0 || r->view.dry_run)
        return EXIT_DONE;
    int64_t at_mono_ms = r->since_mono_ms + (int64_t)((double)r->view.tally.n * 1000 / r->per_s);
    int code = clock_mono_ms() < at_mono_ms ? end_batch(r) : EXIT_DONE;
    int64_t left_ms;
    while (code == EXIT_DONE && (left_ms = at_mono_ms - clock_mono_ms()) > 0) {
        rd_kafka_poll(r->batch->rk, left_ms < POLL_MS ? (int)left_ms : POLL_MS);
        redrive_view_draw(&r->view, dead_reader_share(&r->reader));
    }
    return code;
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
        return out_of_memory(r);
    if (r->view.dry_run)
        return EXIT_DONE;
    batch_add(r->batch, &(struct batch_item){.record = request_of(c),
                                             .headers = headers_of(redrive),
                                             .partition = c->event->partition,
                                             .offset = c->event->offset,
                                             .row = row});
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
    return redrive_view_skip(&r->view, place_of(c->event), SKIP_REFUSED,
                             "it would be refused again: %s: %s", code_name(code), refusal.reason);
}

static int rewrite_and_send(struct redriving *r, struct candidate *c)
{
    const struct record *request = request_of(c);
    struct redrive redrive = {.headers = calloc(request->headers_n + 1, sizeof *redrive.headers)};
    if (redrive.headers == NULL)
        return out_of_memory(r);
    int code = EXIT_DONE;
    switch (
        redrive_rewrite(&r->rules, request, c->letter.sent_wall_ms, clock_wall_ms(), &redrive)) {
    case REDRIVE_SEND:
        code = judge_and_send(r, c, &redrive);
        break;
    case REDRIVE_EXPIRED:
        code = redrive_view_skip(&r->view, place_of(c->event), SKIP_EXPIRED,
                                 "dlb-expires-at is before its delivery: --drop-expiry sends it");
        break;
    case REDRIVE_UNDATED:
        code = redrive_view_skip(&r->view, place_of(c->event), SKIP_UNDATED,
                                 "it has no dlb-sent-at: --restart-delay sends it");
        break;
    case REDRIVE_CHOOSE:
        redrive_view_clear(&r->view);
        code = complain(r->cli, EXIT_USAGE,
                        "%s/%d/%" PRId64
                        " has a relative delay: pass --keep-due or --restart-delay, the command "
                        "continues there",
                        r->reader.topic, c->event->partition, c->event->offset);
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
    return redrive_view_skip(&r->view, place_of(c->event), SKIP_GONE, "%s", sentence.reason);
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
        return fail_by(r, err, &error);
    if (message == NULL)
        return skip_gone(r, c);
    struct record *record = record_of_message(message, true);
    if (record == NULL) {
        rd_kafka_message_destroy(message);
        return out_of_memory(r);
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
        return redrive_view_skip(&r->view, place_of(c->event), SKIP_UNREADABLE,
                                 "it stands for a batch that could not be read");
    if (bytes_equal(c->letter.code, bytes_text(code_name(CODE_NOT_OURS))))
        return redrive_view_skip(&r->view, place_of(c->event), SKIP_NOT_OURS, "it was no request");
    if (!bytes_is_null(c->letter.truncated))
        code = read_again(r, c, &gone);
    if (code != EXIT_DONE || gone)
        return code;
    if (dead_record_is_operation(request_of(c), r->rules.compat) && !r->with_operations)
        return redrive_view_skip(&r->view, place_of(c->event), SKIP_OPERATION,
                                 "it is a cancel or a replace: --with-cancels sends it");
    return rewrite_and_send(r, c);
}

static int take_record(struct redriving *r, struct candidate *c)
{
    if (!dead_record_read(c->dead, &r->request_rules, &c->letter))
        return redrive_view_skip(&r->view, place_of(c->event), SKIP_FOREIGN,
                                 "the bridge did not write it");
    if (dead_filter_selects(&r->selection.filter, &c->letter))
        return take_selected(r, c);
    r->view.others++;
    return EXIT_DONE;
}

static int take_message(struct redriving *r, const struct dead_event *event)
{
    struct candidate c = {.event = event, .dead = record_of_message(event->message, true)};
    if (c.dead == NULL) {
        rd_kafka_message_destroy(event->message);
        return out_of_memory(r);
    }
    int code = take_record(r, &c);
    if (c.dead != NULL)
        record_release(c.dead);
    if (c.again != NULL)
        record_release(c.again);
    return code;
}

static int take_event(struct redriving *r, int result, const struct dead_event *event,
                      const struct error *error)
{
    if (result < 0)
        return fail_by(r, result, error);
    if (result == DEAD_READ_UNREADABLE)
        return redrive_view_skip(&r->view, place_of(event), SKIP_UNREADABLE,
                                 "the batch of offsets %" PRId64 " to %" PRId64 " cannot be read",
                                 event->offset, event->end - 1);
    return result == DEAD_READ_RECORD ? take_message(r, event) : EXIT_DONE;
}

/* Handles one answer of the reader. A record that is not decided returns to it. */
static int step(struct redriving *r, bool *ended)
{
    struct error error;
    struct dead_event event;
    int code = await_rate(r);
    if (code != EXIT_DONE)
        return code;
    int result = dead_reader_next(&r->reader, r->batch->items_n > 0 ? BATCH_POLL_MS : POLL_MS,
                                  &event, &error);
    *ended = result == DEAD_READ_END;
    code = take_event(r, result, &event, &error);
    if (code != EXIT_DONE && result == DEAD_READ_RECORD)
        dead_reader_return(&r->reader, &event);
    if (code == EXIT_DONE && (batch_is_due(r->batch) || result == DEAD_READ_NONE))
        code = end_batch(r);
    redrive_view_draw(&r->view, dead_reader_share(&r->reader));
    return code;
}

/* Reads up to the ends that the topic had at the start. Also after an error, commits the progress
   of the requests that were sent before. */
static int redrive_all(struct redriving *r)
{
    int code = EXIT_DONE;
    bool ended = false;
    r->since_mono_ms = clock_mono_ms();
    while (code == EXIT_DONE && !ended && (r->limit == 0 || r->view.tally.n < r->limit))
        code = step(r, &ended);
    int last = end_batch(r);
    if (code == EXIT_DONE)
        code = last;
    r->complete = code == EXIT_DONE && dead_reader_is_finished(&r->reader);
    redrive_view_clear(&r->view);
    return code;
}

static int read_options(struct redriving *r)
{
    const struct arguments *arguments = r->cli->arguments;
    bool keep = arguments_have(arguments, "--keep-due"),
         restart = arguments_have(arguments, "--restart-delay");
    if (keep && restart)
        return complain(r->cli, EXIT_USAGE, "--keep-due and --restart-delay exclude each other");
    r->rules = (struct redrive_rules){.delay = keep      ? REDRIVE_KEEP_DUE
                                               : restart ? REDRIVE_RESTART_DELAY
                                                         : REDRIVE_UNCHOSEN,
                                      .drop_expiry = arguments_have(arguments, "--drop-expiry"),
                                      .compat = r->cli->config->compat};
    r->with_operations = arguments_have(arguments, "--with-cancels");
    r->view.dry_run = arguments_have(arguments, "--dry-run");
    r->limit = arguments_number(arguments, "--limit");
    r->per_s = arguments_rate(arguments, "--rate");
    r->view.json = r->cli->json;
    r->view.has_bar = !r->cli->json && isatty(STDERR_FILENO);
    int code = selection_read(&r->selection, r->cli);
    if (code == EXIT_DONE)
        snprintf(r->group, sizeof r->group, "%s.redrive.%016" PRIx64, r->cli->config->group,
                 dead_filter_hash(&r->selection.filter));
    return code;
}

static void say_group(const struct redriving *r)
{
    if (r->view.dry_run || r->cli->json)
        return;
    printf("progress is kept in the group %s. A run with other filters has its own progress, and "
           "may send the same dead letter again.\n",
           r->group);
    fflush(stdout);
}

static int connect_and_redrive(struct redriving *r)
{
    struct batch *batch = r->batch;
    int code = connect_to_dead_letters(r->cli, r->group, &r->reader);
    if (code == EXIT_DONE && !r->view.dry_run)
        code = connect_to_send(r->cli, batch_reported, batch, &batch->rk);
    if (code != EXIT_DONE)
        return code;
    if (batch->rk != NULL)
        batch->topic = rd_kafka_topic_new(batch->rk, r->cli->config->schedule, NULL);
    say_group(r);
    code = redrive_all(r);
    redrive_view_result(&r->view, r->complete);
    if (batch->topic != NULL)
        rd_kafka_topic_destroy(batch->topic);
    return code;
}

int cmd_redrive(struct cli *cli)
{
    const struct config *config = cli->config;
    struct redriving r = {.cli = cli,
                          .spot = {.config = config, .timeout_ms = cli->timeout_ms},
                          .batch = calloc(1, sizeof *r.batch),
                          .request_rules = {.allowlist = {(const char *const *)config->targets,
                                                          config->targets_n, config->schedule},
                                            .default_target = config->default_target,
                                            .max_delay_ms = config->max_delay_ms,
                                            .cancels = true,
                                            .cancel_on_tombstone = config->cancel_on_tombstone,
                                            .compat = config->compat}};
    if (r.batch == NULL)
        return out_of_memory(&r);
    r.reader.spot = &r.spot;
    r.view.topic = r.reader.topic;
    r.view.group = r.group;
    r.batch->timeout_ms = cli->timeout_ms;
    int code = read_options(&r);
    if (code == EXIT_DONE)
        code = connect_and_redrive(&r);
    dead_reader_deinit(&r.reader);
    spot_deinit(&r.spot);
    if (r.batch->rk != NULL)
        rd_kafka_destroy(r.batch->rk);
    free(r.batch);
    redrive_view_deinit(&r.view);
    selection_deinit(&r.selection);
    return code;
}
