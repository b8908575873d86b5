/* SPDX-License-Identifier: Apache-2.0 */
/* stage: the real service on librdkafka's mock cluster, both in this process, with somebody who
   asks and somebody who counts what comes.

   Requests name their due time, so early is early by the requests' own word. The mock keeps no
   offsets of a transaction and shows what was aborted, so exactly once it can lose nothing and be
   early with nothing, but what a fault has doubled is not held against it. */
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
    bool may_die;     /* also what is no poison may end in the dead-letter topic */
    char broken[256]; /* early or changed: the first one */
    struct error error;
};

/* Said at the end, for the runner to add up. */
#define STAGE_TWICE "delivered twice: "

enum {
    STAGE_EXACTLY_ONCE = 1,
    STAGE_THREE_BROKERS = 2,
    STAGE_TWO_WORKERS = 4,
    STAGE_SEEN = 8 /* with a canary, and a free port for a monitor */
};
void stage_open(struct stage *stage, unsigned flags);
void stage_close(struct stage *stage);

/* With three brokers: one leads the levels, one what is delivered to, one the requests. */
enum { STAGE_LEVELS = 1, STAGE_TARGETS, STAGE_SCHEDULE };
void stage_share_out(const struct stage *stage);

/* Start the service; while Kafka does not answer, again. 0 or what service_start said. */
int stage_start(struct stage *stage);
void stage_stop(struct stage *stage);

/* The configuration read again, for service_reload, which takes it. For odd n what can change while
   running is another. */
struct config *stage_config(const struct stage *stage, int n);

/* A few requests of each kind: due at once, soon (the wheel), later (one level and two), poison. */
void stage_ask(struct stage *stage);

/* Until each request was answered, or time is up. A service that ended is started again, as its
   supervisor would. Returns whether all were, with what is wrong on stderr. */
bool stage_await(struct stage *stage, int64_t timeout_ms);

/* Serve what comes for so long. */
void stage_watch(struct stage *stage, int64_t ms);

#endif
