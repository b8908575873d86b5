/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a worker: made, connected and freed. */
#include "bridge/base/clock.h"
#include "bridge/config/rules.h"
#include "bridge/service/labels.h"
#include "bridge/service/worker_parts.h"
#include "consumer/client/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum {
    SESSION_MS = 6000, /* unless the operator sets session.timeout.ms */
    BULK_SHARE = 16,   /* 1/BULK_SHARE of memory */
    BULK_BYTES_MIN = 8 << 20,
    LARGE_SHARE = 256 /* 1/LARGE_SHARE of memory: a record of the usual 1 MB is not large */
};

static int name_topics(struct worker *w)
{
    const struct config *c = w->config.config;
    w->slots = 1 + c->ladder.n + c->retired_n;
    w->names = calloc((size_t)w->slots, sizeof *w->names);
    w->topics = calloc((size_t)w->slots + 1, sizeof *w->topics);
    w->lanes = calloc((size_t)w->config.lanes, sizeof *w->lanes);
    w->skip_search_offsets =
        calloc((size_t)w->config.lanes * (size_t)w->slots, sizeof *w->skip_search_offsets);
    w->missing = calloc((size_t)w->slots, sizeof *w->missing);
    w->partitions = calloc((size_t)w->slots, sizeof *w->partitions);
    if (!w->names || !w->topics || !w->lanes || !w->skip_search_offsets || !w->missing ||
        !w->partitions)
        return ERR_NO_MEMORY;
    for (int i = 0; i < w->config.lanes * w->slots; i++)
        w->skip_search_offsets[i] = -1;
    w->topics[SLOT_SCHEDULE] = c->schedule;
    for (int i = 1; i < w->slots; i++) {
        int64_t ms = ladder_slot_ms(&c->ladder, c->retired_ms, i);
        w->topics[i] = topic_of_level(c->schedule, ms, w->names[i]);
    }
    topic_of_pulse(c->schedule, w->pulse);
    topic_of_dead_letter(c->schedule, w->dead_letter);
    w->topics[w->slots] = topic_of_cancelled(c->schedule, w->cancelled);
    topic_of_events(c->schedule, w->events);
    topic_of_control(c->schedule, w->control);
    w->notices = (struct notices){.topics = w->topics,
                                  .dead_letter = w->dead_letter,
                                  .cancelled = w->cancelled,
                                  .events = w->events,
                                  .group = c->group,
                                  .targets = worker_rules(w, c).allowlist,
                                  .limit = LIMIT_INIT(NOTICE_EVERY_MS, 1)};
    return 0;
}

/* Returns the rules of the live configuration. The schedule topic and
   cancel_on_tombstone cannot change. */
struct request_rules worker_rules(const struct worker *w, const struct config *live)
{
    struct request_rules rules = config_rules(live);
    rules.allowlist.schedule = w->config.config->schedule;
    rules.cancel_on_tombstone = w->config.config->cancel_on_tombstone;
    return rules;
}

/* Returns a limit well above the bytes that the client fetches ahead without compression. */
static int64_t bulk_bytes(int64_t memory_bytes)
{
    return memory_bytes / BULK_SHARE > BULK_BYTES_MIN ? memory_bytes / BULK_SHARE : BULK_BYTES_MIN;
}

/* Hashes of names differ in each process, so that no producer can prepare names that collide. */
static uint64_t random_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint64_t)clock_mono_ms();
    return seed;
}

static int start_bridge(struct worker *w)
{
    const struct config *c = w->config.config;
    const char *session = config_property(c, CLIENT_INTAKE, "session.timeout.ms");
    struct bridge_config config = {
        .ladder = c->ladder,
        .hold_ms = c->hold_ms,
        .retired_ms = c->retired_ms,
        .retired_n = c->retired_n,
        .lanes = w->config.lanes,
        .rules = worker_rules(w, c),
        .exactly_once = c->exactly_once,
        .skip_unreadable = c->skip_unreadable,
        .max_attempts = c->max_attempts,
        .target_rules = c->target_rules,
        .memory_bytes = c->memory_bytes / c->workers,
        .bulk_bytes = bulk_bytes(c->memory_bytes / c->workers),
        .large_bytes = c->memory_bytes / c->workers / LARGE_SHARE,
        .cancel_memory = (size_t)(c->cancel_memory / c->workers),
        .hash_seed = random_seed(),
        .control = true,
        .events = c->events,
        .events_lossy = c->events_lossy,
        .event_source = c->group,
        .commit_text_max = w->config.commits.text_max,
        .commit_again_ms = w->config.commits.again_ms,
        .record_max_bytes = w->config.record_max_bytes,
        .session_ms = session != NULL ? strtol(session, NULL, 10) : SESSION_MS,
    };
    labels_number(LABEL_TARGETS, (const char *const *)c->targets, c->targets_n,
                  config.target_labels);
    labels_number_policies(c->retry, c->retry_n, config.retry_labels);
    struct port port = worker_port(w);
    w->bridge = bridge_new(&config, &port, &w->stats, worker_now(w));
    return w->bridge == NULL ? ERR_NO_MEMORY : 0;
}

