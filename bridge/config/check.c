/* SPDX-License-Identifier: Apache-2.0 */
/* check: combinations of keys, and required keys. */
#include "bridge/config/address.h"
#include "bridge/config/loader.h"
#include "levels/allowlist.h"
#include "levels/compat.h"
#include "levels/duration.h"

/* The names of level topics, S.DURATION, must be legal too. */
enum { SCHEDULE_MAX = TOPIC_NAME_MAX - DURATION_TEXT_MAX };

enum { LADDER_HOLD_MS = 1000 }; /* unless the smallest level needs more */

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
                             "not a topic name: use letters, digits, '.', '_' and '-'");
    if (strncmp(schedule, "__", 2) == 0)
        return config_refuse(loader, &setting, schedule,
                             "topics that begin with __ belong to Kafka: choose another name");
    if (strlen(schedule) > SCHEDULE_MAX)
        return config_refuse(loader, &setting, schedule,
                             "too long: at most %d bytes, because names of level topics are longer",
                             SCHEDULE_MAX);
    return 0;
}

/* Returns the key at fault. If the levels are the default ones, the operator's hold or slack is at
   fault. */
static const char *ladder_key(const struct loader *loader, enum ladder_field field)
{
    switch (field) {
    case LADDER_HOLD:
        return "hold";
    case LADDER_SLACK:
        return "slack";
    case LADDER_LEVELS:
        break;
    }
    if (strcmp(setting_of(loader, "levels").where, "default") != 0)
        return "levels";
    return strcmp(setting_of(loader, "hold").where, "default") != 0 ? "hold" : "slack";
}

/* The writer and the reader of a level record agree on the hold of the ladder. So it does not grow
   with hold_ms, and members of a group may differ in that. */
static int check_ladder(struct loader *loader)
{
    struct ladder_fault fault;
    struct ladder *ladder = &loader->config->ladder;
    ladder->hold_ms = loader->config->hold_ms;
    if (ladder_check(ladder, &fault) != 0) {
        struct setting setting = setting_of(loader, ladder_key(loader, fault.field));
        return config_refuse(loader, &setting, NULL, "%s", fault.why);
    }
    int64_t least_ms = ladder->level_ms[0] - ladder->slack_ms;
    if (ladder->hold_ms > LADDER_HOLD_MS)
        ladder->hold_ms = LADDER_HOLD_MS;
    if (ladder->hold_ms < least_ms)
        ladder->hold_ms = least_ms;
    return 0;
}

static int check_retired(struct loader *loader)
{
    const struct config *c = loader->config;
    struct setting setting = setting_of(loader, "retired_levels");
    for (int i = 0; i < c->retired_n; i++) {
        char text[DURATION_TEXT_MAX], most[DURATION_TEXT_MAX];
        duration_format(c->retired_ms[i], text);
        if (c->retired_ms[i] < 1 || c->retired_ms[i] > LADDER_MS_MAX)
            return config_refuse(loader, &setting, text,
                                 "not a level: must be longer than 0s and at most %s",
                                 duration_format(LADDER_MS_MAX, most));
        for (int j = 0; j < c->ladder.n; j++)
            if (c->ladder.level_ms[j] == c->retired_ms[i])
                return config_refuse(loader, &setting, text,
                                     "is in levels as well: remove it from one of the two");
        for (int j = 0; j < i; j++)
            if (c->retired_ms[j] == c->retired_ms[i])
                return config_refuse(loader, &setting, text, "is listed twice: remove one");
    }
    return 0;
}

static const char NEVER_A_TARGET[] = "an internal topic of the bridge or of Kafka: never a target";

static int check_targets(struct loader *loader)
{
    const struct config *c = loader->config;
    struct setting setting = setting_of(loader, "targets");
    for (size_t i = 0; i < c->targets_n; i++) {
        const char *pattern = c->targets[i];
        if (!allowlist_pattern_is_legal(bytes_text(pattern)))
            return config_refuse(
                loader, &setting, pattern,
                "not a topic name: use letters, digits, '.', '_', '-', and * for any text");
        if (strchr(pattern, '*') == NULL && topic_is_internal(c->schedule, bytes_text(pattern)))
            return config_refuse(loader, &setting, pattern, NEVER_A_TARGET);
    }
    if (c->default_target == NULL)
        return 0;
    struct allowlist allowed = {(const char *const *)c->targets, c->targets_n, c->schedule};
    setting = setting_of(loader, "default_target");
    if (topic_is_internal(c->schedule, bytes_text(c->default_target)))
        return config_refuse(loader, &setting, c->default_target, NEVER_A_TARGET);
    if (!allowlist_allows(&allowed, bytes_text(c->default_target)))
        return config_refuse(loader, &setting, c->default_target,
                             "not allowed by targets: add it there");
    return 0;
}

/* In a transaction librdkafka sends only a group name of printable ASCII to the broker. */
static int check_group(struct loader *loader)
{
    const char *group = loader->config->group;
    struct setting setting = setting_of(loader, "group");
    for (const char *c = group; loader->config->exactly_once && c != NULL && *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            return config_refuse(loader, &setting, group,
                                 "must be printable ASCII with delivery: exactly-once");
    return 0;
}

static int check_events(struct loader *loader)
{
    const struct config *c = loader->config;
    struct setting setting = setting_of(loader, "events_lossy");
    if (c->events_lossy && c->exactly_once)
        return config_refuse(loader, &setting, "true",
                             "not with delivery: exactly-once, whose transactions "
                             "contain their events: remove it");
    return 0;
}

/* Dead letters of share groups need a policy. */
static int check_compat(struct loader *loader)
{
    const struct config *c = loader->config;
    const char *policy = c->compat_policy != NULL ? c->compat_policy : "default";
    struct setting setting = setting_of(loader, "compat");
    if ((c->compat & COMPAT_BIT(COMPAT_SHARE_DLQ)) == 0 ||
        retry_find(c->retry, c->retry_n, bytes_text(policy)) != NULL)
        return 0;
    return config_refuse(loader, &setting, "share-dlq",
                         "needs the policy '%s' in retry, or another one: share-dlq=POLICY",
                         policy);
}

static int check_admin(struct loader *loader)
{
    const struct config *c = loader->config;
    struct setting setting = setting_of(loader, "admin");
    if (c->admin == NULL || c->admin_token != NULL || address_is_loopback(c->admin))
        return 0;
    return config_refuse(loader, &setting, c->admin,
                         "is not loopback, so the admin API needs a token: set admin_token, or use "
                         "127.0.0.1");
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
    if (err == 0)
        err = check_events(loader);
    if (err == 0)
        err = check_admin(loader);
    if (err == 0)
        err = config_check_retry(loader);
    if (err == 0)
        err = check_compat(loader);
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
                     "bootstrap.servers is not set (%s): set it under kafka, or pass -X "
                     "bootstrap.servers=HOST:PORT",
                     file_of(config));
}

int config_require_targets(const struct config *config, struct error *error)
{
    if (config->targets_n > 0)
        return 0;
    return error_set(error, ERR_CONFIG,
                     "targets is not set (%s): list the topics that requests may name",
                     file_of(config));
}
