/* SPDX-License-Identifier: Apache-2.0 */
/* show: the values of a configuration as texts, in the form of the file. */
#include "bridge/config/loader.h"
#include "levels/compat.h"
#include "levels/duration.h"

#include <inttypes.h>

static const char HIDDEN[] = "(hidden)";

/* The list of one value: [a, b]. */
struct list {
    FILE *out;
    int n;
};

static struct list list_begin(FILE *out, char open)
{
    fputc(open, out);
    return (struct list){.out = out};
}

static void list_add(struct list *list, const char *text)
{
    fprintf(list->out, "%s%s", list->n++ > 0 ? ", " : "", text);
}

static void show_spans(FILE *out, const int64_t *spans, int n)
{
    char text[DURATION_TEXT_MAX];
    struct list list = list_begin(out, '[');
    for (int i = 0; i < n; i++)
        list_add(&list, duration_format(spans[i], text));
    fputc(']', out);
}

static void show_properties(FILE *out, const struct config *config, enum client_role role)
{
    struct list list = list_begin(out, '{');
    for (size_t i = 0; i < config->kafka_n; i++) {
        const struct property *p = &config->kafka[i];
        if (p->role != role)
            continue;
        list_add(&list, p->name);
        fprintf(out, ": %s", p->secret || config_is_secret(p->name) ? HIDDEN : p->value);
    }
    fputc('}', out);
}

static void show_topics(FILE *out, const struct config *config)
{
    struct list list = list_begin(out, '{');
    for (size_t i = 0; i < config->topic_overrides_n; i++) {
        const struct topic_override *o = &config->topic_overrides[i];
        list_add(&list, o->name);
        fprintf(out, ": %s", o->value == NULL ? "default" : o->value);
    }
    fputc('}', out);
}

static void show_policy(FILE *out, const struct retry_policy *policy)
{
    char text[DURATION_TEXT_MAX];
    fprintf(out, ": {");
    if (policy->delays_n > 0) {
        fputs("delays: ", out);
        show_spans(out, policy->delays_ms, policy->delays_n);
    } else {
        fprintf(out, "first: %s, factor: %g, ", duration_format(policy->first_ms, text),
                policy->factor);
        fprintf(out, "longest: %s, attempts: %d", duration_format(policy->longest_ms, text),
                (int)policy->attempts);
    }
    fprintf(out, ", jitter: %g", policy->jitter);
    if (policy->deadline_ms > 0)
        fprintf(out, ", deadline: %s", duration_format(policy->deadline_ms, text));
    fputc('}', out);
}

static void show_retry(FILE *out, const struct config *config)
{
    struct list list = list_begin(out, '{');
    for (size_t i = 0; i < config->retry_n; i++) {
        list_add(&list, config->retry[i].name);
        show_policy(out, &config->retry[i]);
    }
    fputc('}', out);
}

static void show_events(FILE *out, unsigned events)
{
    struct list list = list_begin(out, '[');
    for (enum event_type type = 0; type < EVENT_TYPES; type++)
        if ((events & EVENT_BIT(type)) != 0)
            list_add(&list, event_name(type));
    fputc(']', out);
}

static void show_compat(FILE *out, const struct config *config)
{
    struct list list = list_begin(out, '[');
    for (enum compat format = 0; format < COMPAT_N; format++) {
        if ((config->compat & COMPAT_BIT(format)) == 0)
            continue;
        list_add(&list, compat_name(format));
        if (format == COMPAT_SHARE_DLQ && config->compat_policy != NULL)
            fprintf(out, "=%s", config->compat_policy);
    }
    fputc(']', out);
}

static void show_target(struct list *list, const struct config *config, size_t i)
{
    const struct target_rule *rule = config->target_rules == NULL ? NULL : &config->target_rules[i];
    bool is_map = rule != NULL && (rule->max_rate.records > 0 || rule->max_attempts > 0);
    char rate[RATE_TEXT_MAX];
    list_add(list, is_map ? "{topic: " : config->targets[i]);
    if (!is_map)
        return;
    fputs(config->targets[i], list->out);
    if (rule->max_rate.records > 0)
        fprintf(list->out, ", max_rate: %s", rate_format(&rule->max_rate, rate));
    if (rule->max_attempts > 0)
        fprintf(list->out, ", max_attempts: %d", rule->max_attempts);
    fputc('}', list->out);
}

