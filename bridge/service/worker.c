/* SPDX-License-Identifier: Apache-2.0 */
/* The loop, and the parts: made, replaced, freed. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "bridge/service/labels.h"
#include "bridge/service/worker_parts.h"
#include "consumer/client/client.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum {
    SESSION_MS = 6000,  /* unless the operator sets session.timeout.ms */
    REVOKE_MS = 2000,   /* a rebalance waits for the slowest member */
    GROUP_POLL_MS = 50, /* without a wakeup; far below max.poll.interval.ms */
    SURVEY_MS = 1000,
    LOST_MS = 500, /* so long a turn may ask for the ends of logs */
    KEEPALIVE_CHECK_MS = 60 * 1000,
    KEEPALIVE_AGAIN_MS = 1000, /* while none is known */
    REJOIN_MS = 1000,
    BULK_SHARE = 16, /* of memory */
    BULK_LEAST = 8 << 20,
    LARGE_SHARE = 256, /* of memory: a record of the usual 1 MB is not large by default */
    FENCED_MS = 5000   /* so long a fenced member waits for what it has in flight */
};

/* The parts. */

static int name_topics(struct worker *w)
{
    const struct config *c = w->config.config;
    w->slots = 1 + c->ladder.n + c->retired_n;
    w->names = calloc((size_t)w->slots, sizeof *w->names);
    w->topics = calloc((size_t)w->slots, sizeof *w->topics);
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
    w->notices = (struct notices){.topics = w->topics,
                                  .dead_letter = w->dead_letter,
                                  .limit = LIMIT_INIT(NOTICE_EVERY_MS, 1)};
    return 0;
}

/* What the live one says; the schedule topic stays as it was at the start. */
static struct request_rules rules_of(const struct worker *w, const struct config *live)
{
    return (struct request_rules){
        .allowlist = {.patterns = (const char *const *)live->targets,
                      .patterns_n = live->targets_n,
                      .schedule = w->config.config->schedule},
        .default_target = live->default_target,
        .max_delay_ms = live->max_delay_ms,
    };
}

/* Well above what the client fetches ahead where nothing is compressed. */
static int64_t bulk_bytes(int64_t memory_bytes)
{
    return memory_bytes / BULK_SHARE > BULK_LEAST ? memory_bytes / BULK_SHARE : BULK_LEAST;
}

static int start_bridge(struct worker *w)
{
    const struct config *c = w->config.config;
    const char *session = config_property(c, CLIENT_INTAKE, "session.timeout.ms");
    struct bridge_config config = {
        .ladder = c->ladder,
        .retired_ms = c->retired_ms,
        .retired_n = c->retired_n,
        .lanes = w->config.lanes,
        .rules = rules_of(w, c),
        .exactly_once = c->exactly_once,
        .skip_unreadable = c->skip_unreadable,
        .max_attempts = c->max_attempts,
        .memory_bytes = c->memory_bytes / c->workers,
        .bulk_bytes = bulk_bytes(c->memory_bytes / c->workers),
        .large_bytes = c->memory_bytes / c->workers / LARGE_SHARE,
        .commit_text_max = w->config.commits.text_max,
        .commit_again_ms = w->config.commits.again_ms,
        .record_max_bytes = w->config.record_max_bytes,
        .session_ms = session != NULL ? strtol(session, NULL, 10) : SESSION_MS,
    };
    labels_number((const char *const *)c->targets, c->targets_n, config.target_labels);
    struct port port = worker_port(w);
    w->bridge = bridge_new(&config, &port, &w->stats, worker_now());
    return w->bridge == NULL ? ERR_NO_MEMORY : 0;
}

/* The operator's id, else one that no other process has. */
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
    /* No instance id holds a colon, so no other group's can be the same. */
    snprintf(w->transactional_id, sizeof w->transactional_id, "%s:%s", w->config.config->group,
             w->instance);
    return 0;
}

/* The source first: from then on the group's callbacks find all that they need. */
static int connect_member(struct worker *w, struct error *error)
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
        w->keepalive_checked_mono_ms = worker_now().mono_ms;
    return 0;
}

static void disconnect_member(struct worker *w)
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

static int connect_all(struct worker *w, struct error *error)
{
    rd_kafka_conf_t *conf = client_conf(w->config.config, CLIENT_LEVELS, error);
    if (conf == NULL)
        return ERR_CONFIG;
    w->levels = client_new(RD_KAFKA_CONSUMER, conf, error);
    if (w->levels == NULL)
        return client_failure();
    rd_kafka_poll_set_consumer(w->levels);
    if (client_prime(w->levels, w->topics, w->slots, error) != 0)
        return ERR_KAFKA;
    struct producer_config producer = worker_producer_config(w);
    int err = producer_new(&producer, &w->producer, error);
    return err != 0 ? err : connect_member(w, error);
}

