/* SPDX-License-Identifier: Apache-2.0 */
/* value: parses the text of one value into struct config. */
#include "bridge/base/memory.h"
#include "bridge/base/quote.h"
#include "bridge/config/address.h"
#include "bridge/config/loader.h"
#include "levels/compat.h"
#include "levels/duration.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

char *config_keep(const char *text)
{
    return memory_or_end(strdup(text));
}

int config_refuse(struct loader *loader, const struct setting *setting, const char *value,
                  const char *format, ...)
{
    char why[300], quoted[100] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (value != NULL && !setting->secret)
        quote_text(value, quoted, sizeof quoted);
    return error_set(loader->error, ERR_CONFIG, "%s: %s%s%s: %s", setting->where, setting->key,
                     quoted[0] == '\0' ? "" : ": ", quoted, why);
}

/* The types. Each function parses one text and returns NULL, or a phrase that describes its fault.
 */

static const char *read_span(const char *text, int64_t *ms)
{
    return duration_parse(bytes_text(text), ms) == 0
               ? NULL
               : "not a duration, such as 250ms, 30s, 1h30m or 40d";
}

static const char *read_digits(const char *text, int64_t *n, const char **end)
{
    char *stop;
    errno = 0;
    long long got = isdigit((unsigned char)text[0]) ? strtoll(text, &stop, 10) : -1;
    if (got < 0 || errno != 0)
        return "not a number";
    *n = got;
    *end = stop;
    return NULL;
}

static const char *read_count(const char *text, int64_t *n)
{
    const char *end;
    const char *why = read_digits(text, n, &end);
    return why != NULL || *end == '\0' ? why : "not a whole number";
}

static const char *read_size(const char *text, int64_t *bytes)
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int64_t n;
    const char *end;
    if (read_digits(text, &n, &end) != NULL)
        return "not a size, such as 256MiB";
    if (*end == '\0') {
        *bytes = n;
        return NULL;
    }
    for (int i = 0; i < 5; i++) {
        if (strcmp(end, UNITS[i]) != 0)
            continue;
        if (n > INT64_MAX >> (10 * i))
            return "too large";
        *bytes = n << (10 * i);
        return NULL;
    }
    return "not a size: its unit is one of B, KiB, MiB, GiB, TiB";
}

static const char *read_choice(const char *text, const char *const *choices, int *choice)
{
    for (int i = 0; choices[i] != NULL; i++)
        if (strcmp(text, choices[i]) == 0) {
            *choice = i;
            return NULL;
        }
    return "";
}

/* The keys. */

static int set_number(struct loader *loader, const struct config_key *key,
                      const struct setting *setting)
{
    const char *text = setting->values[0];
    int64_t n = 0;
    const char *why = key->type == TYPE_SPAN   ? read_span(text, &n)
                      : key->type == TYPE_SIZE ? read_size(text, &n)
                                               : read_count(text, &n);
    if (why != NULL)
        return config_refuse(loader, setting, text, "%s", why);
    if (n < key->least || n > key->most) {
        char least[DURATION_TEXT_MAX], most[DURATION_TEXT_MAX];
        if (key->type == TYPE_SPAN)
            return config_refuse(loader, setting, text, "must be between %s and %s",
                                 duration_format(key->least, least),
                                 duration_format(key->most, most));
        int shift = key->type == TYPE_SIZE ? 20 : 0;
        return config_refuse(loader, setting, text, "must be between %lld%s and %lld%s",
                             (long long)(key->least >> shift), shift ? "MiB" : "",
                             (long long)(key->most >> shift), shift ? "MiB" : "");
    }
    char *at = (char *)loader->config + key->offset;
    if (key->type == TYPE_COUNT)
        memcpy(at, &(int){(int)n}, sizeof(int));
    else
        memcpy(at, &n, sizeof n);
    return 0;
}

static void set_text(struct loader *loader, const struct config_key *key, const char *text)
{
    char **at = (char **)(void *)((char *)loader->config + key->offset);
    free(*at);
    *at = text[0] == '\0' ? NULL : config_keep(text);
}

static int set_spans(struct loader *loader, const struct config_key *key,
                     const struct setting *setting)
{
    struct config *c = loader->config;
    int64_t *spans = key->type == TYPE_LEVELS ? c->ladder.level_ms : c->retired_ms;
    if (setting->n > LADDER_MAX)
        return config_refuse(loader, setting, NULL,
                             "%zu levels are too many: at most %d are allowed", setting->n,
                             LADDER_MAX);
    for (size_t i = 0; i < setting->n; i++) {
        const char *why = read_span(setting->values[i], &spans[i]);
        if (why != NULL)
            return config_refuse(loader, setting, setting->values[i], "%s", why);
    }
    *(key->type == TYPE_LEVELS ? &c->ladder.n : &c->retired_n) = (int)setting->n;
    return 0;
}

