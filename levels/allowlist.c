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

/* Two patterns with stars overlap if their beginnings and their ends agree. These are the texts
   before the first star and behind the last one, and the shorter of two must be a part of the
   longer. The rest of one pattern fits into a star of the other. */
bool allowlist_patterns_overlap(const char *a, const char *b)
{
    const char *a_last = strrchr(a, '*'), *b_last = strrchr(b, '*');
    if (a_last == NULL || b_last == NULL)
        return a_last == NULL ? allowlist_pattern_matches(b, bytes_text(a))
                              : allowlist_pattern_matches(a, bytes_text(b));
    size_t a_begin = strcspn(a, "*"), b_begin = strcspn(b, "*");
    size_t a_end = strlen(a_last + 1), b_end = strlen(b_last + 1);
    size_t begin = a_begin < b_begin ? a_begin : b_begin, end = a_end < b_end ? a_end : b_end;
    return memcmp(a, b, begin) == 0 &&
           memcmp(a_last + 1 + a_end - end, b_last + 1 + b_end - end, end) == 0;
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
