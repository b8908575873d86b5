/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge skip: skips a batch that cannot be read, by a dead letter that names its range. */
#include "bridge/commands/connect.h"
#include "bridge/commands/result.h"
#include "consumer/admin/offsets.h"
#include "consumer/client/client.h"
#include "consumer/unreadable.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number of at most `most`, which the character `end` must follow. Returns the text behind
   `end`, or NULL. */
static const char *number(const char *text, char end, int64_t most, int64_t *value)
{
    char *after;
    errno = 0;
    long long read = strtoll(text, &after, 10);
    if (*text < '0' || *text > '9' || *after != end || errno != 0 || read > most)
        return NULL;
    *value = read;
    return after + 1;
}

/* Reads TOPIC/PARTITION/BASE-NEXT. Names of topics contain no slash. */
static bool read_range(const char *text, char topic[TOPIC_TEXT_MAX], struct range *range)
{
    size_t n = strcspn(text, "/");
    int64_t partition;
    if (n == 0 || n >= TOPIC_TEXT_MAX || text[n] != '/')
        return false;
    memcpy(topic, text, n);
    topic[n] = '\0';
    range->topic = topic;
    text = number(text + n + 1, '/', INT_MAX, &partition);
    text = text == NULL ? NULL : number(text, '-', INT64_MAX - 1, &range->from);
    text = text == NULL ? NULL : number(text, '\0', INT64_MAX - 1, &range->end);
    range->partition = text == NULL ? 0 : (int)partition;
    return text != NULL && range->end > range->from;
}

/* Returns whether the topic is the schedule topic or a level. */
static bool is_read_by_us(const struct config *config, const char *topic)
{
    char name[TOPIC_TEXT_MAX];
    for (int slot = 0; slot <= config->ladder.n + config->retired_n; slot++) {
        if (strcmp(offsets_topic(config, slot, name), topic) == 0)
            return true;
    }
    return false;
}

/* Checks that exactly this range is unreadable. Readable records must not be skipped. */
static int check_range(const struct cli *cli, const struct range *range)
{
    struct error error;
    rd_kafka_t *rk;
    rd_kafka_conf_t *conf = client_conf(cli->config, CLIENT_LEVELS, &error);
    if (conf == NULL)
        return complain(cli, EXIT_CONFIG, "%s", error.text);
    unreadable_conf(conf);
    int code = connect_kafka(cli, RD_KAFKA_CONSUMER, conf, &rk);
    if (code != EXIT_DONE)
        return code;
    struct range found = *range;
    int err = unreadable_find(rk, &found);
    rd_kafka_destroy(rk);
    if (err != 0)
        return complain(cli, EXIT_UNREACHABLE,
                        "the brokers do not answer for %s/%d: try again when they do", range->topic,
                        range->partition);
    if (found.end == found.from)
        return complain(cli, EXIT_DATA,
                        "offset %" PRId64 " of %s/%d can be read: nothing was skipped", range->from,
                        range->topic, range->partition);
    if (found.from != range->from || found.end != range->end)
        return complain(cli, EXIT_DATA,
                        "the batch has another range: run 'delaybridge skip %s/%d/%" PRId64
                        "-%" PRId64 "'",
                        range->topic, range->partition, found.from, found.end);
    return EXIT_DONE;
}

static int write_dead_letter(const struct cli *cli, const struct range *range)
{
    char dead_letter[TOPIC_TEXT_MAX];
    struct writing writing = {.topic = topic_of_dead_letter(cli->config->schedule, dead_letter)};
    int code = connect_to_write(cli, &writing);
    if (code != EXIT_DONE)
        return code;
    (void)unreadable_write(&writing, range);
    return connect_written(cli, &writing);
}

int cmd_skip(struct cli *cli)
{
    char topic[TOPIC_TEXT_MAX];
    struct range range;
    const char *text = cli->arguments->operands[0];
    if (!read_range(text, topic, &range))
        return complain(cli, EXIT_USAGE,
                        "'%s' is not TOPIC/PARTITION/BASE-NEXT: pass the range that the log names",
                        text);
    if (!is_read_by_us(cli->config, topic))
        return complain(
            cli, EXIT_USAGE,
            "'%s' is neither the schedule topic nor a level: pass the range that the log names",
            topic);
    int code = check_range(cli, &range);
    if (code == EXIT_DONE)
        code = write_dead_letter(cli, &range);
    if (code != EXIT_DONE)
        return code;
    if (cli->json)
        print_json(json_pack("{s:s, s:i, s:I, s:I}", "topic", topic, "partition", range.partition,
                             "base_offset", (json_int_t)range.from, "next_offset",
                             (json_int_t)range.end));
    else
        printf("%s/%d/%" PRId64 "-%" PRId64
               " skipped: within seconds, a running bridge continues at offset %" PRId64 "\n",
               topic, range.partition, range.from, range.end, range.end);
    return EXIT_DONE;
}