static int set_choice(struct loader *loader, const struct config_key *key,
                      const struct setting *setting)
{
    static const char *const LEVELS[] = {"debug", "info", "warn", "error", NULL};
    static const char *const FORMATS[] = {"auto", "logfmt", "json", NULL};
    bool level = key->type == TYPE_LOG_LEVEL;
    int choice;
    if (read_choice(setting->values[0], level ? LEVELS : FORMATS, &choice) != NULL)
        return config_refuse(loader, setting, setting->values[0], "not one of %s",
                             level ? "debug, info, warn, error" : "auto, logfmt, json");
    if (level)
        loader->config->log_level = (enum log_level)choice;
    else
        loader->config->log_format = (enum log_format)choice;
    return 0;
}

static int set_delivery(struct loader *loader, const struct setting *setting)
{
    const char *text = setting->values[0];
    loader->config->exactly_once = strcmp(text, "exactly-once") == 0;
    if (loader->config->exactly_once || strcmp(text, "at-least-once") == 0)
        return 0;
    return config_refuse(loader, setting, text, "not one of at-least-once, exactly-once");
}

static int set_lost_offsets(struct loader *loader, const struct setting *setting)
{
    const char *text = setting->values[0];
    loader->config->redeliver_lost = strcmp(text, "redeliver") == 0;
    if (loader->config->redeliver_lost || strcmp(text, "refuse") == 0)
        return 0;
    return config_refuse(loader, setting, text, "not one of refuse, redeliver");
}

static int set_unreadable(struct loader *loader, const struct setting *setting)
{
    const char *text = setting->values[0];
    loader->config->skip_unreadable = strcmp(text, "skip") == 0;
    if (loader->config->skip_unreadable || strcmp(text, "block") == 0)
        return 0;
    return config_refuse(loader, setting, text, "not one of block, skip");
}

static int set_events(struct loader *loader, const struct setting *setting)
{
    unsigned events = 0;
    for (size_t i = 0; i < setting->n; i++) {
        const char *text = setting->values[i];
        int type = event_type_of(bytes_text(text));
        if (type >= 0)
            events |= EVENT_BIT(type);
        else if (strcmp(text, "default") == 0)
            events |= EVENTS_DEFAULT;
        else if (strcmp(text, "all") == 0)
            events |= EVENTS_ALL;
        else
            return config_refuse(loader, setting, text,
                                 "not an event. Write default, all, or names such as cancelled");
    }
    loader->config->events = events;
    return 0;
}

static int set_switch(struct loader *loader, const struct config_key *key,
                      const struct setting *setting)
{
    static const char *const CHOICES[] = {"false", "true", NULL};
    int choice;
    if (read_choice(setting->values[0], CHOICES, &choice) != NULL)
        return config_refuse(loader, setting, setting->values[0], "not one of true, false");
    memcpy((char *)loader->config + key->offset, &(bool){choice == 1}, sizeof(bool));
    return 0;
}

/* Reads FORMAT, or share-dlq=POLICY. *policy is NULL without one. */
static enum compat read_format(const char *text, const char **policy)
{
    const char *sign = strchr(text, '=');
    size_t n = sign == NULL ? strlen(text) : (size_t)(sign - text);
    *policy = sign == NULL ? NULL : sign + 1;
    for (enum compat format = COMPAT_NONE + 1; format < COMPAT_N; format++) {
        const char *name = compat_name(format);
        if (strlen(name) == n && memcmp(name, text, n) == 0)
            return sign == NULL || format == COMPAT_SHARE_DLQ ? format : COMPAT_NONE;
    }
    return COMPAT_NONE;
}

static int set_compat(struct loader *loader, const struct setting *setting)
{
    struct config *c = loader->config;
    unsigned formats = 0;
    free(c->compat_policy);
    c->compat_policy = NULL;
    for (size_t i = 0; i < setting->n; i++) {
        const char *policy;
        enum compat format = read_format(setting->values[i], &policy);
        if (format == COMPAT_NONE)
            return config_refuse(loader, setting, setting->values[i],
                                 "not one of rocketmq, rabbitmq, etf1, karafka, spring, share-dlq, "
                                 "share-dlq=POLICY");
        if (policy != NULL && c->compat_policy != NULL)
            return config_refuse(loader, setting, setting->values[i],
                                 "is the second policy, and share-dlq takes one");
        formats |= COMPAT_BIT(format);
        if (policy != NULL)
            c->compat_policy = config_keep(policy);
    }
    c->compat = formats;
    return 0;
}

