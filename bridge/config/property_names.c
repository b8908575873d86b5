/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for names that librdkafka does not know: those of the Java client, and misspelled ones. */
#include "bridge/config/property.h"

#include "levels/nearest.h"

#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAVE_OUT(why) NULL, why ": leave it out"

/* Properties of the Java client that librdkafka does not have under the same name. */
static const struct {
    const char *java;
    const char *ours;   /* librdkafka's name; NULL: there is none */
    const char *advice; /* a further hint, or NULL */
} NAMES[] = {
    {"ssl.truststore.location", "ssl.ca.location", "it takes a PEM file"},
    {"ssl.truststore.certificates", "ssl.ca.pem", NULL},
    {"ssl.truststore.password", LEAVE_OUT("the PEM file of ssl.ca.location has no password")},
    {"ssl.truststore.type", LEAVE_OUT("ssl.ca.location takes a PEM file")},
    {"ssl.keystore.type", LEAVE_OUT("ssl.keystore.location takes a PKCS#12 file")},
    {"ssl.keystore.key", "ssl.key.pem", NULL},
    {"ssl.keystore.certificate.chain", "ssl.certificate.pem", NULL},
    {"ssl.protocol", LEAVE_OUT("OpenSSL chooses the version of TLS")},
    {"ssl.enabled.protocols", LEAVE_OUT("OpenSSL chooses the version of TLS")},
    {"sasl.jaas.config", "sasl.username", "and the password is sasl.password"},
    {"sasl.client.callback.handler.class", LEAVE_OUT("librdkafka has no Java classes")},
    {"sasl.login.callback.handler.class", "sasl.oauthbearer.method",
     "or sasl.oauthbearer.config for tokens without a signature"},
    {"sasl.login.class", LEAVE_OUT("librdkafka has no Java classes")},
    {"client.dns.lookup", LEAVE_OUT("librdkafka tries every address of a name")},
    {"key.serializer", LEAVE_OUT("records are bytes")},
    {"value.serializer", LEAVE_OUT("records are bytes")},
    {"key.deserializer", LEAVE_OUT("records are bytes")},
    {"value.deserializer", LEAVE_OUT("records are bytes")},
    {"partitioner.class", LEAVE_OUT("delaybridge partitions as the Java client does")},
    {"interceptor.classes", LEAVE_OUT("librdkafka has no Java classes")},
    {"metric.reporters", LEAVE_OUT("the key listen sets the address of the metrics")},
    {"schema.registry.url", LEAVE_OUT("records are bytes")},
    {"max.request.size", LEAVE_OUT("delaybridge sets it, and the limit of the broker applies")},
    {"buffer.memory", LEAVE_OUT("the key memory limits the records in memory")},
    {"max.block.ms", LEAVE_OUT("delaybridge does not block on a full buffer")},
    {"max.poll.records", LEAVE_OUT("the key memory limits the records in memory")},
    {"fetch.max.wait.ms", "fetch.wait.max.ms", NULL},
    {"send.buffer.bytes", "socket.send.buffer.bytes", NULL},
    {"receive.buffer.bytes", "socket.receive.buffer.bytes", NULL},
    {"default.api.timeout.ms", "socket.timeout.ms", NULL},
    {"socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms", NULL},
};

/* Offers the names of librdkafka's table, which has one at the start of each line. */
static void try_all(struct nearest *nearest)
{
    char *table = NULL, name[NEAREST_NAME_MAX];
    size_t size = 0;
    FILE *file = open_memstream(&table, &size);
    if (file == NULL)
        return;
    rd_kafka_conf_properties_show(file);
    if (fclose(file) == 0) {
        for (const char *line = table; *line != '\0'; line += strcspn(line, "\n")) {
            line += strspn(line, "\n");
            snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " |\n"), line);
            if (strchr(name, '.') != NULL || strcmp(name, "acks") == 0)
                nearest_try(nearest, name);
        }
    }
    free(table);
}

bool property_is_java(const char *name, char why[PROPERTY_ERROR_MAX])
{
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcmp(NAMES[i].java, name) != 0)
            continue;
        const char *ours = NAMES[i].ours, *advice = NAMES[i].advice;
        if (ours == NULL)
            snprintf(why, PROPERTY_ERROR_MAX, "only the Java client has this property: %s", advice);
        else
            snprintf(why, PROPERTY_ERROR_MAX, "a name of the Java client: librdkafka's is %s%s%s",
                     ours, advice == NULL ? "" : ", ", advice == NULL ? "" : advice);
        return true;
    }
    return false;
}

void property_describe_unknown(const char *name, char why[PROPERTY_ERROR_MAX])
{
    struct nearest nearest;
    nearest_start(&nearest, name);
    try_all(&nearest);
    const char *near = nearest_name(&nearest);
    snprintf(why, PROPERTY_ERROR_MAX, "librdkafka has no such property%s%s%s",
             near == NULL ? "" : ": did you mean ", near == NULL ? "" : near,
             near == NULL ? "" : "?");
}
