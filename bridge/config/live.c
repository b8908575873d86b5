/* SPDX-License-Identifier: Apache-2.0 */
/* live: a copy of the keys that SIGHUP changes (.live in table.c). */
#include "bridge/config/config.h"

#include "levels/err.h"

#include <stdlib.h>
#include <string.h>

/* Copies a text that may be NULL. Returns false without memory. */
static bool keep(const char *text, char **out)
{
    *out = text == NULL ? NULL : strdup(text);
    return text == NULL || *out != NULL;
}

static bool keep_targets(struct config *to, const struct config *from)
{
    bool kept = (to->targets = calloc(from->targets_n + 1, sizeof *to->targets)) != NULL;
    for (size_t i = 0; kept && i < from->targets_n; i++, to->targets_n++)
        kept = keep(from->targets[i], &to->targets[i]);
    if (!kept || from->target_rules == NULL)
        return kept;
    to->target_rules = calloc(from->targets_n, sizeof *to->target_rules);
    if (to->target_rules != NULL)
        memcpy(to->target_rules, from->target_rules, from->targets_n * sizeof *to->target_rules);
    return to->target_rules != NULL;
}

static bool keep_retry(struct config *to, const struct config *from)
{
    bool kept = (to->retry = calloc(from->retry_n + 1, sizeof *to->retry)) != NULL;
    for (size_t i = 0; kept && i < from->retry_n; i++, to->retry_n++) {
        to->retry[i] = from->retry[i];
        kept = keep(from->retry[i].name, &to->retry[i].name);
    }
    return kept;
}

int config_copy_live(struct config *to, const struct config *from)
{
    to->targets = NULL;
    to->target_rules = NULL;
    to->targets_n = to->retry_n = 0;
    to->retry = NULL;
    to->default_target = to->compat_policy = NULL;
    to->max_delay_ms = from->max_delay_ms;
    to->max_attempts = from->max_attempts;
    to->compat = from->compat;
    to->events = from->events;
    to->log_level = from->log_level;
    if (keep_targets(to, from) && keep_retry(to, from) &&
        keep(from->default_target, &to->default_target) &&
        keep(from->compat_policy, &to->compat_policy))
        return 0;
    config_free_live(to);
    return ERR_NO_MEMORY;
}

void config_free_live(struct config *config)
{
    for (size_t i = 0; i < config->targets_n; i++)
        free(config->targets[i]);
    for (size_t i = 0; i < config->retry_n; i++)
        free(config->retry[i].name);
    free(config->targets);
    free(config->target_rules);
    free(config->retry);
    free(config->default_target);
    free(config->compat_policy);
}
