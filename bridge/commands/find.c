/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge find: searches the topics for one request: does it wait, or was it delivered,
   dead-lettered or cancelled? There is no index. levels/stay.h says which parts of the levels can
   hold it. */
#include "bridge/base/clock.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/find_parts.h"
#include "bridge/commands/place.h"
#include "bridge/commands/result.h"
#include "levels/instant.h"
#include "levels/murmur2.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The searches, in their order. The first one with an answer ends the command. */
static int (*const SEARCHES[])(struct find *) = {
    find_request, /* due time and target, while the schedule topic has the request */
    find_waiting, /* on the schedule topic and in the levels */
    find_request_in_history,
    find_in_other_lanes, /* before a cancel of the key, which reaches only its lane */
    find_dead_letter,    /* before the target, on which Read may be denied */
    find_delivered,
    find_cancelled,     /* late, since a cancel of a delivered request voids nothing */
    find_reported_ever, /* the last one, since a topic has the events of days */
};

static int read_source(struct wanted *wanted, const struct config *config, const char *text,
                       struct error *error)
{
    struct place place;
    if (place_parse(bytes_text(text), config->schedule, &place) != 0)
        return error_set(error, ERR_DATA, "--source: '%s' is not %s/PARTITION/OFFSET", text,
                         config->schedule);
    wanted->by_source = true;
    wanted->lane = place.partition;
    wanted->source_offset = place.offset;
    return 0;
}

static struct bytes text_of(const struct arguments *arguments, const char *name)
{
    const char *text = arguments_text(arguments, name);
    return text == NULL ? bytes_null() : bytes_text(text);
}

static int read_times(struct wanted *wanted, const struct arguments *arguments, struct error *error)
{
    const char *due = arguments_text(arguments, "--due");
    const char *sent = arguments_text(arguments, "--sent");
    const char *until = arguments_text(arguments, "--until");
    wanted->due_known = due != NULL;
    wanted->sent_known = sent != NULL;
    int err = due == NULL ? 0 : around_parse("--due", due, &wanted->due, error);
    if (err == 0 && sent != NULL)
        err = around_parse("--sent", sent, &wanted->sent, error);
    if (err == 0 && until != NULL && instant_parse(bytes_text(until), &wanted->until_ms) != 0)
        err =
            error_set(error, ERR_DATA, "--until: '%s'%s", until, instant_fault(bytes_text(until)));
    return err;
}

static int read_options(struct find *find)
{
    const struct arguments *arguments = find->cli->arguments;
    struct wanted *wanted = &find->wanted;
    const char *source = arguments_text(arguments, "--source");
    wanted->id = text_of(arguments, "--id");
    wanted->key = text_of(arguments, "--key");
    wanted->lane = wanted->key_lane = -1;
    wanted->limit = (int)arguments_number(arguments, "--limit");
    if (source == NULL && bytes_is_null(wanted->id) && bytes_is_null(wanted->key))
        return error_set(&find->error, ERR_DATA, "give --id, --key or --source");
    int err = source == NULL ? 0 : read_source(wanted, find->cli->config, source, &find->error);
    return err != 0 ? err : read_times(wanted, arguments, &find->error);
}

/* Computes the lane of the key as producers do, with murmur2. */
static int choose_lane(struct find *find)
{
    struct wanted *wanted = &find->wanted;
    int lanes = find->offsets.lanes;
    if (wanted->lane < 0 && !bytes_is_null(wanted->key))
        wanted->lane = wanted->key_lane = murmur2_partition(wanted->key, lanes);
    if (wanted->lane >= lanes)
        return error_set(&find->error, ERR_DATA, "--source: %s has no partition %d, only 0 to %d",
                         find->cli->config->schedule, wanted->lane, lanes - 1);
    return 0;
}

