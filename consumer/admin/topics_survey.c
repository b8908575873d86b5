/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the bridge's topics and their settings from the cluster. */
#include "consumer/admin/topics_survey.h"

#include "levels/compat.h"
#include "levels/duration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct survey *survey, enum topic_kind kind, const char *name)
{
    struct topic_seen *topic = &survey->topics[survey->topics_n++];
    topic->kind = kind;
    snprintf(topic->name, sizeof topic->name, "%s", name);
}

static int list_topics(struct survey *survey, const struct config *config)
{
    enum { OTHERS = 7 };
    char name[TOPIC_TEXT_MAX];
    size_t most = (size_t)config->ladder.n + (size_t)config->retired_n + OTHERS;
    survey->topics = calloc(most, sizeof *survey->topics);
    if (survey->topics == NULL)
        return ERR_NO_MEMORY;
    add(survey, TOPIC_SCHEDULE, config->schedule);
    survey->topics[0].takes_dead_letters = (config->compat & COMPAT_BIT(COMPAT_SHARE_DLQ)) != 0;
    for (int i = 0; i < config->ladder.n; i++)
        add(survey, TOPIC_LEVEL,
            topic_of_level(config->schedule, config->ladder.level_ms[i], name));
    for (int i = 0; i < config->retired_n; i++)
        add(survey, TOPIC_LEVEL, topic_of_level(config->schedule, config->retired_ms[i], name));
    add(survey, TOPIC_DEAD_LETTER, topic_of_dead_letter(config->schedule, name));
    add(survey, TOPIC_CANCELLED, topic_of_cancelled(config->schedule, name));
    add(survey, TOPIC_CONTROL, topic_of_control(config->schedule, name));
    add(survey, TOPIC_PULSE, topic_of_pulse(config->schedule, name));
    if (config->events != 0)
        add(survey, TOPIC_EVENTS, topic_of_events(config->schedule, name));
    if (config->canary_ms > 0)
        add(survey, TOPIC_CANARY, topic_of_canary(config->schedule, name));
    return 0;
}

static bool is_listed(const struct survey *survey, const char *name)
{
    for (size_t i = 0; i < survey->targets_n; i++)
        if (strcmp(survey->targets[i].name, name) == 0)
            return true;
    return false;
}

static void add_target(struct survey *survey, const struct config *config, const char *name)
{
    if (strchr(name, '*') != NULL || topic_is_internal(config->schedule, bytes_text(name)) ||
        is_listed(survey, name))
        return;
    struct topic_seen *target = &survey->targets[survey->targets_n++];
    target->kind = TOPIC_TARGET;
    snprintf(target->name, sizeof target->name, "%s", name);
}

static int list_targets(struct survey *survey, const struct config *config)
{
    survey->targets = calloc(config->targets_n + 1, sizeof *survey->targets);
    if (survey->targets == NULL)
        return ERR_NO_MEMORY;
    if (config->default_target != NULL)
        add_target(survey, config, config->default_target);
    for (size_t i = 0; i < config->targets_n; i++)
        add_target(survey, config, config->targets[i]);
    return 0;
}

/* Returns whether name is S.<duration>, the duration in canonical form. */
static bool is_level_like(const char *schedule, const char *name)
{
    size_t prefix = strlen(schedule);
    if (strncmp(name, schedule, prefix) != 0 || name[prefix] != '.')
        return false;
    const char *level = name + prefix + 1;
    char canonical[DURATION_TEXT_MAX];
    int64_t ms;
    return duration_parse(bytes_text(level), &ms) == 0 &&
           strcmp(duration_format(ms, canonical), level) == 0;
}

static void note(struct topic_seen *topic, const rd_kafka_metadata_topic_t *seen)
{
    topic->partitions = seen->partition_cnt;
    for (int p = 0; p < seen->partition_cnt; p++) {
        const rd_kafka_metadata_partition_t *partition = &seen->partitions[p];
        if (p == 0 || partition->replica_cnt < topic->replicas)
            topic->replicas = partition->replica_cnt;
        if (partition->leader < 0 && topic->leaderless_n++ == 0)
            topic->leaderless = partition->id;
    }
    snprintf(topic->replicas_text, sizeof topic->replicas_text, "%d", topic->replicas);
}

/* Returns the topic of this name, or NULL. */
static struct topic_seen *named(struct topic_seen *topics, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(topics[i].name, name) == 0)
            return &topics[i];
    return NULL;
}

/* Returns the topic of this name, of the bridge or a target; no topic is both. */
static struct topic_seen *known(struct survey *survey, const char *name)
{
    struct topic_seen *ours = named(survey->topics, survey->topics_n, name);
    return ours != NULL ? ours : named(survey->targets, survey->targets_n, name);
}

static int note_stray(struct survey *survey, const rd_kafka_metadata_topic_t *seen)
{
    struct topic_seen *more =
        realloc(survey->strays, (survey->strays_n + 1) * sizeof *survey->strays);
    if (more == NULL)
        return ERR_NO_MEMORY;
    survey->strays = more;
    struct topic_seen *stray = &survey->strays[survey->strays_n++];
    *stray = (struct topic_seen){.kind = TOPIC_LEVEL};
    snprintf(stray->name, sizeof stray->name, "%s", seen->topic);
    note(stray, seen);
    return 0;
}

