/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the bridge's topics, and the list of findings. */
#include "consumer/admin/topics.h"

#include "levels/duration.h"

#include <stdio.h>
#include <stdlib.h>

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

int findings_count(const struct findings *findings, enum finding_kind kind)
{
    int n = 0;
    for (size_t i = 0; i < findings->n; i++)
        n += findings->items[i].kind == kind;
    return n;
}

void findings_deinit(struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        free(findings->items[i].topic);
        free(findings->items[i].sentence);
        free(findings->items[i].fix);
    }
    free(findings->items);
    *findings = (struct findings){0};
}
