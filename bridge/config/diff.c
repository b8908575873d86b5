/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the keys that differ between two configurations. */
#include "bridge/config/loader.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_spans(const int64_t *a, int a_n, const int64_t *b, int b_n)
{
    return a_n == b_n && memcmp(a, b, (size_t)a_n * sizeof *a) == 0;
}

static bool same_rule(const struct config *a, const struct config *b, size_t i)
{
    static const struct target_rule NONE = {.max_attempts = 0};
    const struct target_rule *x = a->target_rules == NULL ? &NONE : &a->target_rules[i];
    const struct target_rule *y = b->target_rules == NULL ? &NONE : &b->target_rules[i];
    return x->max_attempts == y->max_attempts && x->max_rate.records == y->max_rate.records &&
           x->max_rate.unit_ms == y->max_rate.unit_ms;
}

static bool same_targets(const struct config *a, const struct config *b)
{
    bool same = a->targets_n == b->targets_n;
    for (size_t i = 0; same && i < a->targets_n; i++)
        same = same_text(a->targets[i], b->targets[i]) && same_rule(a, b, i);
    return same;
}

/* Compares the properties of a role one by one. The same properties in another order count as a
   difference. */
static bool same_properties(const struct config *a, const struct config *b, enum client_role role)
{
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a->kafka_n && a->kafka[i].role != role)
            i++;
        while (j < b->kafka_n && b->kafka[j].role != role)
            j++;
        if (i == a->kafka_n || j == b->kafka_n)
            return i == a->kafka_n && j == b->kafka_n;
        if (!same_text(a->kafka[i].name, b->kafka[j].name) ||
            !same_text(a->kafka[i].value, b->kafka[j].value))
            return false;
    }
}

static bool same_topics(const struct config *a, const struct config *b)
{
    bool same = a->topic_overrides_n == b->topic_overrides_n;
    for (size_t i = 0; same && i < a->topic_overrides_n; i++) {
        const struct topic_override *other = config_topic_override(b, a->topic_overrides[i].name);
        same = other != NULL && same_text(a->topic_overrides[i].value, other->value);
    }
    return same;
}

static bool same_policy(const struct retry_policy *a, const struct retry_policy *b)
{
    return a->delays_n == b->delays_n && a->first_ms == b->first_ms &&
           a->longest_ms == b->longest_ms && a->factor == b->factor && a->attempts == b->attempts &&
           a->jitter == b->jitter && a->deadline_ms == b->deadline_ms &&
           memcmp(a->delays_ms, b->delays_ms, sizeof a->delays_ms) == 0;
}

static bool same_retry(const struct config *a, const struct config *b)
{
    bool same = a->retry_n == b->retry_n;
    for (size_t i = 0; same && i < a->retry_n; i++) {
        const struct retry_policy *other =
            retry_find(b->retry, b->retry_n, bytes_text(a->retry[i].name));
        same = other != NULL && same_policy(&a->retry[i], other);
    }
    return same;
}

static bool same(const struct config_key *key, const struct config *a, const struct config *b)
{
    const char *at_a = (const char *)a + key->offset, *at_b = (const char *)b + key->offset;
    const char *dot = strchr(key->name, '.');
    switch (key->type) {
    case TYPE_PROPERTIES:
        return same_properties(a, b, dot == NULL ? CLIENT_ALL : config_role(dot + 1));
    case TYPE_TEXT:
    case TYPE_LISTEN:
    case TYPE_FILE:
        return same_text(*(char *const *)(const void *)at_a, *(char *const *)(const void *)at_b);
    case TYPE_SPAN:
    case TYPE_SIZE:
        return memcmp(at_a, at_b, sizeof(int64_t)) == 0;
    case TYPE_COUNT:
        return memcmp(at_a, at_b, sizeof(int)) == 0;
    case TYPE_LEVELS:
        return same_spans(a->ladder.level_ms, a->ladder.n, b->ladder.level_ms, b->ladder.n);
    case TYPE_RETIRED:
        return same_spans(a->retired_ms, a->retired_n, b->retired_ms, b->retired_n);
    case TYPE_TARGETS:
        return same_targets(a, b);
    case TYPE_TOPIC_SETTINGS:
        return same_topics(a, b);
    case TYPE_RETRY:
        return same_retry(a, b);
    case TYPE_DELIVERY:
        return a->exactly_once == b->exactly_once;
    case TYPE_LOST_OFFSETS:
        return a->redeliver_lost == b->redeliver_lost;
    case TYPE_COMPAT:
        return a->compat == b->compat && same_text(a->compat_policy, b->compat_policy);
    case TYPE_UNREADABLE:
        return a->skip_unreadable == b->skip_unreadable;
    case TYPE_EVENTS:
        return a->events == b->events;
    case TYPE_SWITCH:
        return memcmp(at_a, at_b, sizeof(bool)) == 0;
    case TYPE_LOG_LEVEL:
        return a->log_level == b->log_level;
    case TYPE_LOG_FORMAT:
        return a->log_format == b->log_format;
    }
    return true;
}

int config_differences(const struct config *config, const struct config *other,
                       void (*say)(void *ctx, const char *key, bool live), void *ctx)
{
    int n = 0;
    for (size_t i = 0; i < CONFIG_KEYS_N; i++) {
        if (same(&CONFIG_KEYS[i], config, other))
            continue;
        say(ctx, CONFIG_KEYS[i].name, CONFIG_KEYS[i].live);
        n++;
    }
    return n;
}
