/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge redrive: sends dead-lettered requests again. */
#include "bridge/base/clock.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/output.h"
#include "bridge/commands/redrive_parts.h"
#include "bridge/commands/result.h"
#include "bridge/config/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { POLL_MS = 100, BATCH_POLL_MS = 20 };

/* Judges the reports of the batch. Returns EXIT_DONE if each record is stored or skipped. */
static int judge_reports(struct redriving *r)
{
    struct error error;
    int code = EXIT_DONE, unknown_n = 0;
    for (int i = 0; i < r->batch->items_n; i++) {
        const struct batch_item *item = &r->batch->items[i];
        const struct redrive_place place = {item->partition, item->offset};
        if (item->err == RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        tally_remove(&r->view.tally, item->row);
        unknown_n += item->is_unknown;
        if (batch_is_refusal(item->err))
            redrive_view_skip(&r->view, place, SKIP_TOO_LARGE, "the schedule topic refuses it: %s",
                              rd_kafka_err2str(item->err));
        else if (code == EXIT_DONE)
            code = connect_exit_of(r->batch->rk, item->err, &error);
    }
    if (code == EXIT_DONE)
        return EXIT_DONE;
    return unknown_n > 0 ? redrive_in_doubt(r, unknown_n, &error)
                         : redrive_ended_by(r, code, &error);
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
    int told = redrive_events_write(&r->events, r->batch);
    batch_clear(r->batch);
    int err = code == EXIT_DONE ? dead_reader_commit(&r->reader, &error) : 0;
    if (err != 0)
        code = redrive_failed(r, err, &error);
    else if (code == EXIT_DONE) /* the requests are sent, so the progress counts */
        code = told;
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
    while (code == EXIT_DONE && (left_ms = at_mono_ms - clock_mono_ms()) > 0 &&
           output_read(r->cli)) {
        rd_kafka_poll(r->batch->rk, left_ms < POLL_MS ? (int)left_ms : POLL_MS);
        redrive_view_draw(&r->view, dead_reader_share(&r->reader));
    }
    return code;
}

static struct redrive_place place_of(const struct dead_item *item)
{
    return (struct redrive_place){item->partition, item->offset};
}

static int take_item(struct redriving *r, int result, const struct dead_item *item,
                     const struct error *error)
{
    if (result < 0)
        return redrive_failed(r, result, error);
    if (result == DEAD_READ_UNREADABLE)
        return redrive_view_skip(&r->view, place_of(item), SKIP_UNREADABLE,
                                 "the batch of offsets %" PRId64 " to %" PRId64 " cannot be read",
                                 item->offset, item->end - 1);
    return result == DEAD_READ_RECORD ? redrive_take(r, item) : EXIT_DONE;
}

/* Handles one answer of the reader. A record that is not decided returns to it. */
static int step(struct redriving *r, bool *ended)
{
    struct error error;
    struct dead_item item;
    int code = await_rate(r);
    if (code != EXIT_DONE)
        return code;
    int result = dead_reader_next(&r->reader, r->batch->items_n > 0 ? BATCH_POLL_MS : POLL_MS,
                                  &item, &error);
    *ended = result == DEAD_READ_END;
    code = take_item(r, result, &item, &error);
    if (code != EXIT_DONE && result == DEAD_READ_RECORD)
        dead_reader_return(&r->reader, &item);
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
    while (code == EXIT_DONE && !ended && (r->limit == 0 || r->view.tally.n < r->limit) &&
           output_read(r->cli))
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

static int redrive_and_show(struct redriving *r)
{
    say_group(r);
    int code = redrive_all(r);
    redrive_view_result(&r->view, r->complete);
    return code;
}

static int connect_and_redrive(struct redriving *r)
{
    struct batch *batch = r->batch;
    int code = connect_to_dead_letters(r->cli, r->group, &r->reader);
    if (code == EXIT_DONE && !r->view.dry_run)
        code = connect_to_send(r->cli, batch_reported, batch, &batch->rk);
    if (code != EXIT_DONE)
        return code;
    if (batch->rk != NULL) {
        batch->topic = rd_kafka_topic_new(batch->rk, r->cli->config->schedule, NULL);
        code = redrive_events_open(&r->events, r->cli, batch->rk);
    }
    if (code == EXIT_DONE)
        code = redrive_and_show(r);
    redrive_events_close(&r->events);
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
                          .request_rules = config_rules(config)};
    if (r.batch == NULL)
        return redrive_out_of_memory(&r);
    r.reader.spot = &r.spot;
    r.view.cli = cli;
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
