/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge dead-letters: counts the records of the dead-letter topic, and shows them. */
#include "bridge/commands/connect.h"
#include "bridge/commands/newest.h"
#include "bridge/commands/output.h"
#include "bridge/commands/result.h"
#include "bridge/commands/selection.h"
#include "bridge/commands/tally.h"
#include "bridge/config/rules.h"
#include "consumer/admin/dead_reader.h"
#include "consumer/record.h"
#include "levels/counted.h"
#include "levels/instant.h"

#include <inttypes.h>
#include <stdio.h>

enum { POLL_MS = 100, KEPT_BYTES = 64 << 20 };

struct dead_letters {
    const struct cli *cli;
    struct selection selection;
    struct dead_reader reader;
    struct spot spot;
    struct tally tally;
    struct newest newest; /* to be shown */
    int64_t others, foreign, unreadable;
};

static json_t *time_json(int64_t wall_ms)
{
    return wall_ms < 0 ? json_null() : instant_json(wall_ms);
}

static json_t *headers_json(const struct record *record)
{
    json_t *list = json_array();
    for (size_t i = 0; i < record->headers_n; i++)
        json_array_append_new(list,
                              json_pack("[o, o]", bytes_json(bytes_text(record->headers[i].name)),
                                        bytes_json(record->headers[i].value)));
    return list;
}

static void show_json(const struct cli *cli, const struct newest_item *item,
                      const struct record *record, const struct dead_record *letter)
{
    json_t *line = json_pack("{s:i, s:I, s:o, s:o, s:o, s:o}", "partition", item->partition,
                             "offset", (json_int_t)item->offset, "code", bytes_json(letter->code),
                             "reason", bytes_json(letter->reason), "source",
                             bytes_json(letter->source), "target", bytes_json(letter->target));
    json_object_update_new(line, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "sent_at",
                                           time_json(letter->sent_wall_ms), "failed_at",
                                           time_json(letter->failed_wall_ms), "truncated",
                                           bytes_json(letter->truncated), "key",
                                           bytes_json(record->key), "headers", headers_json(record),
                                           "value", bytes_json(record->value)));
    give_json(cli, line);
}

static void print_time(const char *name, int64_t wall_ms)
{
    char text[INSTANT_TEXT_MAX];
    if (wall_ms >= 0)
        printf("  %-9s %s\n", name, instant_format(wall_ms, text));
}

static void print_field(const char *name, struct bytes bytes)
{
    printf("  %-9s ", name);
    print_bytes(bytes);
    putchar('\n');
}

static void show_text(const struct newest_item *item, const struct record *record,
                      const struct dead_record *letter)
{
    printf("lane %d offset %" PRId64 "\n", item->partition, item->offset);
    print_field("code", letter->code);
    print_field("reason", letter->reason);
    print_field("source", letter->source);
    print_field("target", letter->target);
    print_time("sent", letter->sent_wall_ms);
    print_time("failed", letter->failed_wall_ms);
    if (!bytes_is_null(letter->truncated))
        print_field("truncated", letter->truncated);
    print_field("key", record->key);
    for (size_t i = 0; i < record->headers_n; i++) {
        printf("  %-9s ", "header");
        print_bytes(bytes_text(record->headers[i].name));
        putchar('=');
        print_bytes(record->headers[i].value);
        putchar('\n');
    }
    print_field("value", record->value);
}

/* Keeps a record if it is one of the newest so far. Sets *record to NULL then. */
static int keep_newest(struct dead_letters *d, struct newest_item item, struct record **record)
{
    if (!newest_wants(&d->newest, &item))
        return EXIT_DONE;
    struct record *kept = record_keep(*record);
    if (kept == NULL)
        return complain(d->cli, EXIT_INTERNAL, "out of memory");
    *record = item.record = kept;
    item.bytes = kept->cost_bytes + kept->overhead_bytes + sizeof item +
                 kept->headers_n * (sizeof *kept->headers + 1); /* 1: the NUL of a name */
    if (newest_add(&d->newest, &item) != 0)
        return complain(d->cli, EXIT_INTERNAL, "out of memory");
    *record = NULL;
    return EXIT_DONE;
}

