/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of delaybridge_target_limit_per_second, as JSON. */
#include "bridge/commands/top_limits.h"

#include <string.h>

static const char PREFIX[] = "delaybridge_target_limit_per_second{target=\"";

/* Returns the value of the label, which is a pattern of topics, and sets *len. NULL: the sample is
   of another metric. */
static const char *target_of(const struct scrape_sample *sample, size_t *len)
{
    size_t n = sizeof PREFIX - 1;
    if (strncmp(sample->name, PREFIX, n) != 0)
        return NULL;
    *len = strcspn(sample->name + n, "\"");
    return sample->name + n;
}

json_t *top_limits_json(const struct scrape *now)
{
    json_t *all = json_array();
    for (size_t i = 0; i < now->n; i++) {
        size_t len;
        const char *target = target_of(&now->samples[i], &len);
        if (target != NULL)
            json_array_append_new(all, json_pack("{s:s%, s:f}", "target", target, len,
                                                 "limit_per_s", now->samples[i].value));
    }
    return all;
}
