/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge peek: shows the first records of a level, decoded. */
#include "bridge/base/clock.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/result.h"
#include "bridge/commands/waiting.h"
#include "consumer/admin/browse.h"
#include "consumer/admin/offsets.h"
#include "consumer/unreadable.h"
#include "levels/duration.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_MS = 100 };

struct peek {
    const struct cli *cli;
    struct offsets offsets;
    int slot;
    int lane; /* -1: all */
    int limit, shown;
    bool follow; /* show later records, too */
    int64_t now_ms;
};

static bool show(void *ctx, intptr_t tag, const rd_kafka_message_t *message)
{
    (void)tag;
    struct peek *peek = ctx;
    int lane = message->partition;
    if (peek->shown >= peek->limit)
        return false;
    if (window_is_done(offsets_cell(&peek->offsets, lane, peek->slot)->window, message->offset))
        return true;
    const struct config *config = peek->cli->config;
    struct waiting waiting = {.config = config,
                              .level_ms = offsets_level_ms(config, peek->slot),
                              .lane = lane,
                              .offset = message->offset,
                              .stamped_ms = rd_kafka_message_timestamp(message, NULL),
                              .key = bytes_of(message->key, message->key_len)};
    waiting.opened = envelope_open(bytes_of(message->payload, message->len), &waiting.env);
    if (peek->cli->json)
        give_json(peek->cli, waiting_json(&waiting, peek->now_ms));
    else
        waiting_print(&waiting, peek->now_ms);
    peek->shown++;
    return peek->shown < peek->limit;
}

/* Shows records up to the limit, also those that arrive later. */
static int follow(struct peek *peek, rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list,
                  struct error *error)
{
    rd_kafka_resp_err_t code = rd_kafka_assign(rk, list);
    int err = code == RD_KAFKA_RESP_ERR_NO_ERROR
                  ? 0
                  : error_set(error, ERR_KAFKA, "cannot assign: %s", rd_kafka_err2str(code));
    while (err == 0 && peek->shown < peek->limit) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, POLL_MS);
        if (message == NULL)
            continue;
        peek->now_ms = clock_wall_ms();
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR && show(peek, 0, message))
            fflush(stdout);
        else if (message->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
            err = error_set(error, ERR_CONFIG, "cannot read the level: allow Read on its topic");
        else if (unreadable_is(message->err))
            err = error_set(error, ERR_KAFKA,
                            "lane %d has a batch that cannot be read: run 'delaybridge check'",
                            message->partition);
        rd_kafka_message_destroy(message);
    }
    return err;
}

static int look(struct peek *peek, rd_kafka_t *rk, struct error *error)
{
    char name[TOPIC_TEXT_MAX];
    int timeout_ms = peek->cli->timeout_ms;
    int err = offsets_read(&peek->offsets, rk, timeout_ms, error);
    if (err != 0)
        return err;
    if (peek->lane >= peek->offsets.lanes)
        return error_set(error, ERR_RANGE, "%s has no lane %d, only 0 to %d",
                         peek->cli->config->schedule, peek->lane, peek->offsets.lanes - 1);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    for (int lane = 0; lane < peek->offsets.lanes; lane++) {
        const struct offsets_cell *cell = offsets_cell(&peek->offsets, lane, peek->slot);
        bool has_records = peek->follow ? cell->window != NULL : cell->waiting > 0;
        if (!has_records || (peek->lane >= 0 && peek->lane != lane))
            continue;
        rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(
            list, offsets_topic(peek->cli->config, peek->slot, name), lane);
        at->offset = cell->window->base;
    }
    struct browse browse = {.rk = rk, .timeout_ms = timeout_ms, .each = show, .ctx = peek};
    err = peek->follow ? follow(peek, rk, list, error) : browse_read(&browse, list, error);
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

static int read_lane(struct peek *peek, const char *text)
{
    static const struct option LANE = {.name = "LANE", .kind = OPTION_NUMBER, .most = INT_MAX};
    struct option_value value;
    struct error error;
    if (option_read(&LANE, text, &value, &error) != 0)
        return complain(peek->cli, EXIT_USAGE, "%s", error.text);
    peek->lane = (int)value.number;
    return EXIT_DONE;
}

static bool read_level(struct peek *peek, const char *text)
{
    int64_t ms;
    const struct config *config = peek->cli->config;
    if (duration_parse(bytes_text(text), &ms) != 0)
        return false;
    for (int slot = 1; slot <= config->ladder.n + config->retired_n; slot++)
        if (offsets_level_ms(config, slot) == ms)
            peek->slot = slot;
    return peek->slot > 0;
}

static int read_operands(struct peek *peek)
{
    const struct arguments *arguments = peek->cli->arguments;
    const char *level = arguments->operands[0];
    if (!read_level(peek, level))
        return complain(peek->cli, EXIT_USAGE,
                        "'%s' is not a level: 'delaybridge levels' lists levels and retired_levels",
                        level);
    return arguments->operands_n > 1 ? read_lane(peek, arguments->operands[1]) : EXIT_DONE;
}

static void print_none(const struct peek *peek)
{
    char level[DURATION_TEXT_MAX], lane[32] = "";
    if (peek->lane >= 0)
        snprintf(lane, sizeof lane, "lane %d of ", peek->lane);
    printf("no record waits in %slevel %s\n", lane,
           duration_format(offsets_level_ms(peek->cli->config, peek->slot), level));
}

static int exit_code(int err)
{
    return err == 0            ? EXIT_DONE
           : err == ERR_RANGE  ? EXIT_USAGE
           : err == ERR_CONFIG ? EXIT_CONFIG
                               : EXIT_UNREACHABLE;
}

int cmd_peek(struct cli *cli)
{
    struct error error;
    struct peek peek = {.cli = cli,
                        .lane = -1,
                        .limit = (int)arguments_number(cli->arguments, "--limit"),
                        .follow = arguments_have(cli->arguments, "--follow"),
                        .now_ms = clock_wall_ms()};
    if (peek.follow && !arguments_have(cli->arguments, "--limit"))
        peek.limit = INT_MAX;
    peek.offsets.config = cli->config;
    rd_kafka_t *rk;
    int code = read_operands(&peek);
    if (code == EXIT_DONE)
        code = connect_to_look(cli, &rk);
    if (code != EXIT_DONE)
        return code;
    int err = look(&peek, rk, &error);
    if (err == 0 && peek.shown == 0 && !cli->json)
        print_none(&peek);
    offsets_deinit(&peek.offsets);
    rd_kafka_destroy(rk);
    return err == 0 ? EXIT_DONE : complain(cli, exit_code(err), "%s", error.text);
}