static int take_record(struct dead_letters *d, const struct dead_item *item, struct record **record)
{
    struct dead_record letter;
    const struct request_rules rules = config_rules(d->cli->config);
    if (!dead_record_read(*record, &rules, &letter)) {
        d->foreign++;
        return EXIT_DONE;
    }
    if (!dead_filter_selects(&d->selection.filter, &letter)) {
        d->others++;
        return EXIT_DONE;
    }
    if (tally_add(&d->tally, &letter) < 0)
        return complain(d->cli, EXIT_INTERNAL, "out of memory");
    struct newest_item one = {
        .at_wall_ms = letter.failed_wall_ms, .partition = item->partition, .offset = item->offset};
    return keep_newest(d, one, record);
}

static int take_message(struct dead_letters *d, const struct dead_item *item)
{
    struct record *record = record_of_message(item->message, true);
    if (record == NULL) {
        rd_kafka_message_destroy(item->message);
        return complain(d->cli, EXIT_INTERNAL, "out of memory");
    }
    int code = take_record(d, item, &record);
    if (record != NULL)
        record_release(record);
    return code;
}

static void show_newest(struct dead_letters *d)
{
    const struct request_rules rules = config_rules(d->cli->config);
    newest_sort(&d->newest);
    for (size_t i = 0; i < d->newest.n; i++) {
        const struct newest_item *item = &d->newest.all[i];
        struct dead_record letter;
        (void)dead_record_read(item->record, &rules, &letter);
        if (d->cli->json)
            show_json(d->cli, item, item->record, &letter);
        else
            show_text(item, item->record, &letter);
    }
    char fit[COUNTED_MAX];
    if (newest_is_cut(&d->newest))
        complain(d->cli, EXIT_DONE,
                 "warning: only %s of the newest fit into memory: select older ones with --until",
                 counted((int64_t)d->newest.n, "record", fit));
}

static int read_all(struct dead_letters *d)
{
    struct error error;
    struct dead_item item;
    int code = EXIT_DONE, result = DEAD_READ_NONE;
    while (code == EXIT_DONE && result != DEAD_READ_END && output_read(d->cli)) {
        output_progress(d->cli, dead_reader_share(&d->reader));
        result = dead_reader_next(&d->reader, POLL_MS, &item, &error);
        if (result < 0)
            code = complain(d->cli, result == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s",
                            error.text);
        else if (result == DEAD_READ_RECORD)
            code = take_message(d, &item);
        else if (result == DEAD_READ_UNREADABLE)
            d->unreadable++;
    }
    return code;
}

static void print_result(const struct dead_letters *d)
{
    if (d->cli->json) {
        give_json(d->cli, json_pack("{s:o, s:I, s:I, s:I, s:I}", "counts", tally_json(&d->tally),
                                    "records", (json_int_t)d->tally.n, "others",
                                    (json_int_t)d->others, "foreign", (json_int_t)d->foreign,
                                    "unreadable_batches", (json_int_t)d->unreadable));
        return;
    }
    char batches[COUNTED_MAX];
    tally_print(&d->tally);
    printf("selected: %" PRId64 ", not selected: %" PRId64, d->tally.n, d->others);
    if (d->foreign > 0)
        printf(", not written by the bridge: %" PRId64, d->foreign);
    if (d->unreadable > 0)
        printf(", %s", counted(d->unreadable, "unreadable batch", batches));
    putchar('\n');
}

static int open_and_read(struct dead_letters *d)
{
    int code = connect_to_dead_letters(d->cli, NULL, &d->reader);
    if (code == EXIT_DONE)
        code = read_all(d);
    if (code == EXIT_DONE) {
        show_newest(d);
        print_result(d);
    }
    dead_reader_deinit(&d->reader);
    return code;
}

int cmd_dead_letters(struct cli *cli)
{
    struct dead_letters d = {.cli = cli,
                             .spot = {.config = cli->config, .timeout_ms = cli->timeout_ms},
                             .newest = {.most_bytes = KEPT_BYTES, .release = record_release}};
    d.newest.most = (size_t)arguments_number(cli->arguments, "--show");
    if (cli->output != NULL)
        d.newest.most_bytes = cli->output->room;
    d.reader.spot = &d.spot;
    int code = selection_read(&d.selection, cli);
    if (code == EXIT_DONE)
        code = open_and_read(&d);
    spot_deinit(&d.spot);
    newest_deinit(&d.newest);
    tally_deinit(&d.tally);
    selection_deinit(&d.selection);
    return code;
}
