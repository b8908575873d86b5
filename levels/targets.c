/* SPDX-License-Identifier: Apache-2.0 */
/* targets: legal, internal and allowed topic names. */
#include "levels/targets.h"
#include "levels/duration.h"

static bool topic_char_is_legal(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

bool topic_name_is_legal(struct bytes name)
{
    const char *text = name.data;
    if (name.len == 0 || name.len > TOPIC_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!topic_char_is_legal(text[i]))
            return false;
    bool dots = text[0] == '.' && (name.len == 1 || (name.len == 2 && text[1] == '.'));
    return !dots;
}

static bool is_companion(struct bytes suffix)
{
    static const char *const SUFFIXES[] = {"pulse", "dead-letter", "cancelled", "events", "canary"};
    for (size_t i = 0; i < sizeof SUFFIXES / sizeof SUFFIXES[0]; i++)
        if (bytes_equal(suffix, bytes_text(SUFFIXES[i])))
            return true;
    int64_t level_ms;
    return duration_parse(suffix, &level_ms) == 0;
}

bool topic_is_internal(const char *schedule, struct bytes name)
{
    const char *text = name.data;
    if (name.len >= 2 && text[0] == '_' && text[1] == '_')
        return true;
    size_t n = strlen(schedule);
    if (name.len < n || memcmp(text, schedule, n) != 0)
        return false;
    if (name.len == n)
        return true;
    return text[n] == '.' && is_companion(bytes_of(text + n + 1, name.len - n - 1));
}

/* A star first matches the empty text, and one more character after each mismatch. Only the last
   star seen has to grow, so this needs no recursion and at most name * pattern steps. */
static bool pattern_matches(const char *pattern, struct bytes name)
{
    const char *at = name.data, *end = at + name.len;
    const char *star = NULL, *star_at = NULL;
    while (at < end) {
        if (*pattern == '*') {
            star = pattern++;
            star_at = at;
        } else if (*pattern == *at) {
            pattern++;
            at++;
        } else if (star != NULL) {
            pattern = star + 1;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

static bool is_canary(const char *schedule, struct bytes name)
{
    size_t n = strlen(schedule);
    return name.len > n && memcmp(name.data, schedule, n) == 0 &&
           bytes_equal(bytes_of((const char *)name.data + n, name.len - n), bytes_text(".canary"));
}

bool targets_allow(const struct targets *targets, struct bytes name)
{
    if (!topic_name_is_legal(name))
        return false;
    if (topic_is_internal(targets->schedule, name))
        return is_canary(targets->schedule, name);
    for (size_t i = 0; i < targets->patterns_n; i++)
        if (pattern_matches(targets->patterns[i], name))
            return true;
    return false;
}

int targets_entry(const struct targets *targets, struct bytes name)
{
    int entry = -1;
    size_t longest = 0;
    if (!topic_name_is_legal(name) || topic_is_internal(targets->schedule, name))
        return -1;
    for (size_t i = 0; i < targets->patterns_n; i++) {
        size_t literal = strcspn(targets->patterns[i], "*");
        if (literal < longest || !pattern_matches(targets->patterns[i], name))
            continue;
        longest = literal;
        entry = (int)i;
    }
    return entry;
}