/* Sets the member's id: the operator's group.instance.id, or an id that no other process has. */
static int name_member(struct worker *w)
{
    const char *instance = config_property(w->config.config, CLIENT_INTAKE, "group.instance.id");
    uint64_t random = 0;
    w->transient = instance == NULL;
    if (instance != NULL)
        snprintf(w->instance, sizeof w->instance, "%s-%d", instance, w->config.number);
    else if (getrandom(&random, sizeof random, 0) == sizeof random)
        snprintf(w->instance, sizeof w->instance, "delaybridge-%016" PRIx64 "-%d", random,
                 w->config.number);
    else
        return ERR_NO_MEMORY;
    /* An instance id has no colon, so members of other groups have other transactional ids. */
    snprintf(w->transactional_id, sizeof w->transactional_id, "%s:%s", w->config.config->group,
             w->instance);
    return 0;
}

/* The source comes first, because the group's callbacks use it. */
int worker_connect_member(struct worker *w, struct error *error)
{
    struct source_config source = {.levels = w->levels,
                                   .topics = w->topics,
                                   .slots = w->slots,
                                   .lanes = w->config.lanes,
                                   .pulse_topic = w->pulse,
                                   .wakeup = &w->wakeup};
    w->source = source_new(&source);
    if (w->source == NULL)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    rd_kafka_conf_t *conf = client_conf(w->config.config, CLIENT_INTAKE, error);
    if (conf == NULL)
        return ERR_CONFIG;
    if (w->instance[0] != '\0')
        rd_kafka_conf_set(conf, "group.instance.id", w->instance, NULL, 0);
    struct group_config group = worker_group_config(w);
    int err = group_new(&group, conf, &w->group, error);
    if (err != 0)
        return err;
    source_join(w->source, group_handle(w->group));
    if (source_check_keepalives(w->source, producer_handle(w->producer)))
        w->keepalive_checked_mono_ms = worker_now(w).mono_ms;
    return 0;
}

void worker_disconnect_member(struct worker *w)
{
    if (w->group != NULL)
        group_close(w->group);
    if (w->source != NULL)
        source_free(w->source);
    if (w->group != NULL)
        group_free(w->group);
    w->source = NULL;
    w->group = NULL;
}

static int make_readers(struct worker *w, struct error *error)
{
    struct loads_config loads = worker_loads_config(w);
    struct lane_ends_config ends = worker_lane_ends_config(w);
    w->loads = loads_new(&loads);
    w->lane_ends = lane_ends_new(&ends);
    struct control_log_config control = worker_control_config(w);
    w->control_log = control_log_new(&control);
    return w->loads != NULL && w->lane_ends != NULL && w->control_log != NULL
               ? 0
               : error_set(error, ERR_NO_MEMORY, "out of memory or threads");
}

static int connect_all(struct worker *w, struct error *error)
{
    rd_kafka_conf_t *conf = client_conf(w->config.config, CLIENT_LEVELS, error);
    if (conf == NULL)
        return ERR_CONFIG;
    w->levels = client_new(RD_KAFKA_CONSUMER, conf, error);
    if (w->levels == NULL)
        return client_failure();
    rd_kafka_poll_set_consumer(w->levels);
    if (client_prime(w->levels, w->topics, w->slots + 1, error) != 0)
        return ERR_KAFKA;
    struct producer_config producer = worker_producer_config(w);
    int err = producer_new(&producer, &w->producer, error);
    if (err == 0)
        err = make_readers(w, error);
    return err != 0 ? err : worker_connect_member(w, error);
}

void worker_free(struct worker *w)
{
    if (w->producer != NULL && !producer_free(w->producer)) /* first: it reads records in flight */
        return; /* Kafka is away during a transaction: the process ends without freeing */
    w->producer = NULL;
    if (w->probe != NULL && !probe_free(w->probe))
        return; /* it still reads w->topics */
    if (w->lane_ends != NULL && !lane_ends_free(w->lane_ends))
        return; /* the same */
    w->lane_ends = NULL;
    if (w->control_log != NULL && !control_log_free(w->control_log))
        return; /* the same */
    w->control_log = NULL;
    if (w->bridge != NULL)
        bridge_free(w->bridge); /* releases records before their client handles go */
    worker_disconnect_member(w);
    if (w->loads != NULL)
        loads_free(w->loads);
    /* This handle has no group to leave. A close would wait indefinitely for a deleted topic. */
    if (w->levels != NULL)
        rd_kafka_destroy_flags(w->levels, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    wakeup_deinit(&w->wakeup);
    free(w->names);
    free(w->topics);
    free(w->lanes);
    free(w->skip_search_offsets);
    free(w->missing);
    free(w->partitions);
    free(w);
}

int worker_make(struct worker *w, struct error *error)
{
    int err = name_member(w);
    if (err == 0)
        err = name_topics(w);
    if (err == 0)
        err = start_bridge(w);
    if (err != 0)
        return error_set(error, err, "%s", err_text(err));
    return connect_all(w, error);
}
