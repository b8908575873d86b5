/* SPDX-License-Identifier: Apache-2.0 */
/* The properties that the operator may not set. librdkafka checks all others. */
#include "bridge/config/property.h"

#include "levels/err.h"

#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <string.h>

/* Properties required for the delivery guarantees. ours: the key to set instead. */
static const struct {
    const char *name, *ours;
} refused[] = {
    {"acks", NULL},
    {"request.required.acks", NULL},
    {"enable.idempotence", NULL},
    {"enable.auto.commit", NULL},
    {"auto.commit.enable", NULL},
    {"enable.auto.offset.store", NULL},
    {"isolation.level", NULL},
    {"auto.offset.reset", NULL},
    {"partition.assignment.strategy", NULL},
    {"partitioner", NULL},
    {"transactional.id", "delivery"},
    {"group.id", "group"},
    {"group.protocol", NULL}, /* newer librdkafka; its other protocol has no eager assignment */
    {"allow.auto.create.topics", NULL},
    {"enable.gapless.guarantee", NULL},
    {"message.max.bytes", NULL},
    {"queue.buffering.max.messages", "memory"},
    {"queue.buffering.max.kbytes", "memory"},
    {"enable.partition.eof", NULL},
    {"check.crcs", NULL},
    {"delivery.report.only.error", NULL},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

bool property_is_ours(const char *name, const char **ours)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        if (strcmp(name, refused[i].name) != 0)
            continue;
        *ours = refused[i].ours;
        return true;
    }
    return false;
}

int property_check(const char *name, const char *value, char error[PROPERTY_ERROR_MAX])
{
    if (strcmp(name, "client.rack") == 0) { /* brokers would send its reader to a follower */
        snprintf(error, PROPERTY_ERROR_MAX,
                 "not supported: a follower that lags looks like a log that has lost its end. "
                 "Remove it");
        return ERR_RANGE;
    }
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_res_t res = rd_kafka_conf_set(conf, name, value, error, PROPERTY_ERROR_MAX);
    rd_kafka_conf_destroy(conf);
    if (res == RD_KAFKA_CONF_OK)
        return 0;
    if (property_is_java(name, error))
        return ERR_RANGE;
    if (res != RD_KAFKA_CONF_UNKNOWN)
        return ERR_CONFIG;
    property_describe_unknown(name, error);
    return ERR_RANGE;
}
