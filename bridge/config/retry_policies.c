/* SPDX-License-Identifier: Apache-2.0 */
/* The key retry: policies for requests with dlb-retry. */
#include "bridge/base/memory.h"
#include "bridge/config/loader.h"
#include "levels/duration.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A series without this field doubles its waits. */
static const double FACTOR = 2;

enum { PATH_MAX_BYTES = 128 };

enum field_kind { FIELD_DELAYS, FIELD_SPAN, FIELD_NUMBER, FIELD_COUNT };

static const struct field {
    const char *name;
    enum field_kind kind;
    size_t offset; /* in struct retry_policy */
    double least, most;
} FIELDS[] = {
    {"delays", FIELD_DELAYS, 0, 0, 0},
    {"first", FIELD_SPAN, offsetof(struct retry_policy, first_ms), 0, 0},
    {"longest", FIELD_SPAN, offsetof(struct retry_policy, longest_ms), 0, 0},
    {"factor", FIELD_NUMBER, offsetof(struct retry_policy, factor), 1, 100},
    {"attempts", FIELD_COUNT, offsetof(struct retry_policy, attempts), 1, RETRY_ATTEMPTS_MAX},
    {"jitter", FIELD_NUMBER, offsetof(struct retry_policy, jitter), 0, 1},
    {"deadline", FIELD_SPAN, offsetof(struct retry_policy, deadline_ms), 0, 0},
};
enum { FIELDS_N = sizeof FIELDS / sizeof *FIELDS };
static const char FIELD_NAMES[] = "delays, first, longest, factor, attempts, jitter, deadline";

static const struct field *find_field(const char *name)
{
    for (int i = 0; i < FIELDS_N; i++)
        if (strcmp(FIELDS[i].name, name) == 0)
            return &FIELDS[i];
    return NULL;
}

static bool is_policy_name(const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && strchr("_-", name[i]) == NULL)
            return false;
    return n > 0 && n <= RETRY_NAME_MAX;
}

static void add_policy(struct loader *loader, const char *name, size_t n)
{
    struct config *c = loader->config;
    size_t size = c->retry_n + 1;
    c->retry = memory_or_end(realloc(c->retry, size * sizeof *c->retry));
    loader->retry_where =
        memory_or_end(realloc(loader->retry_where, size * sizeof *loader->retry_where));
    c->retry[c->retry_n++] =
        (struct retry_policy){.name = memory_or_end(strndup(name, n)), .factor = FACTOR};
}

/* Returns the policy of this name, after adding it if there is none. */
static struct retry_policy *policy_of(struct loader *loader, const char *where, const char *name,
                                      size_t n)
{
    struct config *c = loader->config;
    size_t i = 0;
    while (i < c->retry_n &&
           (strlen(c->retry[i].name) != n || memcmp(c->retry[i].name, name, n) != 0))
        i++;
    if (i == c->retry_n)
        add_policy(loader, name, n);
    snprintf(loader->retry_where[i], WHERE_MAX, "%s", where);
    return &c->retry[i];
}

static int read_span(struct loader *loader, const struct setting *setting, const char *text,
                     int64_t *ms)
{
    if (duration_parse(bytes_text(text), ms) == 0 && *ms > 0 && *ms <= LADDER_MS_MAX)
        return 0;
    return config_refuse(loader, setting, text, "not a duration above 0s, such as 250ms or 1h30m");
}

static int read_delays(struct loader *loader, const struct setting *setting,
                       struct retry_policy *policy)
{
    if (setting->n == 0 || setting->n > RETRY_DELAYS_MAX)
        return config_refuse(loader, setting, NULL, "takes a list of 1 to %d", RETRY_DELAYS_MAX);
    int64_t delays_ms[RETRY_DELAYS_MAX] = {0};
    for (size_t i = 0; i < setting->n; i++)
        if (read_span(loader, setting, setting->values[i], &delays_ms[i]) != 0)
            return ERR_CONFIG;
    memcpy(policy->delays_ms, delays_ms, sizeof delays_ms);
    policy->delays_n = (int)setting->n;
    return 0;
}

static int read_number(struct loader *loader, const struct setting *setting,
                       const struct field *field, double *number)
{
    const char *text = setting->values[0];
    char *end = NULL;
    *number = isdigit((unsigned char)text[0]) ? strtod(text, &end) : NAN;
    if (end != NULL && *end == '\0' && *number >= field->least && *number <= field->most)
        return 0;
    return config_refuse(loader, setting, text, "must be a number from %g to %g", field->least,
                         field->most);
}