static void worker_free(struct worker *w)
{
    if (w->producer != NULL && !producer_free(w->producer)) /* first: it reads records in flight */
        return; /* Kafka is away in the middle of a transaction: the process ends all the same */
    w->producer = NULL;
    if (w->probe != NULL && !probe_free(w->probe))
        return; /* it reads our topics' names */
    if (w->bridge != NULL)
        bridge_free(w->bridge); /* then the records go back, while their handles live */
    disconnect_member(w);
    /* Without the consumer's close: it has no group to leave, and waits for ever for a topic that
       was deleted meanwhile. */
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

/* The loop. */

static void find_lost_positions(struct worker *w)
{
    struct queue_id queue;
    int64_t start, end;
    int64_t until_mono_ms = worker_now().mono_ms + LOST_MS;
    while (worker_now().mono_ms < until_mono_ms &&
           source_lost_position(w->source, &queue, &start, &end))
        bridge_out_of_range(w->bridge, queue, start, end);
    if (source_wants_rejoin(w->source))
        group_rejoin(w->group);
}

static void serve_levels_handle(struct worker *w)
{
    rd_kafka_message_t *message;
    while ((message = rd_kafka_consumer_poll(w->levels, 0)) != NULL)
        rd_kafka_message_destroy(message); /* errors of brokers: logged by the client's callback */
}

/* After a transaction that broke: what is committed, and nothing else, is true. The next one begins
   when nothing is left of what the lanes knew. */
static void read_again(struct worker *w)
{
    if (w->reread)
        group_reread(w->group);
    w->reread = false;
    if (w->restarted) {
        w->restarted = w->aborting = false;
        w->regain = true;
        bridge_restarted(w->bridge);
    }
    w->regain = w->regain && !group_regain(w->group);
}

static void take_live(struct worker *w)
{
    const struct config *live = atomic_load(&w->next);
    size_t record_max_bytes = atomic_load_explicit(&w->record_max_bytes, memory_order_relaxed);
    if (live == atomic_load_explicit(&w->live, memory_order_relaxed) &&
        record_max_bytes == w->record_max_taken)
        return;
    const struct config *config = live != NULL ? live : w->config.config;
    struct bridge_live taken = {.rules = rules_of(w, config),
                                .max_attempts = config->max_attempts,
                                .record_max_bytes = record_max_bytes};
    labels_number((const char *const *)config->targets, config->targets_n, taken.target_labels);
    bridge_reconfigure(w->bridge, &taken);
    w->record_max_taken = record_max_bytes;
    atomic_store(&w->live, live);
}

static void survey(struct worker *w, struct now now)
{
    atomic_store_explicit(&w->turned_mono_ms, now.mono_ms, memory_order_relaxed);
    if (now.mono_ms - w->surveyed_mono_ms < SURVEY_MS)
        return;
    w->surveyed_mono_ms = now.mono_ms;
    bridge_survey(w->bridge, now);
}

/* Up to the very start of the millisecond in which something is due: in whole ones from here, what
   is due would be half of one late, and by as much as the turn took. */
static void wait_for_work(struct worker *w, struct now now, int64_t wait_ms)
{
    int64_t wait_us = clock_until_us(now.wall_ms + wait_ms);
    wakeup_wait(&w->wakeup, wait_us < wait_ms * 1000 ? wait_us : wait_ms * 1000, worker_on_wakeup,
                w);
}

/* The group first: after a long stop it may say that the lanes are gone. */
static void turn(struct worker *w)
{
    struct now now = worker_now();
    if (w->group_signaled || now.mono_ms - w->group_polled_mono_ms >= GROUP_POLL_MS) {
        w->group_signaled = false;
        w->group_polled_mono_ms = now.mono_ms;
        group_poll(w->group);
        serve_levels_handle(w);
        now = worker_now();
    }
    read_again(w);
    take_live(w);
    int64_t wait_ms = bridge_turn(w->bridge, now);
    survey(w, now);
    find_lost_positions(w);
    worker_serve_unreadable(w, now);
    worker_find_missing(w, now);
    source_update_idle(w->source, now.mono_ms);
    wait_for_work(w, now, wait_ms);
    if (now.mono_ms - w->keepalive_checked_mono_ms < KEEPALIVE_CHECK_MS)
        return;
    bool chosen = source_check_keepalives(w->source, producer_handle(w->producer));
    w->keepalive_checked_mono_ms =
        chosen ? now.mono_ms : now.mono_ms - KEEPALIVE_CHECK_MS + KEEPALIVE_AGAIN_MS;
}

static bool is_stopping(const struct worker *w)
{
    return atomic_load_explicit(&w->stop, memory_order_relaxed);
}

/* The member is fatal to its client, so it needs a new one; what is known of the lanes stays. */
static void replace_member(struct worker *w)
{
    struct error error;
    w->fenced_mono_ms = 0;
    disconnect_member(w);
    while (!is_stopping(w) && connect_member(w, &error) != 0) {
        log_warn("cannot rejoin the group, trying again", F_TEXT("reason", error.text));
        disconnect_member(w);
        atomic_store(&w->turned_mono_ms, worker_now().mono_ms); /* alive, though nothing turns */
        poll(NULL, 0, REJOIN_MS);
    }
}

/* Who else has the operator's id has our lanes now, and would be fenced in turn. Our own id is
   nobody else's: the group took a request that was late for one of a former life. */
static void member_fenced(struct worker *w)
{
    int64_t now_mono_ms = worker_now().mono_ms;
    if (w->fenced_mono_ms == 0)
        w->fenced_mono_ms = now_mono_ms;
    if (now_mono_ms - w->fenced_mono_ms > FENCED_MS)
        producer_purge(w->producer); /* a partition without a leader must not stop all lanes */
    if (!w->transient) {
        worker_fail(w);
    } else if (bridge_in_flight(w->bridge) == 0) { /* records in flight belong to the old client */
        replace_member(w);
    }
}

static void *run(void *arg)
{
    struct worker *w = arg;
    while (!is_stopping(w) && !worker_failed(w)) {
        turn(w);
        if (group_is_fenced(w->group))
            member_fenced(w);
    }
    w->settle_ms = w->config.config->drain_ms;
    if (w->group != NULL)
        group_close(w->group);
    return NULL;
}

/* Start and end. */

static int start(struct worker *w, struct error *error)
{
    int err = name_member(w);
    if (err == 0)
        err = name_topics(w);
    if (err == 0)
        err = start_bridge(w);
    if (err != 0)
        return error_set(error, err, "%s", err_text(err));
    err = connect_all(w, error);
    if (err != 0 || pthread_create(&w->thread, NULL, run, w) == 0)
        return err;
    return error_set(error, ERR_NO_MEMORY, "no thread can be created");
}

int worker_start(const struct worker_config *config, struct worker **worker, struct error *error)
{
    struct worker *w = calloc(1, sizeof *w);
    if (w == NULL || wakeup_init(&w->wakeup) != 0) {
        free(w);
        return error_set(error, ERR_NO_MEMORY, "out of memory or file descriptors");
    }
    w->config = *config;
    w->record_max_taken = config->record_max_bytes;
    atomic_store(&w->record_max_bytes, config->record_max_bytes);
    w->settle_ms = REVOKE_MS;
    atomic_store(&w->turned_mono_ms, worker_now().mono_ms);
    int err = start(w, error);
    if (err == 0) {
        *worker = w;
        return 0;
    }
    worker_free(w);
    return err;
}

const struct stats *worker_stats(const struct worker *worker)
{
    return &worker->stats;
}

bool worker_failed(const struct worker *w)
{
    return atomic_load(&w->failed);
}

bool worker_joined(const struct worker *w)
{
    return atomic_load(&w->joined);
}

int64_t worker_turned_mono_ms(const struct worker *w)
{
    return atomic_load(&w->turned_mono_ms);
}

void worker_reload(struct worker *w, const struct config *live)
{
    atomic_store(&w->next, live);
    wakeup_signal(&w->wakeup, WAKEUP_LOOP);
}

void worker_limit(struct worker *w, size_t record_max_bytes)
{
    atomic_store(&w->record_max_bytes, record_max_bytes);
}

const struct config *worker_live(const struct worker *w)
{
    return atomic_load(&w->live);
}

void worker_stop(struct worker *w)
{
    atomic_store(&w->stop, true);
    wakeup_signal(&w->wakeup, WAKEUP_LOOP);
}

size_t worker_join(struct worker *w)
{
    pthread_join(w->thread, NULL);
    size_t in_flight = bridge_in_flight(w->bridge);
    worker_free(w);
    return in_flight;
}
