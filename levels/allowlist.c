/* SPDX-License-Identifier: Apache-2.0 */
/* allowlist: patterns of target topics. */
#include "levels/allowlist.h"

bool allowlist_pattern_is_legal(struct bytes pattern)
{
    const char *text = pattern.data;
    for (size_t i = 0; i < pattern.len; i++)
        if (text[i] != '*' && !topic_char_is_legal(text[i]))
            return false;
    return pattern.len > 0 && pattern.len <= TOPIC_NAME_MAX;
}

/* A star first matches the empty text, and one more character after each mismatch. Only the last
   star seen has to grow, so this needs no recursion and at most name * pattern steps. */
bool allowlist_pattern_matches(const char *pattern, struct bytes name)
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

bool allowlist_allows(const struct allowlist *allowlist, struct bytes name)
{
    if (!topic_name_is_legal(name))
        return false;
    if (topic_is_internal(allowlist->schedule, name))
        return is_canary(allowlist->schedule, name);
    for (size_t i = 0; i < allowlist->patterns_n; i++)
        if (allowlist_pattern_matches(allowlist->patterns[i], name))
            return true;
    return false;
}

int allowlist_entry(const struct allowlist *allowlist, struct bytes name)
{
    int entry = -1;
    size_t longest = 0;
    if (!topic_name_is_legal(name) || topic_is_internal(allowlist->schedule, name))
        return -1;
    for (size_t i = 0; i < allowlist->patterns_n; i++) {
        size_t literal = strcspn(allowlist->patterns[i], "*");
        if (literal < longest || !allowlist_pattern_matches(allowlist->patterns[i], name))
            continue;
        longest = literal;
        entry = (int)i;
    }
    return entry;
}
