/* SPDX-License-Identifier: Apache-2.0 */
/* The key topic_settings: topic properties that replace the choice of the bridge. */
#include "bridge/base/memory.h"
#include "bridge/config/loader.h"
#include "bridge/config/topic_settings.h"

#include <ctype.h>
#include <stdlib.h>

const struct topic_override *config_topic_override(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->topic_overrides_n; i++)
        if (strcmp(config->topic_overrides[i].name, name) == 0)
            return &config->topic_overrides[i];
    return NULL;
}

const char *topic_setting_fixed(const char *name)
{
#define FIXED(fixed, value, why)  \
    if (strcmp(name, fixed) == 0) \
        return why;
    TOPIC_SETTINGS_FIXED(FIXED)
#undef FIXED
    return NULL;
}

static bool is_property_name(const char *name)
{
    for (const char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL)
            return false;
    return name[0] != '\0';
}

/* Returns the entry of this name, after adding it if there is none. */
static struct topic_override *entry_of(struct config *c, const char *name)
{
    for (size_t i = 0; i < c->topic_overrides_n; i++)
        if (strcmp(c->topic_overrides[i].name, name) == 0)
            return &c->topic_overrides[i];
    c->topic_overrides = memory_or_end(
        realloc(c->topic_overrides, (c->topic_overrides_n + 1) * sizeof *c->topic_overrides));
    struct topic_override *entry = &c->topic_overrides[c->topic_overrides_n++];
    *entry = (struct topic_override){.name = config_keep(name)};
    return entry;
}

int config_set_topic(struct loader *loader, const struct setting *setting)
{
    struct config *c = loader->config;
    const char *name = setting->key, *value = setting->values[0];
    const char *why = topic_setting_fixed(name);
    if (why != NULL)
        return config_refuse(loader, setting, value, "topic_settings cannot replace it: %s", why);
    if (!is_property_name(name))
        return config_refuse(loader, setting, value,
                             "not a topic property of Kafka, such as max.message.bytes");
    if (c->topic_overrides_n == TOPIC_OVERRIDES_MAX && config_topic_override(c, name) == NULL)
        return config_refuse(loader, setting, value, "topic_settings takes %d at most",
                             TOPIC_OVERRIDES_MAX);
    struct topic_override *entry = entry_of(c, name);
    free(entry->value);
    bool unset = value == NULL || value[0] == '\0' || strcmp(value, "default") == 0;
    entry->value = unset ? NULL : config_keep(value);
    return 0;
}

int config_set_topics(struct loader *loader, const struct setting *setting)
{
    for (size_t i = 0; i < setting->n; i++) {
        char *value = strchr(setting->values[i], '=');
        if (value == NULL || value == setting->values[i])
            return config_refuse(loader, setting, setting->values[i],
                                 "not NAME=VALUE, such as segment.bytes=default");
        char *name = config_keep(setting->values[i]);
        name[value++ - setting->values[i]] = '\0';
        struct setting one = {setting->where, name, &value, 1, false};
        int err = config_set_topic(loader, &one);
        free(name);
        if (err != 0)
            return err;
    }
    return 0;
}

void config_free_topics(struct config *config)
{
    for (size_t i = 0; i < config->topic_overrides_n; i++) {
        free(config->topic_overrides[i].name);
        free(config->topic_overrides[i].value);
    }
    free(config->topic_overrides);
    config->topic_overrides = NULL;
    config->topic_overrides_n = 0;
}
