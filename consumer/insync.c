/* SPDX-License-Identifier: Apache-2.0 */
/* One DescribeConfigs request for one topic. */
#include "consumer/insync.h"

#include "consumer/client/admin.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int least_of(const rd_kafka_ConfigResource_t *shown)
{
    size_t n;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(shown, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), "min.insync.replicas") != 0)
            continue;
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        long least = value == NULL ? 0 : strtol(value, NULL, 10);
        return least > 0 && least <= INT_MAX ? (int)least : 0;
    }
    return 0;
}

int insync_least(rd_kafka_t *rk, const char *topic, int timeout_ms)
{
    struct admin admin = {.rk = rk, .timeout_ms = timeout_ms};
    rd_kafka_ConfigResource_t *resource =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    rd_kafka_event_t *event = admin_describe(&admin, &resource, 1);
    rd_kafka_ConfigResource_destroy(resource);
    if (event == NULL)
        return 0;
    size_t n;
    const rd_kafka_ConfigResource_t **shown =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &n);
    int least = n == 1 ? least_of(shown[0]) : 0;
    rd_kafka_event_destroy(event);
    return least;
}