static int note_all(struct survey *survey, const struct config *config,
                    const rd_kafka_metadata_t *metadata)
{
    for (int i = 0; i < metadata->topic_cnt; i++) {
        const rd_kafka_metadata_topic_t *seen = &metadata->topics[i];
        struct topic_seen *topic = known(survey, seen->topic);
        if (topic != NULL)
            note(topic, seen);
        else if (is_level_like(config->schedule, seen->topic) && note_stray(survey, seen) != 0)
            return ERR_NO_MEMORY;
    }
    survey->brokers = metadata->broker_cnt;
    survey->broker_ids = calloc((size_t)metadata->broker_cnt + 1, sizeof *survey->broker_ids);
    if (survey->broker_ids == NULL)
        return ERR_NO_MEMORY;
    for (int i = 0; i < metadata->broker_cnt; i++)
        survey->broker_ids[i] = metadata->brokers[i].id;
    survey->lanes =
        survey->topics[0].partitions > 0 ? survey->topics[0].partitions : config->partitions;
    return 0;
}

/* Lists all topics: a request by name creates a missing topic where brokers allow it. */
static int ask_metadata(struct admin *admin, const struct config *config, struct survey *survey)
{
    const rd_kafka_metadata_t *metadata;
    admin->code = rd_kafka_metadata(admin->rk, 1, NULL, &metadata, admin->timeout_ms);
    if (admin->code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        (void)error_set(&admin->error, ERR_KAFKA, "cannot read the list of topics: %s",
                        rd_kafka_err2str(admin->code));
        return ERR_KAFKA;
    }
    int err = note_all(survey, config, metadata);
    rd_kafka_metadata_destroy(metadata);
    return err;
}

static int keep_settings(struct topic_seen *topic, const rd_kafka_ConfigResource_t *told)
{
    size_t n;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(told, &n);
    topic->settings = calloc(n > 0 ? n : 1, sizeof *topic->settings);
    if (topic->settings == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        if (value == NULL)
            continue; /* the broker hides it as sensitive, which no setting of a topic is */
        struct topic_setting *setting = &topic->settings[topic->settings_n++];
        setting->name = strdup(rd_kafka_ConfigEntry_name(entries[i]));
        setting->value = strdup(value);
        setting->own =
            rd_kafka_ConfigEntry_source(entries[i]) == RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG;
        if (setting->name == NULL || setting->value == NULL)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int keep_answer(struct survey *survey, rd_kafka_event_t *event)
{
    size_t n;
    const rd_kafka_ConfigResource_t **told =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &n);
    for (size_t i = 0; i < n; i++) {
        const char *name = rd_kafka_ConfigResource_name(told[i]);
        rd_kafka_resp_err_t code = rd_kafka_ConfigResource_error(told[i]);
        struct topic_seen *topic = known(survey, name);
        if (topic == NULL)
            continue;
        char *unread = topic->kind == TOPIC_TARGET ? survey->targets_unread : survey->unread;
        /* Brokers check the right first, so this broker may not know the topic yet. */
        if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && topic->kind != TOPIC_TARGET)
            survey->behind = true;
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            snprintf(unread, ERROR_MAX, "%s: %s", name, rd_kafka_err2str(code));
        else if (keep_settings(topic, told[i]) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Appends the existing topics to the n resources in requested. Returns the new count. */
static size_t add_resources(rd_kafka_ConfigResource_t **requested, size_t n,
                            const struct topic_seen *topics, size_t topics_n)
{
    for (size_t i = 0; i < topics_n; i++)
        if (topics[i].partitions > 0)
            requested[n++] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topics[i].name);
    return n;
}

static int ask_settings(struct admin *admin, struct survey *survey)
{
    rd_kafka_ConfigResource_t **requested =
        calloc(survey->topics_n + survey->targets_n, sizeof(rd_kafka_ConfigResource_t *));
    if (requested == NULL)
        return ERR_NO_MEMORY;
    size_t n = add_resources(requested, 0, survey->topics, survey->topics_n);
    n = add_resources(requested, n, survey->targets, survey->targets_n);
    rd_kafka_event_t *event = n == 0 ? NULL : admin_describe(admin, requested, n);
    int err = 0;
    if (event != NULL) {
        err = keep_answer(survey, event);
        rd_kafka_event_destroy(event);
    } else if (n > 0 && admin_is_denied(admin->code)) {
        snprintf(survey->unread, sizeof survey->unread, "%s", admin->error.text);
    } else if (n > 0) {
        char why[ERROR_MAX / 2];
        snprintf(why, sizeof why, "%.*s", (int)sizeof why - 1, admin->error.text);
        err = error_set(&admin->error, ERR_KAFKA,
                        "cannot read the settings of topics from broker %d: %s", admin->ask, why);
    }
    rd_kafka_ConfigResource_destroy_array(requested, n);
    free(requested);
    return err;
}

int survey_take_from(struct admin *admin, const struct config *config, struct survey *survey)
{
    *survey = (struct survey){0};
    int err = list_topics(survey, config);
    if (err == 0)
        err = list_targets(survey, config);
    if (err == 0)
        err = ask_metadata(admin, config, survey);
    if (err == 0 && admin->ask == 0 && survey->brokers > 0)
        admin->ask = survey->broker_ids[0]; /* any broker; the controller may not be known */
    if (err == 0)
        err = ask_settings(admin, survey);
    if (err == ERR_NO_MEMORY)
        (void)error_set(&admin->error, ERR_KAFKA, "%s", err_text(err));
    return err;
}

static void free_topics(struct topic_seen *topics, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < topics[i].settings_n; k++) {
            free(topics[i].settings[k].name);
            free(topics[i].settings[k].value);
        }
        free(topics[i].settings);
    }
    free(topics);
}

void survey_deinit(struct survey *survey)
{
    free_topics(survey->topics, survey->topics_n);
    free_topics(survey->targets, survey->targets_n);
    free(survey->strays);
    free(survey->broker_ids);
    *survey = (struct survey){0};
}
