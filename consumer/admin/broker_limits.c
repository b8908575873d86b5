/* SPDX-License-Identifier: Apache-2.0 */
/* The requests to each broker. */
#include "consumer/admin/broker_limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool broker_limit_note(struct broker_limit *limit, const char *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0)
        return false;
    if (!limit->known || number < limit->least)
        limit->least = number;
    limit->known = true;
    return true;
}

static const char *value_of(const rd_kafka_ConfigResource_t *told, const char *name)
{
    size_t n;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(told, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), name) == 0)
            return rd_kafka_ConfigEntry_value(entries[i]);
    }
    return NULL;
}

static void note_answer(const rd_kafka_ConfigResource_t *told, struct broker_limit *limits,
                        size_t n, struct error *error)
{
    rd_kafka_resp_err_t err = rd_kafka_ConfigResource_error(told);
    if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        (void)error_set(error, ERR_KAFKA, "%s", rd_kafka_err2str(err));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *value = value_of(told, limits[i].name);
        if (value == NULL || !broker_limit_note(&limits[i], value))
            (void)error_set(error, ERR_KAFKA, "a broker did not return its %s", limits[i].name);
    }
}

/* Requests the settings of one broker from that broker: no other broker knows them. A request can
   name one broker only. */
static void ask_broker(struct admin *admin, int32_t id, struct broker_limit *limits, size_t n,
                       struct error *error)
{
    char name[16];
    snprintf(name, sizeof name, "%d", (int)id);
    rd_kafka_ConfigResource_t *resource =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, name);
    admin->ask = id;
    rd_kafka_event_t *event = admin_describe(admin, &resource, 1);
    rd_kafka_ConfigResource_destroy(resource);
    if (event == NULL) {
        *error = admin->error;
        return;
    }
    size_t told_n;
    const rd_kafka_ConfigResource_t **told = rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result(event), &told_n);
    for (size_t i = 0; i < told_n; i++)
        note_answer(told[i], limits, n, error);
    rd_kafka_event_destroy(event);
}

int broker_limits_ask(struct admin *admin, struct broker_limit *limits, size_t n)
{
    struct error error = {""};
    for (size_t i = 0; i < n; i++) {
        limits[i].least = 0;
        limits[i].known = false;
    }
    const rd_kafka_metadata_t *metadata;
    admin->code = rd_kafka_metadata(admin->rk, 0, NULL, &metadata, admin->timeout_ms);
    if (admin->code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return error_set(&admin->error, ERR_KAFKA, "cannot read the list of brokers: %s",
                         rd_kafka_err2str(admin->code));
    for (int i = 0; i < metadata->broker_cnt; i++)
        ask_broker(admin, metadata->brokers[i].id, limits, n, &error);
    rd_kafka_metadata_destroy(metadata);
    admin->error = error;
    return 0;
}
