/* SPDX-License-Identifier: Apache-2.0 */
/* Live processes, and what differs between them. */
#include "consumer/admin/members.h"

#include "bridge/base/clock.h"
#include "consumer/admin/offsets.h"
#include "consumer/admin/topics_survey.h"
#include "consumer/client/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_MAX = 700 };
#define SAME_CONFIG "give all processes of the group the same configuration"

static int compare_members(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    int hosts = strcmp(left->host, right->host);
    int addresses = hosts != 0 ? hosts : strcmp(left->address, right->address);
    if (addresses != 0)
        return addresses;
    return (left->at_wall_ms < right->at_wall_ms) - (left->at_wall_ms > right->at_wall_ms);
}

/* Two processes cannot listen at one address. So the older summary is of a process that was killed,
   and that has started again. The list is sorted. */
static void drop_predecessors(struct control_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->members_n; i++) {
        const struct member *one = &list->members[i];
        const struct member *last = n == 0 ? NULL : &list->members[n - 1];
        bool is_old = last != NULL && one->address[0] != '\0' &&
                      strcmp(one->address, last->address) == 0 &&
                      strcmp(one->host, last->host) == 0;
        if (!is_old)
            list->members[n++] = *one;
    }
    list->members_n = n;
}

void members_keep_alive(struct control_list *list, int64_t now_wall_ms)
{
    size_t n = 0;
    for (size_t i = 0; i < list->members_n; i++)
        if (member_is_alive(&list->members[i], now_wall_ms))
            list->members[n++] = list->members[i];
    list->members_n = n;
    if (n > 0)
        qsort(list->members, n, sizeof *list->members, compare_members);
    drop_predecessors(list);
}

const char *member_name(const struct member *m)
{
    return m->address[0] != '\0' ? m->address : m->host;
}

/* The settings that must be equal. */
static const char *targets_of(const struct member *m)
{
    return m->targets;
}
static const char *levels_of(const struct member *m)
{
    return m->levels;
}
static const char *delivery_of(const struct member *m)
{
    return m->delivery;
}
static const char *version_of(const struct member *m)
{
    return m->version;
}

static const struct setting_of_members {
    const char *name;
    const char *(*of)(const struct member *member);
    const char *fix;
} SETTINGS[] = {{"targets", targets_of, SAME_CONFIG},
                {"levels", levels_of, SAME_CONFIG},
                {"delivery", delivery_of, SAME_CONFIG},
                {"version", version_of, "upgrade all processes of the group"}};
enum { SETTINGS_N = sizeof SETTINGS / sizeof SETTINGS[0] };

/* Returns the first process with another value than the first one. NULL: all are equal. */
static const struct member *other_of(const struct control_list *list,
                                     const char *(*of)(const struct member *member))
{
    for (size_t i = 1; i < list->members_n; i++)
        if (strcmp(of(&list->members[i]), of(&list->members[0])) != 0)
            return &list->members[i];
    return NULL;
}

/* Keys that only the hash covers, such as retry. */
static void compare_hashes(const struct control_list *list,
                           void (*differ)(void *ctx, const char *sentence), void *ctx)
{
    char sentence[SENTENCE_MAX];
    const struct member *first = list->members;
    for (size_t i = 1; i < list->members_n; i++) {
        const struct member *other = &list->members[i];
        if (other->config == first->config)
            continue;
        snprintf(sentence, sizeof sentence,
                 "processes differ in default_target, compat, retry or a long list of targets: %s "
                 "and %s: " SAME_CONFIG,
                 member_name(first), member_name(other));
        differ(ctx, sentence);
        return;
    }
}

void members_compare(const struct control_list *list,
                     void (*differ)(void *ctx, const char *sentence), void *ctx)
{
    char sentence[SENTENCE_MAX];
    bool is_equal = true;
    for (int i = 0; list->members_n > 0 && i < SETTINGS_N; i++) {
        const struct setting_of_members *setting = &SETTINGS[i];
        const struct member *first = list->members, *other = other_of(list, setting->of);
        if (other == NULL)
            continue;
        snprintf(sentence, sizeof sentence,
                 "processes differ in %s: %s has %.150s, %s has %.150s: %s", setting->name,
                 member_name(first), setting->of(first), member_name(other), setting->of(other),
                 setting->fix);
        differ(ctx, sentence);
        is_equal &= setting->of == version_of;
    }
    if (is_equal)
        compare_hashes(list, differ, ctx);
}

/* Lists all topics, because metadata for one name could create that topic. */
static int find_topic(rd_kafka_t *rk, const char *topic, int timeout_ms, struct error *error)
{
    const rd_kafka_metadata_t *metadata;
    rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 1, NULL, &metadata, timeout_ms);
    bool found = false;
    if (code != 0)
        return error_set(error, ERR_KAFKA, "%s", rd_kafka_err2str(code));
    for (int i = 0; i < metadata->topic_cnt; i++)
        found |= strcmp(metadata->topics[i].topic, topic) == 0;
    rd_kafka_metadata_destroy(metadata);
    return found ? 0
                 : error_set(error, ERR_TOPICS,
                             "topic %s does not exist, or this login may not see it", topic);
}

int members_look(const struct config *config, int timeout_ms, struct control_list *list,
                 struct error *error)
{
    char topic[TOPIC_TEXT_MAX];
    *list = (struct control_list){0};
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, error);
    if (conf == NULL)
        return ERR_CONFIG;
    offsets_conf(config, conf);
    rd_kafka_t *rk = client_new(RD_KAFKA_CONSUMER, conf, error);
    if (rk == NULL)
        return ERR_CONFIG;
    topic_of_control(config->schedule, topic);
    int err = find_topic(rk, topic, timeout_ms, error);
    if (err == 0)
        err = control_topic_read(rk, topic, timeout_ms, list, error);
    rd_kafka_destroy(rk);
    members_keep_alive(list, clock_wall_ms());
    return err;
}

struct judging {
    struct findings *findings;
    const char *topic;
};

static void add_warning(void *ctx, const char *sentence)
{
    struct judging *judging = ctx;
    finding_add(judging->findings, FINDING_WARN, judging->topic, NULL, "%s", sentence);
}

int members_judge(const struct config *config, int timeout_ms, struct findings *findings,
                  size_t *processes, struct error *error)
{
    struct control_list list;
    char topic[TOPIC_TEXT_MAX];
    struct judging judging = {findings, topic_of_control(config->schedule, topic)};
    int err = members_look(config, timeout_ms, &list, error);
    if (err == 0)
        members_compare(&list, add_warning, &judging);
    else if (err == ERR_CONFIG)
        finding_add(findings, FINDING_FAULT, topic, NULL,
                    "paused targets get records after a start, and processes are not compared: %s",
                    error->text);
    *processes = list.members_n;
    control_list_deinit(&list);
    return err;
}
