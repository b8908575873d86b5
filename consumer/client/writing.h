/* SPDX-License-Identifier: Apache-2.0 */
/* writing: one record that a command writes, and its outcome. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_WRITING_H
#define DELAYBRIDGE_CONSUMER_CLIENT_WRITING_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

/* The opaque of the record. Records with a NULL opaque may accompany it, and have no outcome. */
struct writing {
    rd_kafka_t *rk; /* borrowed; a producer with writing_conf */
    const char *topic;
    int timeout_ms;

    /* Set by writing_await. */
    rd_kafka_resp_err_t err; /* 0: a broker has acknowledged the record */
    bool is_unknown;         /* the record is stored or not */
    bool reported;
};

/* Sets the callback of a producer. */
void writing_conf(rd_kafka_conf_t *conf);

/* Waits for the report of the record, for twice timeout_ms at most. Returns err. */
rd_kafka_resp_err_t writing_await(struct writing *writing);

#endif
