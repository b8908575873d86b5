/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge forecast: shows how many waiting records leave each level in the next minutes and
   hours. A record leaves level L within m if its timestamp on the level is at most now - L + m. So
   the brokers' index of timestamps has the answer. */
#include "bridge/base/clock.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/forecast_sample.h"
#include "bridge/commands/result.h"
#include "levels/counted.h"
#include "levels/duration.h"
#include "levels/instant.h"

#include <stdio.h>
#include <stdlib.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
static const int64_t HORIZONS_MS[] = {10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 2 * HOUR};
enum { HORIZONS_N = sizeof HORIZONS_MS / sizeof *HORIZONS_MS, MINUTES_SHOWN = 60 };

struct forecast {
    const struct cli *cli;
    struct offsets offsets;
    int64_t now_ms;
    int64_t (*leaving)[HORIZONS_N]; /* by slot: records that leave within each horizon */
    bool deliveries;
    struct forecast_sample sample;
};

/* Lists the partitions whose records do not all leave within the horizon. Adds those of all other
   partitions to leaving. */
static rd_kafka_topic_partition_list_t *list_times(struct forecast *f, int horizon)
{
    char name[TOPIC_TEXT_MAX];
    const struct config *config = f->cli->config;
    const struct offsets *offsets = &f->offsets;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(64);
    for (int i = 0; i < offsets->lanes * offsets->slots; i++) {
        int slot = i % offsets->slots;
        int64_t waiting = offsets->cells[i].waiting;
        if (slot == 0 || waiting == 0)
            continue;
        int64_t rest_ms = offsets_level_ms(config, slot) - HORIZONS_MS[horizon];
        if (rest_ms <= 0) {
            f->leaving[slot][horizon] += waiting;
            continue;
        }
        rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(
            list, offsets_topic(config, slot, name), i / offsets->slots);
        at->offset = f->now_ms - rest_ms + 1;
        at->opaque = &offsets->cells[i];
    }
    return list;
}

static int count_horizon(struct forecast *f, rd_kafka_t *rk, int horizon, struct error *error)
{
    rd_kafka_topic_partition_list_t *list = list_times(f, horizon);
    rd_kafka_resp_err_t code =
        list->cnt == 0 ? 0 : rd_kafka_offsets_for_times(rk, list, f->cli->timeout_ms);
    for (int i = 0; code == 0 && i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *at = &list->elems[i];
        const struct offsets_cell *cell = at->opaque;
        int slot = (int)(cell - f->offsets.cells) % f->offsets.slots;
        int64_t end = at->offset < 0 || at->offset > cell->end ? cell->end : at->offset;
        code = at->err;
        f->leaving[slot][horizon] +=
            end > cell->window->base ? window_pending(cell->window, end) : 0;
    }
    rd_kafka_topic_partition_list_destroy(list);
    if (code == 0)
        return 0;
    return error_set(error, ERR_KAFKA, "cannot read the offsets of the levels: %s",
                     rd_kafka_err2str(code));
}

static int look(struct forecast *f, rd_kafka_t *rk, struct error *error)
{
    int err = offsets_read(&f->offsets, rk, f->cli->timeout_ms, error);
    if (err != 0)
        return err;
    f->now_ms = clock_wall_ms();
    f->leaving = calloc((size_t)f->offsets.slots, sizeof *f->leaving);
    if (f->leaving == NULL)
        return error_set(error, ERR_NO_MEMORY, "%s", err_text(ERR_NO_MEMORY));
    for (int horizon = 0; err == 0 && horizon < HORIZONS_N; horizon++)
        err = count_horizon(f, rk, horizon, error);
    f->sample = (struct forecast_sample){
        .cli = f->cli, .offsets = &f->offsets, .rk = rk, .timeout_ms = f->cli->timeout_ms};
    if (err == 0 && f->deliveries)
        err = forecast_sample_read(&f->sample, error);
    return err;
}

static int64_t waiting_in(const struct forecast *f, int slot)
{
    int64_t waiting = 0;
    for (int lane = 0; lane < f->offsets.lanes; lane++)
        waiting += offsets_cell(&f->offsets, lane, slot)->waiting;
    return waiting;
}

/* Returns for how long after the counted time a record may be left. Until it is due, a record in
   memory is not done in its level (hold.h). Its rest is at most hold and a remainder that no level
   covers. */
static int64_t late_ms(const struct config *config)
{
    int64_t least_ms = config->ladder.hold_ms;
    return config->hold_ms > least_ms ? config->hold_ms + least_ms : least_ms;
}

static json_t *estimates_json(const struct estimate *estimates, int n, const char *key)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list,
                              json_pack("{s:o, s:I}", key, instant_json(estimates[i].at_ms),
                                        "deliveries", (json_int_t)(estimates[i].deliveries + 0.5)));
    return list;
}

