/* SPDX-License-Identifier: Apache-2.0 */
/* topic_name: the schedule topic, a dot and a suffix. */
#include "levels/topic_name.h"

#include "levels/duration.h"

#include <stdio.h>

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

const char *topic_of_canary(const char *schedule, char out[TOPIC_TEXT_MAX])
{
    return companion(schedule, "canary", out);
}