static int set_field(struct loader *loader, const struct setting *setting,
                     const struct field *field, struct retry_policy *policy)
{
    void *at = (char *)policy + field->offset;
    double number;
    int err;
    if (field->kind == FIELD_DELAYS)
        return read_delays(loader, setting, policy);
    if (setting->n != 1)
        return config_refuse(loader, setting, NULL, "takes one value, not a list");
    if (field->kind == FIELD_SPAN)
        return read_span(loader, setting, setting->values[0], at);
    if ((err = read_number(loader, setting, field, &number)) != 0)
        return err;
    if (field->kind == FIELD_NUMBER)
        *(double *)at = number;
    else if (number == floor(number))
        *(int *)at = (int)number;
    else
        err = config_refuse(loader, setting, setting->values[0], "must be a whole number");
    return err;
}

int config_set_retry(struct loader *loader, const struct setting *setting)
{
    const char *name = setting->key, *dot = strrchr(name, '.');
    const struct field *field = dot == NULL ? NULL : find_field(dot + 1);
    char path[PATH_MAX_BYTES];
    struct setting named = *setting; /* as a message names it */
    snprintf(path, sizeof path, "retry: %s", name);
    named.key = path;
    if (field == NULL)
        return config_refuse(loader, &named, NULL, "not a field of a retry policy: %s",
                             FIELD_NAMES);
    if (!is_policy_name(name, (size_t)(dot - name)))
        return config_refuse(loader, &named, NULL,
                             "a policy's name has letters, digits, '-' and '_', at most %d of them",
                             RETRY_NAME_MAX);
    return set_field(loader, &named, field,
                     policy_of(loader, setting->where, name, (size_t)(dot - name)));
}

/* Cuts text at its spaces, in place. Returns the number of items. */
static size_t cut_values(char *text, char *items[RETRY_DELAYS_MAX + 1])
{
    size_t n = 0;
    char *rest = NULL;
    for (char *item = strtok_r(text, " ", &rest); item != NULL && n <= RETRY_DELAYS_MAX;
         item = strtok_r(NULL, " ", &rest))
        items[n++] = item;
    return n;
}

int config_set_retries(struct loader *loader, const struct setting *setting)
{
    int err = 0;
    for (size_t i = 0; i < setting->n && err == 0; i++) {
        char *name = config_keep(setting->values[i]), *value = strchr(name, '=');
        char *items[RETRY_DELAYS_MAX + 1];
        if (value == NULL) {
            err = config_refuse(loader, setting, name,
                                "not POLICY.FIELD=VALUE, such as default.delays='5s 30s'");
        } else {
            *value++ = '\0';
            struct setting one = {setting->where, name, items, cut_values(value, items), false};
            err = config_set_retry(loader, &one);
        }
        free(name);
    }
    return err;
}

static int64_t longest_wait(const struct retry_policy *policy)
{
    int64_t longest_ms = policy->longest_ms;
    for (int i = 0; i < policy->delays_n; i++)
        longest_ms = policy->delays_ms[i] > longest_ms ? policy->delays_ms[i] : longest_ms;
    return longest_ms;
}

/* Returns the fault of a policy as a phrase, or NULL. */
static const char *fault_of(const struct retry_policy *policy, int64_t max_delay_ms)
{
    bool series = policy->first_ms > 0 || policy->longest_ms > 0 || policy->attempts > 0;
    if (longest_wait(policy) > max_delay_ms)
        return "has a wait above max_delay";
    if (policy->delays_n > 0)
        return series ? "has delays and a series: give delays, or first, longest and attempts"
                      : NULL;
    if (!series)
        return "has no waits: give delays, or first, longest and attempts";
    if (policy->first_ms == 0 || policy->longest_ms == 0 || policy->attempts == 0)
        return "lacks a part: a series needs first, longest and attempts";
    return policy->longest_ms < policy->first_ms ? "has a longest wait below its first" : NULL;
}

int config_check_retry(struct loader *loader)
{
    const struct config *c = loader->config;
    for (size_t i = 0; i < c->retry_n; i++) {
        struct setting setting = {.where = loader->retry_where[i], .key = "retry"};
        const char *why = fault_of(&c->retry[i], c->max_delay_ms);
        if (why != NULL)
            return config_refuse(loader, &setting, c->retry[i].name, "%s", why);
    }
    return 0;
}

void config_free_retry(struct config *config)
{
    for (size_t i = 0; i < config->retry_n; i++)
        free(config->retry[i].name);
    free(config->retry);
    config->retry = NULL;
    config->retry_n = 0;
}
