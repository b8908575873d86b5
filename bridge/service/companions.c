/* SPDX-License-Identifier: Apache-2.0 */
/* The shared handle is a producer, since the presence writes. Its isolation level is
   read_committed, the default, which the watch needs. */
#include "bridge/service/companions.h"

#include "bridge/base/log.h"
#include "bridge/service/presence.h"
#include "bridge/service/watch.h"
#include "consumer/client/client.h"

#include <stdlib.h>

struct companions {
    rd_kafka_t *rk;
    struct watch *watch;       /* NULL: none */
    struct presence *presence; /* NULL: none */
};

static rd_kafka_t *connect_shared(const struct config *config, struct error *error)
{
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, error);
    if (conf == NULL)
        return NULL;
    rd_kafka_conf_set(conf, "client.id", "delaybridge-companions", NULL, 0);
    rd_kafka_conf_set(conf, "acks", "all", NULL, 0);
    rd_kafka_conf_set(conf, "message.timeout.ms", "10000", NULL, 0);
    /* With a longer pause, a request of the watch could fail although a broker would answer. */
    rd_kafka_conf_set(conf, "reconnect.backoff.ms", "100", NULL, 0);
    rd_kafka_conf_set(conf, "reconnect.backoff.max.ms", "500", NULL, 0);
    rd_kafka_conf_set_dr_msg_cb(conf, presence_on_written);
    rd_kafka_conf_set_log_cb(conf, NULL); /* the workers' clients report the same outage */
    return client_new(RD_KAFKA_PRODUCER, conf, error);
}

static void start_watch(struct companions *c, const struct companions_config *config)
{
    struct error error = {""};
    struct watch_config watch = {config->config, c->rk, config->lanes, config->owned, config->ctx};
    c->watch = watch_start(&watch, &error);
    if (c->watch == NULL)
        log_error("cannot watch for open transactions, continuing without the watch: run "
                  "'delaybridge check'",
                  F_TEXT("reason", error.text));
}

static void start_presence(struct companions *c, const struct companions_config *config)
{
    struct error error = {""};
    struct presence_config presence = {config->config, c->rk, config->owned, config->ctx};
    c->presence = presence_start(&presence, &error);
    if (c->presence == NULL)
        log_error("cannot publish this process on the topic of control, check and top do not show "
                  "it: run 'delaybridge check'",
                  F_TEXT("reason", error.text));
}

struct companions *companions_start(const struct companions_config *config)
{
    struct error error = {"out of memory"};
    struct companions *c = calloc(1, sizeof *c);
    if (c != NULL)
        c->rk = connect_shared(config->config, &error);
    if (c == NULL || c->rk == NULL) {
        log_error(
            "cannot watch for open transactions and publish this process, continuing without: "
            "run 'delaybridge check'",
            F_TEXT("reason", error.text));
        free(c);
        return NULL;
    }
    start_watch(c, config);
    start_presence(c, config);
    return c;
}

void companions_update(struct companions *c, const struct config *live)
{
    if (c->presence != NULL)
        presence_update(c->presence, live);
}

struct watched companions_watched(const struct companions *c)
{
    return c->watch == NULL ? (struct watched){.open_records = -1} : watch_read(c->watch);
}

void companions_stop_watch(struct companions *c)
{
    if (c->watch != NULL)
        watch_stop(c->watch);
    c->watch = NULL;
}

/* With the watch stopped, no thread polls the handle after the presence. So no report of a write
   arrives for a presence that is freed. */
void companions_stop(struct companions *c)
{
    if (c->presence == NULL || presence_stop(c->presence)) {
        rd_kafka_purge(c->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_destroy(c->rk);
    }
    free(c);
}
