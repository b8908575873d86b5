/* SPDX-License-Identifier: Apache-2.0 */
/* What one key alone cannot show: keys against each other, and what is missing. */
#include "bridge/config/loader.h"
#include "levels/duration.h"

#include <ctype.h>

/* S.<duration> must be a legal topic name too. */
enum { SCHEDULE_MAX = TOPIC_NAME_MAX - DURATION_TEXT_MAX };

static struct setting setting_of(const struct loader *loader, const char *name)
{
    const char *where = loader->where[config_key_find(name) - CONFIG_KEYS];
    return (struct setting){.where = where[0] == '\0' ? "default" : where, .key = name};
}

static int check_schedule(struct loader *loader)
{
    const char *schedule = loader->config->schedule;
    struct setting setting = setting_of(loader, "schedule");
    if (schedule == NULL)
        return config_refuse(loader, &setting, "", "must not be empty");
    if (!topic_name_is_legal(bytes_text(schedule)))
        return config_refuse(loader, &setting, schedule,
                             "not a topic name: letters, digits, '.', '_' and '-' are");
    if (strncmp(schedule, "__", 2) == 0)
        return config_refuse(loader, &setting, schedule,
                             "topics that begin with __ belong to Kafka itself");
    if (strlen(schedule) > SCHEDULE_MAX)
        return config_refuse(loader, &setting, schedule,
                             "too long: the names of level topics need room, %d at most",
                             SCHEDULE_MAX);
    return 0;
}

/* The key that ladder_check complains of: the first that its sentence is about. */
static const char *ladder_culprit(const struct loader *loader, const char *why)
{
    const char *const KEYS[] = {"hold", "slack"};
    for (size_t i = 0; i < 2; i++)
        if (strncmp(why, KEYS[i], strlen(KEYS[i])) == 0)
            return KEYS[i];
    struct setting levels = setting_of(loader, "levels");
    if (strcmp(levels.where, "default") != 0)
        return "levels";
    return strcmp(setting_of(loader, "hold").where, "default") != 0 ? "hold" : "slack";
}

static int check_ladder(struct loader *loader)
{
    char why[300];
    if (ladder_check(&loader->config->ladder, why, sizeof why) == 0)
        return 0;
    struct setting setting = setting_of(loader, ladder_culprit(loader, why));
    return config_refuse(loader, &setting, NULL, "%s", why);
}

static int check_retired(struct loader *loader)
{
    const struct config *c = loader->config;
    struct setting setting = setting_of(loader, "retired_levels");
    for (int i = 0; i < c->retired_n; i++) {
        char text[DURATION_TEXT_MAX];
        duration_format(c->retired_ms[i], text);
        if (c->retired_ms[i] < 1 || c->retired_ms[i] > LADDER_MS_MAX)
            return config_refuse(loader, &setting, text, "not a level");
        for (int j = 0; j < c->ladder.n; j++)
            if (c->ladder.level_ms[j] == c->retired_ms[i])
                return config_refuse(loader, &setting, text,
                                     "is in levels as well: remove it from one of the two");
        for (int j = 0; j < i; j++)
            if (c->retired_ms[j] == c->retired_ms[i])
                return config_refuse(loader, &setting, text, "is there twice: remove one");
    }
    return 0;
}

static bool pattern_is_legal(const char *pattern)
{
    for (const char *c = pattern; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._-*", *c) == NULL)
            return false;
    return pattern[0] != '\0' && strlen(pattern) <= TOPIC_NAME_MAX;
}

static const char NEVER_A_TARGET[] = "one of the bridge's or Kafka's own topics: never a target";

static int check_targets(struct loader *loader)
{
    const struct config *c = loader->config;
    struct setting setting = setting_of(loader, "targets");
    for (size_t i = 0; i < c->targets_n; i++) {
        const char *pattern = c->targets[i];
        if (!pattern_is_legal(pattern))
            return config_refuse(
                loader, &setting, pattern,
                "no topic has such a name: letters, digits, '.', '_', '-', and * for any");
        if (strchr(pattern, '*') == NULL && topic_is_internal(c->schedule, bytes_text(pattern)))
            return config_refuse(loader, &setting, pattern, NEVER_A_TARGET);
    }
    if (c->default_target == NULL)
        return 0;
    struct targets allowed = {(const char *const *)c->targets, c->targets_n, c->schedule};
    setting = setting_of(loader, "default_target");
    if (topic_is_internal(c->schedule, bytes_text(c->default_target)))
        return config_refuse(loader, &setting, c->default_target, NEVER_A_TARGET);
    if (!targets_allow(&allowed, bytes_text(c->default_target)))
        return config_refuse(loader, &setting, c->default_target,
                             "targets does not allow it: add it there");
    return 0;
}

/* librdkafka does not take another one to the broker in a transaction. */
static int check_group(struct loader *loader)
{
    const char *group = loader->config->group;
    struct setting setting = setting_of(loader, "group");
    for (const char *c = group; loader->config->exactly_once && c != NULL && *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            return config_refuse(loader, &setting, group,
                                 "with delivery: exactly-once it must be of printable ASCII");
    return 0;
}

int config_check(struct loader *loader)
{
    int err = check_schedule(loader);
    if (err == 0)
        err = check_ladder(loader);
    if (err == 0)
        err = check_retired(loader);
    if (err == 0)
        err = check_targets(loader);
    if (err == 0)
        err = check_group(loader);
    return err;
}

static bool has_property(const struct config *config, const char *name)
{
    const char *value = config_property(config, CLIENT_ALL, name);
    return value != NULL && value[0] != '\0';
}

static const char *file_of(const struct config *config)
{
    return config->path != NULL ? config->path : "no configuration file";
}

int config_require_brokers(const struct config *config, struct error *error)
{
    if (has_property(config, "bootstrap.servers") || has_property(config, "metadata.broker.list"))
        return 0;
    return error_set(error, ERR_CONFIG,
                     "%s: kafka: bootstrap.servers is not set: name the brokers, HOST:PORT,…",
                     file_of(config));
}

int config_require_targets(const struct config *config, struct error *error)
{
    if (config->targets_n > 0)
        return 0;
    return error_set(error, ERR_CONFIG,
                     "%s: targets is not set: name the topics that requests may go to",
                     file_of(config));
}