static void print_as_json(const struct forecast *f)
{
    char level[DURATION_TEXT_MAX];
    const struct config *config = f->cli->config;
    const struct forecast_sample *sample = &f->sample;
    json_t *levels = json_array(), *horizons = json_array(), *deliveries = json_null();
    for (int i = 0; i < HORIZONS_N; i++)
        json_array_append_new(horizons, json_integer(HORIZONS_MS[i]));
    for (int slot = 1; slot < f->offsets.slots; slot++) {
        json_t *leaving = json_array();
        for (int i = 0; i < HORIZONS_N; i++)
            json_array_append_new(leaving, json_integer(f->leaving[slot][i]));
        duration_format(offsets_level_ms(config, slot), level);
        json_array_append_new(levels,
                              json_pack("{s:s, s:I, s:o}", "level", level, "waiting",
                                        (json_int_t)waiting_in(f, slot), "leaving", leaving));
    }
    if (f->deliveries)
        deliveries = json_pack("{s:I, s:o, s:o}", "sampled", (json_int_t)sample->sampled, "minutes",
                               estimates_json(sample->minutes, sample->minutes_n, "minute"), "hot",
                               estimates_json(sample->hot, sample->hot_n, "at"));
    give_json(f->cli,
              json_pack("{s:o, s:s, s:o, s:I, s:I, s:o, s:o}", "at", instant_json(f->now_ms),
                        "schedule", config->schedule, "horizons_ms", horizons, "early_ms",
                        (json_int_t)config->ladder.slack_ms, "late_ms", (json_int_t)late_ms(config),
                        "levels", levels, "deliveries", deliveries));
}

static void print_deliveries(const struct forecast *f)
{
    char at[INSTANT_TEXT_MAX], records[COUNTED_MAX];
    const struct forecast_sample *sample = &f->sample;
    double later = 0;
    printf("\nDeliveries by minute, estimated from %s:\n",
           counted(sample->sampled, "record", records));
    for (int i = 0; i < sample->minutes_n; i++) {
        if (i < MINUTES_SHOWN)
            printf("  %-24s %12.0f\n", instant_format(sample->minutes[i].at_ms, at),
                   sample->minutes[i].deliveries);
        else
            later += sample->minutes[i].deliveries;
    }
    if (sample->minutes_n > MINUTES_SHOWN)
        printf("  %-24s %12.0f\n", "later", later);
    for (int i = 0; i < sample->hot_n; i++)
        printf("WARNING: about %.0f deliveries are due at %s: spread the due times\n",
               sample->hot[i].deliveries, instant_format(sample->hot[i].at_ms, at));
}

static void print_text(const struct forecast *f)
{
    char text[DURATION_TEXT_MAX], early[DURATION_TEXT_MAX], late[DURATION_TEXT_MAX];
    const struct config *config = f->cli->config;
    int64_t all = 0, sum[HORIZONS_N] = {0};
    printf("%-10s %12s", "LEVEL", "WAITING");
    for (int i = 0; i < HORIZONS_N; i++)
        printf(" %12s", duration_format(HORIZONS_MS[i], text));
    for (int slot = 1; slot < f->offsets.slots; slot++) {
        int64_t waiting = waiting_in(f, slot);
        all += waiting;
        printf("\n%-10s %12lld", duration_format(offsets_level_ms(config, slot), text),
               (long long)waiting);
        for (int i = 0; i < HORIZONS_N; i++) {
            printf(" %12lld", (long long)f->leaving[slot][i]);
            sum[i] += f->leaving[slot][i];
        }
    }
    printf("\n%-10s %12lld", "all", (long long)all);
    for (int i = 0; i < HORIZONS_N; i++)
        printf(" %12lld", (long long)sum[i]);
    printf(
        "\n\nEach column counts the records that leave their level within this time, to another "
        "level or to\ntheir target. A record can leave up to %s before and %s after the counted "
        "time. It may wait\nin memory in place of its next levels. Ends of transactions count as "
        "records. Records that enter\na level later do not count, nor do requests in memory that "
        "enter none.\n",
        duration_format(config->ladder.slack_ms, early), duration_format(late_ms(config), late));
    if (f->deliveries)
        print_deliveries(f);
}

int cmd_forecast(struct cli *cli)
{
    struct error error;
    struct forecast f = {.cli = cli, .deliveries = arguments_have(cli->arguments, "--deliveries")};
    rd_kafka_t *rk;
    f.offsets.config = cli->config;
    int code = connect_to_look(cli, &rk);
    if (code != EXIT_DONE)
        return code;
    int err = look(&f, rk, &error);
    if (err != 0)
        code = complain(cli, err == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s", error.text);
    else if (cli->json)
        print_as_json(&f);
    else
        print_text(&f);
    free(f.leaving);
    forecast_sample_deinit(&f.sample);
    offsets_deinit(&f.offsets);
    disconnect(cli, rk, code == EXIT_DONE);
    return code;
}
