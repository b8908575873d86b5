/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge pause, resume and limit: write the entries of S.control. */
#include "bridge/base/clock.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/control_list.h"
#include "bridge/commands/control_view.h"
#include "bridge/commands/output.h"
#include "bridge/commands/result.h"
#include "consumer/admin/control_topic.h"
#include "levels/allowlist.h"
#include "levels/duration.h"
#include "levels/instant.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_TEXT_MAX = 64 };

struct controlling {
    const struct cli *cli;
    const char *pattern;
    char topic[TOPIC_TEXT_MAX];
    struct control_list list; /* as it was */
    int64_t now_ms;
};

/* Entries are JSON, which takes UTF-8 only. */
static void keep_ascii(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

/* Returns the name of the user, or NULL. Services and containers may have no USER. */
static const char *user_name(void)
{
    const char *user = getenv("USER");
    if (user == NULL)
        user = getenv("LOGNAME");
    const struct passwd *known = user == NULL ? getpwuid(geteuid()) : NULL;
    return known == NULL ? user : known->pw_name;
}

static void name_operator(const struct cli *cli, char by[CONTROL_BY_MAX])
{
    char host[HOST_TEXT_MAX] = "";
    if (cli->output != NULL) {
        snprintf(by, CONTROL_BY_MAX, "%s", cli->output->by);
        keep_ascii(by);
        return;
    }
    const char *user = user_name();
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    snprintf(by, CONTROL_BY_MAX, "%.60s%s%s", user == NULL ? "" : user, host[0] == '\0' ? "" : "@",
             host);
    keep_ascii(by);
}

/* Reads the present entries. */
static int read_entries(struct controlling *c)
{
    rd_kafka_t *rk;
    struct error error;
    int partitions, code = connect_to_look(c->cli, &rk);
    if (code != EXIT_DONE)
        return code;
    code = connect_topic(c->cli, rk, c->topic, &partitions);
    if (code == EXIT_DONE && partitions == 0)
        code = complain(c->cli, EXIT_CONFIG,
                        "topic %s does not exist, or this login may not see it: run 'delaybridge "
                        "topics apply', or allow Read on it",
                        c->topic);
    int err = code != EXIT_DONE
                  ? 0
                  : control_topic_read(rk, c->topic, c->cli->timeout_ms, &c->list, &error);
    if (err != 0)
        code =
            complain(c->cli, err == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s", error.text);
    rd_kafka_destroy(rk);
    return code;
}

static void remove_key(struct control_record *record, const char *key)
{
    *record = (struct control_record){.is_removed = true};
    snprintf(record->control.pattern, sizeof record->control.pattern, "%s", key);
}

/* Writes a record, and removes the summaries of processes that were killed. An entry that has ended
   stays: another operator may have written a new one with its pattern meanwhile, and that would be
   removed. */
static int write_entry(const struct controlling *c, const struct control_record *record)
{
    struct writing writing = {.topic = c->topic};
    size_t n = 1;
    struct control_record *records = calloc(c->list.members_n + 1, sizeof *records);
    if (records == NULL)
        return complain(c->cli, EXIT_INTERNAL, "out of memory");
    records[0] = *record;
    for (size_t i = 0; i < c->list.members_n; i++)
        if (c->now_ms - c->list.members[i].at_wall_ms > MEMBER_FORGET_MS)
            remove_key(&records[n++], c->list.members[i].key);
    int code = connect_to_write(c->cli, &writing);
    if (code == EXIT_DONE) {
        (void)control_topic_write(&writing, records, n);
        code = connect_written(c->cli, &writing);
    }
    free(records);
    return code;
}

static bool is_in_force(const struct controlling *c, const struct control_record *record)
{
    return record != NULL && record->control.until_wall_ms > c->now_ms;
}

/* Returns whether another entry has an effect on a target of the given pattern. */
static bool matches_too(const struct controlling *c, const struct control_record *other)
{
    const char *pattern = other->control.pattern;
    return is_in_force(c, other) && strcmp(pattern, c->pattern) != 0 &&
           allowlist_patterns_overlap(pattern, c->pattern);
}

static int64_t wait_after(const struct controlling *c, const struct control_record *was)
{
    const struct ladder *ladder = &c->cli->config->ladder;
    return control_wait_ms(&c->list, was, ladder->level_ms[ladder->n - 1], c->now_ms);
}

/* What a command did. */
struct outcome {
    const struct control_record *entry;    /* written; NULL: none */
    const struct control_record *replaced; /* it was in force until then; NULL: none */
    const struct control_record *removed;  /* NULL: none */
};

static json_t *entry_json(const struct control_record *record)
{
    return record == NULL ? json_null() : control_json(record);
}

static void report_json(const struct controlling *c, const struct outcome *done)
{
    json_t *others = json_array();
    for (size_t i = 0; i < c->list.n; i++)
        if (matches_too(c, &c->list.all[i]))
            json_array_append_new(others, control_json(&c->list.all[i]));
    const struct control_record *removed = done->removed;
    json_t *op = removed == NULL ? json_null() : json_string(control_op_name(removed->control.op));
    json_t *wait = removed == NULL ? json_null() : json_integer(wait_after(c, removed));
    give_json(c->cli, json_pack("{s:s, s:o, s:o, s:b, s:o, s:o, s:o}", "targets", c->pattern,
                                "entry", entry_json(done->entry), "replaced",
                                entry_json(done->replaced), "removed", removed != NULL,
                                "removed_op", op, "longest_wait_ms", wait, "others", others));
}

/* The bound after a limit is the longest level. Only a record with a late slot waits that long, so
   this number would alarm an operator. */
static void print_removed(const struct controlling *c, const struct control_record *removed)
{
    char wait[DURATION_TEXT_MAX];
    if (removed == NULL)
        printf("%s: neither paused nor limited by an entry with exactly this pattern\n",
               c->pattern);
    else if (removed->control.op == CONTROL_PAUSE)
        printf("%s: resumed, waiting records come within %s\n", c->pattern,
               duration_format(wait_after(c, removed) / 1000 * 1000, wait));
    else
        printf("%s: no longer limited. Waiting records come when they leave their level, no later "
               "than with the limit. In 'delaybridge levels', the longest level with WITHHELD "
               "records is the longest wait\n",
               c->pattern);
}

/* Reports the change, and the other entries that still match. */
static void report(const struct controlling *c, const struct outcome *done)
{
    if (c->cli->json) {
        report_json(c, done);
        return;
    }
    if (done->entry != NULL)
        control_print(done->entry, 0);
    else
        print_removed(c, done->removed);
    if (done->replaced != NULL) {
        fputs("in place of: ", stdout);
        control_print(done->replaced, 0);
    }
    for (size_t i = 0; i < c->list.n; i++) {
        if (!matches_too(c, &c->list.all[i]))
            continue;
        fputs("also in force: ", stdout);
        control_print(&c->list.all[i], 0);
    }
}

/* A misspelled target would get deliveries in spite of its pause. */
static void warn_without_target(const struct controlling *c)
{
    const struct config *config = c->cli->config;
    for (size_t i = 0; i < config->targets_n; i++)
        if (allowlist_patterns_overlap(config->targets[i], c->pattern))
            return;
    if (config->targets_n > 0)
        complain(c->cli, EXIT_DONE,
                 "warning: no entry of targets matches '%s', so this has no effect on processes "
                 "with these targets: check the spelling",
                 c->pattern);
}

static int put(struct controlling *c, enum control_op op, const struct rate *rate)
{
    int64_t for_ms = arguments_number(c->cli->arguments, "--for");
    const struct control_record *was = control_list_find(&c->list, c->pattern);
    bool replaces = is_in_force(c, was);
    bool repeats = op == CONTROL_PAUSE && replaces && was->control.op == op;
    struct control_record record = {
        .control = {.op = op,
                    .rate = *rate,
                    .at_wall_ms = repeats ? was->control.at_wall_ms : c->now_ms,
                    .until_wall_ms = for_ms == 0 ? CONTROL_ENDLESS : c->now_ms + for_ms}};
    snprintf(record.control.pattern, sizeof record.control.pattern, "%s", c->pattern);
    name_operator(c->cli, record.by);
    if (!replaces && control_count(&c->list, c->now_ms) >= CONTROLS_MAX)
        return complain(c->cli, EXIT_DATA,
                        "the topic has the greatest number of entries (%d): remove one with "
                        "'delaybridge resume'",
                        CONTROLS_MAX);
    int code = write_entry(c, &record);
    if (code != EXIT_DONE)
        return code;
    report(c, &(struct outcome){.entry = &record, .replaced = replaces ? was : NULL});
    warn_without_target(c);
    return EXIT_DONE;
}

static int remove_entry(struct controlling *c)
{
    const struct control_record *was = control_list_find(&c->list, c->pattern);
    struct control_record gone;
    remove_key(&gone, c->pattern);
    int code = was == NULL ? EXIT_NOT_FOUND : write_entry(c, &gone);
    if (code == EXIT_DONE || code == EXIT_NOT_FOUND)
        report(c, &(struct outcome){.removed = was});
    return code;
}

static int begin(struct cli *cli, struct controlling *c)
{
    *c = (struct controlling){
        .cli = cli, .pattern = cli->arguments->operands[0], .now_ms = clock_wall_ms()};
    if (!allowlist_pattern_is_legal(bytes_text(c->pattern)))
        return complain(cli, EXIT_USAGE,
                        "'%s' is not a topic name: use letters, digits, '.', '_', '-', and * for "
                        "any text",
                        c->pattern);
    topic_of_control(cli->config->schedule, c->topic);
    return read_entries(c);
}

int cmd_pause(struct cli *cli)
{
    struct controlling c;
    int code = begin(cli, &c);
    if (code == EXIT_DONE)
        code = put(&c, CONTROL_PAUSE, &(struct rate){0});
    control_list_deinit(&c.list);
    return code;
}

int cmd_resume(struct cli *cli)
{
    struct controlling c;
    int code = begin(cli, &c);
    if (code == EXIT_DONE)
        code = remove_entry(&c);
    control_list_deinit(&c.list);
    return code;
}

int cmd_limit(struct cli *cli)
{
    struct controlling c;
    struct rate rate = {0};
    const char *text = cli->arguments->operands[1];
    bool none = strcmp(text, "none") == 0;
    if (!none && rate_parse(bytes_text(text), &rate) != 0)
        return complain(cli, EXIT_USAGE,
                        "'%s' is not a rate: use 100/s, 6000/m, at most 1000000, or none", text);
    int code = begin(cli, &c);
    if (code == EXIT_DONE)
        code = none ? remove_entry(&c) : put(&c, CONTROL_LIMIT, &rate);
    control_list_deinit(&c.list);
    return code;
}