static int search(struct find *find)
{
    int err = offsets_read(&find->offsets, find->rk, find->cli->timeout_ms, &find->error);
    if (err == 0)
        err = choose_lane(find);
    for (size_t i = 0; err == 0 && find->found_n == 0 && i < sizeof SEARCHES / sizeof *SEARCHES;
         i++)
        err = SEARCHES[i](find);
    return err == 0 ? find_cancels_of_waiting(find) : err;
}

/* Adds a note if a request of the key is in another lane, where cancels of the key miss it. */
static void note_lane(struct find *find)
{
    int key_lane = find->wanted.key_lane, lane = -1;
    for (int i = 0; i < find->known_n; i++)
        lane = find->known[i].lane != key_lane ? find->known[i].lane : lane;
    for (int i = 0; i < find->found_n; i++)
        if (find->found[i].source_lane >= 0 && find->found[i].source_lane != key_lane)
            lane = find->found[i].source_lane;
    if (key_lane >= 0 && lane >= 0)
        find_note(find,
                  "it is in lane %d, but murmur2 computes lane %d. Its producer has "
                  "another partitioner ('delaybridge check --sample'), or partitions were added. "
                  "Only 'cancel --all-lanes' reaches it",
                  lane, key_lane);
}

static int answer(struct find *find)
{
    note_lane(find);
    if (find->found_n > 0 && find->denied[0] != '\0')
        find_note(find, "deliveries were not searched: allow Read on %.100s", find->denied);
    for (int i = 0; i < find->found_n; i++)
        find_print(find, &find->found[i]);
    if (find->found_n > 0)
        return EXIT_DONE;
    if (find->denied[0] == '\0') {
        find_print_none(find);
        return EXIT_NOT_FOUND;
    }
    find_print_not_waiting(find);
    return complain(find->cli, EXIT_CONFIG, "not waiting; cannot read %s: allow Read on it",
                    find->denied);
}

static int exit_code(int err)
{
    return err == ERR_DATA        ? EXIT_USAGE
           : err == ERR_CONFIG    ? EXIT_CONFIG
           : err == ERR_NO_MEMORY ? EXIT_INTERNAL
                                  : EXIT_UNREACHABLE;
}

static void deinit(struct find *find)
{
    for (int i = 0; i < find->known_n; i++) {
        free((void *)find->known[i].key.data);
        free((void *)find->known[i].name.data);
    }
    for (int i = 0; i < find->voiders_n; i++)
        free((void *)find->voiders[i].name.data);
    for (int i = 0; i < find->found_n; i++) {
        free((void *)find->found[i].key.data);
        free((void *)find->found[i].value.data);
    }
    free(find->found);
    offsets_deinit(&find->offsets);
    if (find->rk != NULL)
        rd_kafka_destroy(find->rk);
}

/* Returns the exit code of all searches, after it has printed the answers. */
static int search_and_answer(struct find *find)
{
    int code = connect_to_look(find->cli, &find->rk);
    if (code != EXIT_DONE)
        return code;
    int err = search(find);
    if (err == 0)
        return answer(find);
    for (int i = 0; i < find->found_n && atomic_load(&find->stopped); i++)
        find_print(find, &find->found[i]);
    if (atomic_load(&find->stopped))
        return EXIT_DONE;
    return complain(find->cli, exit_code(err), "%s", find->error.text);
}

static int run(struct find *find)
{
    if (read_options(find) != 0)
        return complain(find->cli, EXIT_USAGE, "%s", find->error.text);
    find->found = calloc((size_t)find->wanted.limit, sizeof *find->found);
    if (find->found == NULL)
        return complain(find->cli, EXIT_INTERNAL, "out of memory");
    return search_and_answer(find);
}

int cmd_find(struct cli *cli)
{
    struct find *find = calloc(1, sizeof *find); /* large */
    if (find == NULL)
        return complain(cli, EXIT_INTERNAL, "out of memory");
    find->cli = cli;
    find->now_ms = clock_wall_ms();
    find->offsets.config = cli->config;
    pthread_mutex_init(&find->mutex, NULL);
    int code = run(find);
    deinit(find);
    pthread_mutex_destroy(&find->mutex);
    free(find);
    return code;
}
