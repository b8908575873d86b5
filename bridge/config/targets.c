/* SPDX-License-Identifier: Apache-2.0 */
/* The key targets: patterns, and what each entry sets for its topics. */
#include "bridge/base/memory.h"
#include "bridge/config/loader.h"
#include "levels/topic_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void config_free_targets(struct config *c)
{
    for (size_t i = 0; i < c->targets_n; i++)
        free(c->targets[i]);
    free(c->targets);
    free(c->target_rules);
    c->targets = NULL;
    c->target_rules = NULL;
    c->targets_n = 0;
}

int config_set_targets(struct loader *loader, const struct setting *setting)
{
    struct config *c = loader->config;
    config_free_targets(c);
    if (setting->n == 0)
        return config_refuse(loader, setting, NULL,
                             "the list is empty: list the topics that requests may name");
    c->targets = memory_or_end(calloc(setting->n, sizeof *c->targets));
    for (; c->targets_n < setting->n; c->targets_n++)
        c->targets[c->targets_n] = config_keep(setting->values[c->targets_n]);
    return 0;
}

static struct target_rule *rule_of(struct config *c, size_t entry)
{
    if (c->target_rules == NULL)
        c->target_rules = memory_or_end(calloc(c->targets_n, sizeof *c->target_rules));
    return &c->target_rules[entry];
}

static int set_attempts(struct loader *loader, const struct setting *setting, int *attempts)
{
    const struct config_key *key = config_key_find("max_attempts");
    const char *text = setting->values[0];
    char *end = NULL;
    long n = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < key->least || n > key->most)
        return config_refuse(loader, setting, text, "must be a number from %lld to %lld",
                             (long long)key->least, (long long)key->most);
    *attempts = (int)n;
    return 0;
}

int config_set_target_rule(struct loader *loader, size_t entry, const struct setting *setting)
{
    struct config *c = loader->config;
    const char *text = setting->values[0];
    char path[TOPIC_NAME_MAX + 64];
    struct setting named = *setting; /* as a message names it */
    snprintf(path, sizeof path, "targets: %.*s: %.40s", TOPIC_NAME_MAX, c->targets[entry],
             setting->key);
    named.key = path;
    if (strcmp(setting->key, "max_attempts") == 0)
        return set_attempts(loader, &named, &rule_of(c, entry)->max_attempts);
    if (strcmp(setting->key, "max_rate") != 0)
        return config_refuse(loader, &named, NULL,
                             "not a field of a target: topic, max_rate, max_attempts");
    if (rate_parse(bytes_text(text), &rule_of(c, entry)->max_rate) != 0)
        return config_refuse(loader, &named, text, "not a rate, such as 100/s or 6000/m");
    return 0;
}
