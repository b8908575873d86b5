/* SPDX-License-Identifier: Apache-2.0 */
/* stage: the real service on librdkafka's mock cluster, both in this process. One client sends
   requests, and another one counts the deliveries.

   Requests name their due time, so the counting client recognizes early deliveries. The mock keeps
   no offsets of a transaction and shows aborted records. So, exactly once, lost and early records
   are failures, and duplicates that a fault has caused are not. */
#ifndef DELAYBRIDGE_TESTS_FAULTS_STAGE_H
#define DELAYBRIDGE_TESTS_FAULTS_STAGE_H

#include "bridge/config/config.h"
#include "bridge/service/service.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

enum { STAGE_REQUESTS_MAX = 256, STAGE_LANES = 2 };

struct stage_request {
    int64_t due_ms;
    bool refused; /* poison: it belongs to the dead-letter topic */
    int delivered, dead;
};

struct stage {
    struct config config;
    unsigned flags; /* as it was opened */
    rd_kafka_t *host, *producer, *reader;
    rd_kafka_mock_cluster_t *mock;
    struct service *service; /* NULL: not running */
    struct stage_request requests[STAGE_REQUESTS_MAX];
    int asked, answered; /* answered: at least once each */
    int twice, starts;
    bool may_die;     /* valid requests may end in the dead-letter topic, too */
    char broken[256]; /* early or changed: the first one */
    struct error error;
};

/* Said at the end, for the runner to add up. */
#define STAGE_TWICE "delivered twice: "

enum {
    STAGE_EXACTLY_ONCE = 1,
    STAGE_THREE_BROKERS = 2,
    STAGE_TWO_WORKERS = 4,
    STAGE_SEEN = 8,      /* with a canary, and a free port for a monitor */
    STAGE_PIPELINED = 16 /* producers send small batches, several at a time */
};
void stage_open(struct stage *stage, unsigned flags);
void stage_close(struct stage *stage);

/* With three brokers: one leads the levels, one the target and the dead-letter topic, one the
   schedule topic. */
enum { STAGE_LEVELS = 1, STAGE_TARGETS, STAGE_SCHEDULE };
void stage_share_out(const struct stage *stage);

/* Starts the service, and tries again while Kafka does not answer. Returns 0 or the error of
   service_start. */
int stage_start(struct stage *stage);
void stage_stop(struct stage *stage);

/* Returns a new configuration for service_reload, which becomes its owner. For odd n the settings
   that can change at run time have other values. */
struct config *stage_config(const struct stage *stage, int n);

/* Sends a few requests of each kind: due at once, soon (the wheel), later (one level and two),
   poison. */
void stage_ask(struct stage *stage);

/* Sends n valid requests that are due together. */
void stage_ask_together(struct stage *stage, int n, int64_t delay_ms);

/* Waits until each request was answered, at most timeout_ms. Meanwhile restarts a service that
   ended, as its supervisor would. Returns whether all were answered, none of them early or changed,
   and prints the faults on stderr. */
bool stage_await(struct stage *stage, int64_t timeout_ms);

/* Counts deliveries for this time. */
void stage_watch(struct stage *stage, int64_t ms);

#endif