static void show_targets(FILE *out, const struct config *config)
{
    struct list list = list_begin(out, '[');
    for (size_t i = 0; i < config->targets_n; i++)
        show_target(&list, config, i);
    fputc(']', out);
}

static void show_text(FILE *out, const char *text)
{
    fputs(text == NULL ? "" : text, out);
}

/* Shows a value that its member alone decides. Returns false for one that needs others. */
static bool show_member(FILE *out, enum config_type type, const void *at)
{
    char text[DURATION_TEXT_MAX];
    int64_t n = 0;
    switch (type) {
    case TYPE_TEXT:
    case TYPE_LISTEN:
        show_text(out, *(char *const *)at);
        return true;
    case TYPE_FILE:
        show_text(out, *(char *const *)at == NULL ? "" : HIDDEN);
        return true;
    case TYPE_SPAN:
    case TYPE_SIZE:
        memcpy(&n, at, sizeof n);
        if (type == TYPE_SPAN)
            fputs(duration_format(n, text), out);
        else
            fprintf(out, "%" PRId64, n);
        return true;
    case TYPE_COUNT:
        fprintf(out, "%d", *(const int *)at);
        return true;
    case TYPE_SWITCH:
        show_text(out, *(const bool *)at ? "true" : "false");
        return true;
    case TYPE_PROPERTIES:
    case TYPE_LEVELS:
    case TYPE_RETIRED:
    case TYPE_TARGETS:
    case TYPE_TOPIC_SETTINGS:
    case TYPE_RETRY:
    case TYPE_DELIVERY:
    case TYPE_LOST_OFFSETS:
    case TYPE_UNREADABLE:
    case TYPE_COMPAT:
    case TYPE_LOG_LEVEL:
    case TYPE_LOG_FORMAT:
    case TYPE_EVENTS:
        return false;
    }
    return false;
}

void config_show(FILE *out, const struct config *c, const struct config_key *key)
{
    static const char *const LEVELS[] = {"debug", "info", "warn", "error"};
    static const char *const FORMATS[] = {"auto", "logfmt", "json"};
    const char *dot = strchr(key->name, '.');
    if (show_member(out, key->type, (const char *)c + key->offset))
        return;
    switch (key->type) {
    case TYPE_TEXT:
    case TYPE_LISTEN:
    case TYPE_FILE:
    case TYPE_SPAN:
    case TYPE_SIZE:
    case TYPE_COUNT:
    case TYPE_SWITCH:
        break; /* shown */
    case TYPE_PROPERTIES:
        show_properties(out, c, dot == NULL ? CLIENT_ALL : config_role(dot + 1));
        break;
    case TYPE_LEVELS:
        show_spans(out, c->ladder.level_ms, c->ladder.n);
        break;
    case TYPE_RETIRED:
        show_spans(out, c->retired_ms, c->retired_n);
        break;
    case TYPE_TARGETS:
        show_targets(out, c);
        break;
    case TYPE_TOPIC_SETTINGS:
        show_topics(out, c);
        break;
    case TYPE_RETRY:
        show_retry(out, c);
        break;
    case TYPE_DELIVERY:
        show_text(out, c->exactly_once ? "exactly-once" : "at-least-once");
        break;
    case TYPE_LOST_OFFSETS:
        show_text(out, c->redeliver_lost ? "redeliver" : "refuse");
        break;
    case TYPE_UNREADABLE:
        show_text(out, c->skip_unreadable ? "skip" : "block");
        break;
    case TYPE_COMPAT:
        show_compat(out, c);
        break;
    case TYPE_LOG_LEVEL:
        show_text(out, LEVELS[c->log_level]);
        break;
    case TYPE_LOG_FORMAT:
        show_text(out, FORMATS[c->log_format]);
        break;
    case TYPE_EVENTS:
        show_events(out, c->events);
        break;
    }
}
