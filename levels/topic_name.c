/* SPDX-License-Identifier: Apache-2.0 */
/* topic_name: legal names, and names made of the schedule topic, a dot and a suffix. */
#include "levels/topic_name.h"

#include "levels/duration.h"

#include <stdio.h>

bool topic_char_is_legal(char c)
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
    static const char *const SUFFIXES[] = {"pulse",  "dead-letter", "cancelled",
                                           "events", "control",     "canary"};
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

static const char *companion(const char *schedule, const char *suffix, char out[TOPIC_TEXT_MAX])
{
    snprintf(out, TOPIC_TEXT_MAX, "%s.%s", schedule, suffix);
    return out;
}

const char *topic_of_level(const char *schedule, int64_t level_ms, char out[TOPIC_TEXT_MAX])
{
    char level[DURATION_TEXT_MAX];
    return companion(schedule, duration_format(level_ms, level), out);
}

const char *topic_of_pulse(const char *schedule, char out[TOPIC_TEXT_MAX])
{
    return companion(schedule, "pulse", out);
}

const char *topic_of_dead_letter(const char *schedule, char out[TOPIC_TEXT_MAX])
{
    return companion(schedule, "dead-letter", out);
}

const char *topic_of_cancelled(const char *schedule, char out[TOPIC_TEXT_MAX])
{
    return companion(schedule, "cancelled", out);
}

const char *topic_of_events(const char *schedule, char out[TOPIC_TEXT_MAX])
{
    return companion(schedule, "events", out);
}

const char *topic_of_control(const char *schedule, char out[TOPIC_TEXT_MAX])
{
    return companion(schedule, "control", out);
}

const char *topic_of_canary(const char *schedule, char out[TOPIC_TEXT_MAX])
{
    return companion(schedule, "canary", out);
}