/* Sets HOST:PORT, [ADDRESS]:PORT or an empty text. Host names are resolved when the service starts.
 */
static int set_listen(struct loader *loader, const struct config_key *key,
                      const struct setting *setting)
{
    const char *text = setting->values[0], *end = "";
    char host[HOST_MAX];
    const char *digits = address_cut(text, host);
    int64_t port = 0;
    if (text[0] != '\0' &&
        (digits == NULL || read_digits(digits, &port, &end) != NULL || *end != '\0'))
        return config_refuse(loader, setting, text, "not HOST:PORT, such as 127.0.0.1:9404");
    if (port > 65535)
        return config_refuse(loader, setting, text, "a port is at most 65535");
    set_text(loader, key, text);
    return 0;
}

/* Sets the path of a file with a secret. A value that is no path may be the secret, which the error
   must not quote. */
static int set_file(struct loader *loader, const struct config_key *key,
                    const struct setting *setting)
{
    const char *path = setting->values[0];
    if (path[0] != '/' && path[0] != '.')
        return config_refuse(loader, setting, NULL,
                             "takes the path of a file, which begins with / or .");
    set_text(loader, key, path);
    return 0;
}

static int set_value(struct loader *loader, const struct config_key *key,
                     const struct setting *setting)
{
    switch (key->type) {
    case TYPE_SPAN:
    case TYPE_SIZE:
    case TYPE_COUNT:
        return set_number(loader, key, setting);
    case TYPE_TEXT:
        set_text(loader, key, setting->values[0]);
        return 0;
    case TYPE_LEVELS:
    case TYPE_RETIRED:
        return set_spans(loader, key, setting);
    case TYPE_TARGETS:
        return config_set_targets(loader, setting);
    case TYPE_TOPIC_SETTINGS:
        return config_set_topics(loader, setting);
    case TYPE_RETRY:
        return config_set_retries(loader, setting);
    case TYPE_LOST_OFFSETS:
        return set_lost_offsets(loader, setting);
    case TYPE_UNREADABLE:
        return set_unreadable(loader, setting);
    case TYPE_SWITCH:
        return set_switch(loader, key, setting);
    case TYPE_COMPAT:
        return set_compat(loader, setting);
    case TYPE_DELIVERY:
        return set_delivery(loader, setting);
    case TYPE_LOG_LEVEL:
    case TYPE_LOG_FORMAT:
        return set_choice(loader, key, setting);
    case TYPE_EVENTS:
        return set_events(loader, setting);
    case TYPE_LISTEN:
        return set_listen(loader, key, setting);
    case TYPE_FILE:
        return set_file(loader, key, setting);
    case TYPE_PROPERTIES:
        break;
    }
    return config_refuse(loader, setting, setting->values[0],
                         "set Kafka properties one by one: -X NAME=VALUE");
}

int config_set(struct loader *loader, const struct config_key *key, const struct setting *setting)
{
    if (!config_key_is_list(key) && setting->n != 1)
        return config_refuse(loader, setting, NULL, "takes one value, not a list");
    for (size_t i = 0; i < setting->n; i++)
        assert(setting->values[i] != NULL);
    snprintf(loader->where[key - CONFIG_KEYS], WHERE_MAX, "%s", setting->where);
    return set_value(loader, key, setting);
}

/* Cuts text at its commas, in place, and removes the spaces around each item. */
static size_t cut_list(char *text, char **items, size_t items_n)
{
    size_t n = 0;
    for (char *next = text; next != NULL && n < items_n; n++) {
        char *item = strsep(&next, ",");
        item += strspn(item, " ");
        for (size_t end = strlen(item); end > 0 && item[end - 1] == ' '; end--)
            item[end - 1] = '\0';
        items[n] = item;
    }
    return n;
}

static int set_list_text(struct loader *loader, const struct config_key *key, const char *where,
                         char *text)
{
    size_t commas = 0;
    for (const char *c = text; *c != '\0'; c++)
        commas += *c == ',';
    char **items = memory_or_end(calloc(commas + 1, sizeof(char *)));
    size_t n = text[0] == '\0' ? 0 : cut_list(text, items, commas + 1);
    struct setting setting = {where, key->name, items, n, false};
    int err = config_set(loader, key, &setting);
    free(items);
    return err;
}

int config_set_text(struct loader *loader, const struct config_key *key, const char *where,
                    const char *text)
{
    char *value = (char *)text; /* only read */
    struct setting setting = {where, key->name, &value, 1, false};
    if (!config_key_is_list(key))
        return config_set(loader, key, &setting);
    char *copy = config_keep(text);
    int err = set_list_text(loader, key, where, copy);
    free(copy);
    return err;
}
