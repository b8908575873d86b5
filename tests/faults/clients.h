/* SPDX-License-Identifier: Apache-2.0 */
/* clients: the producers of the service in this process, as they come and go, and how to break one
   for good. The linker sends our objects' calls of rd_kafka_new, rd_kafka_destroy and log_line here
   first (--wrap). One worker at a time. */
#ifndef DELAYBRIDGE_TESTS_FAULTS_CLIENTS_H
#define DELAYBRIDGE_TESTS_FAULTS_CLIENTS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

enum client_kind {
    KIND_HOPS,
    KIND_DELIVERIES,
    KIND_ALONE,
    KIND_FIRST, /* transactional */
    KIND_SECOND,
    KINDS
};

int clients_made(enum client_kind kind); /* so many so far */

/* A fatal error, as of itself. false: there is none of this kind. */
bool clients_break(enum client_kind kind);

/* Lines of the log that give just this as the reason: that a producer is replaced, that a
   transaction was aborted. */
int clients_told_replaced(void);
int clients_told_aborted(void);

#endif
