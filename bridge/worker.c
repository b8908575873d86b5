/* SPDX-License-Identifier: Apache-2.0 */
/* The loop, and the port of the step machine onto librdkafka. */
#include "bridge/worker.h"

#include "bridge/bridge.h"
#include "bridge/clock.h"
#include "bridge/log.h"
#include "bridge/tell.h"
#include "consumer/bell.h"
#include "consumer/client.h"
#include "consumer/group.h"
#include "consumer/producer.h"
#include "consumer/record.h"
#include "consumer/source.h"
#include "consumer/topics.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SESSION_MS = 6000, /* unless the operator sets session.timeout.ms */
    REVOKE_MS = 2000,  /* a rebalance waits for the slowest member */
    SETTLE_STEP_MS = 10,
    GROUP_POLL_MS = 50, /* without a bell; far below max.poll.interval.ms */
    PULSE_CHECK_MS = 60 * 1000,
    PULSE_AGAIN_MS = 1000 /* while none is known */
};

struct worker {
    struct worker_config config;
    struct stats stats;
    struct bridge *bridge;
    struct bell bell;
    struct group *group;
    rd_kafka_t *levels; /* the level handle: assigned by hand */
    struct source *source;
    struct producer *producer;
    char (*names)[TOPIC_TEXT_MAX];
    const char **topics; /* by slot */
    int slots;
    char pulse[TOPIC_TEXT_MAX], dead_letter[TOPIC_TEXT_MAX];
    int *lanes; /* owned */
    int lanes_n;
    int64_t settle_ms; /* how long a revocation may take */
    int64_t pulse_checked_ms, group_polled_ms;
    bool group_rang;
    atomic_bool stop, failed;
    pthread_t thread;
};

static struct now now_read(void)
{
    return (struct now){.wall_ms = clock_wall_ms(), .mono_ms = clock_mono_ms()};
}

/* The port. */

static struct record *port_take(void *ctx, struct queue_id queue)
{
    return source_take(((struct worker *)ctx)->source, queue);
}

static void port_release(void *ctx, struct record *record)
{
    (void)ctx;
    record_release(record);
}

static struct record *port_make(void *ctx, struct bytes key, size_t value_size)
{
    (void)ctx;
    return record_make(key, value_size);
}

static int port_forward(void *ctx, const struct forward *forward)
{
    return producer_forward(((struct worker *)ctx)->producer, forward);
}

static void port_reports(void *ctx)
{
    producer_reports(((struct worker *)ctx)->producer);
}

static void port_pause(void *ctx, struct queue_id queue)
{
    source_pause(((struct worker *)ctx)->source, queue);
}

static void port_seek(void *ctx, struct queue_id queue, int64_t offset)
{
    source_seek(((struct worker *)ctx)->source, queue, offset);
}

static void port_commit(void *ctx, uint64_t seq, const struct progress *progress, size_t n)
{
    group_commit(((struct worker *)ctx)->group, seq, progress, n);
}

static void port_trim(void *ctx, struct queue_id queue, int64_t base)
{
    struct worker *w = ctx;
    producer_trim(w->producer, w->topics[queue.slot], queue.lane, base);
}

static enum lookup port_lookup(void *ctx, struct target_id *target)
{
    return producer_lookup(((struct worker *)ctx)->producer, target);
}

static void port_forget(void *ctx, struct target_id *target)
{
    struct worker *w = ctx;
    if (w->producer != NULL)
        producer_forget(w->producer, target);
}

static void port_event(void *ctx, enum event event, struct queue_id queue, int64_t value,
                       const char *text)
{
    struct worker *w = ctx;
    tell_event(w->topics, &(struct told){event, queue, value, text});
}

static void on_reported(void *ctx, struct parcel *parcel, enum report report, const char *why)
{
    bridge_reported(((struct worker *)ctx)->bridge, parcel, report, why);
}

static void on_landed(void *ctx, int slot, int lane, int64_t offset)
{
    struct worker *w = ctx;
    if (w->source != NULL)
        source_landed(w->source, lane, slot, offset);
}

/* Ownership. */

static void on_gained(void *ctx, const int *lanes, int n, const struct start *starts)
{
    struct worker *w = ctx;
    int unusable = 0;
    for (int i = 0; i < n; i++) {
        unusable += bridge_lane_gained(w->bridge, lanes[i], starts + i * w->slots, now_read());
        w->lanes[i] = lanes[i];
    }
    w->lanes_n = n;
    counter_add(&w->stats.rebalances, 1);
    if (unusable > 0)
        log_warn("commit metadata that is not ours is ignored: records may be delivered again",
                 "partitions=%d", unusable);
    if (source_assign(w->source, lanes, n, starts) != 0)
        log_error("lanes cannot be read", "lanes=%d", n);
    log_info("lanes gained", "worker=%d lanes=%d", w->config.number, n);
}

/* What flies lands, what landed is committed; then the lanes are somebody else's. */
static void settle(struct worker *w)
{
    int64_t until_ms = now_read().mono_ms + w->settle_ms;
    while (bridge_settle(w->bridge, now_read()) > 0 && now_read().mono_ms < until_ms)
        producer_flush(w->producer, SETTLE_STEP_MS);
    bridge_commit(w->bridge, now_read());
    int64_t left_ms = until_ms - now_read().mono_ms;
    group_await(w->group, left_ms < 500 ? 500 : (int)left_ms);
}

static void on_lost(void *ctx, bool fenced)
{
    struct worker *w = ctx;
    if (!fenced)
        settle(w);
    for (int i = 0; i < w->lanes_n; i++)
        bridge_lane_lost(w->bridge, w->lanes[i]);
    source_unassign(w->source);
    log_info(fenced ? "lanes lost" : "lanes given back", "worker=%d lanes=%d", w->config.number,
             w->lanes_n);
    w->lanes_n = 0;
}

static void on_committed(void *ctx, uint64_t seq, bool ok)
{
    bridge_committed(((struct worker *)ctx)->bridge, seq, ok);
}

/* The loop. */

static void on_bell(void *ctx, int32_t number)
{
    struct worker *w = ctx;
    if (number >= 0)
        bridge_wake(w->bridge, (struct queue_id){number, number / w->slots, number % w->slots});
    else
        w->group_rang |= number != BELL_REPORTS;
}

static void find_lost_positions(struct worker *w)
{
    struct queue_id queue;
    int64_t start, end;
    while (source_lost_position(w->source, &queue, &start, &end))
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

static void turn(struct worker *w)
{
    struct now now = now_read();
    int64_t wait_ms = bridge_turn(w->bridge, now);
    find_lost_positions(w);
    source_sweep(w->source, now.mono_ms);
    bell_wait(&w->bell, wait_ms, on_bell, w);
    if (w->group_rang || now.mono_ms - w->group_polled_ms >= GROUP_POLL_MS) {
        w->group_rang = false;
        w->group_polled_ms = now.mono_ms;
        group_poll(w->group);
        serve_levels_handle(w);
    }
    if (now.mono_ms - w->pulse_checked_ms < PULSE_CHECK_MS)
        return;
    bool chosen = source_check_pulses(w->source, producer_handle(w->producer));
    w->pulse_checked_ms = chosen ? now.mono_ms : now.mono_ms - PULSE_CHECK_MS + PULSE_AGAIN_MS;
}

static void *run(void *arg)
{
    struct worker *w = arg;
    while (!atomic_load_explicit(&w->stop, memory_order_relaxed) && !group_is_fenced(w->group))
        turn(w);
    if (group_is_fenced(w->group)) {
        atomic_store(&w->failed, true);
        kill(getpid(), SIGTERM); /* the process drains what its other workers have, and ends */
    }
    w->settle_ms = w->config.config->drain_ms;
    group_close(w->group);
    return NULL;
}

/* Start and end. */

static int name_topics(struct worker *w)
{
    const struct config *c = w->config.config;
    w->slots = 1 + c->ladder.n + c->retired_n;
    w->names = calloc((size_t)w->slots, sizeof *w->names);
    w->topics = calloc((size_t)w->slots, sizeof *w->topics);
    w->lanes = calloc((size_t)w->config.lanes, sizeof *w->lanes);
    if (w->names == NULL || w->topics == NULL || w->lanes == NULL)
        return ERR_NO_MEMORY;
    w->topics[SLOT_SCHEDULE] = c->schedule;
    for (int i = 1; i < w->slots; i++) {
        int level = i - 1;
        int64_t ms =
            level < c->ladder.n ? c->ladder.level_ms[level] : c->retired_ms[level - c->ladder.n];
        w->topics[i] = topic_of_level(c->schedule, ms, w->names[i]);
    }
    topic_of_pulse(c->schedule, w->pulse);
    topic_of_dead_letter(c->schedule, w->dead_letter);
    return 0;
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
        .rules = {.targets = {.patterns = (const char *const *)c->targets,
                              .patterns_n = c->targets_n,
                              .schedule = c->schedule},
                  .default_target = c->default_target,
                  .max_delay_ms = c->max_delay_ms},
        .max_attempts = c->max_attempts,
        .memory_bytes = c->memory_bytes / c->workers,
        .session_ms = session != NULL ? strtol(session, NULL, 10) : SESSION_MS,
    };
    struct port port = {w,          port_take, port_release, port_make, port_forward, port_reports,
                        port_pause, port_seek, port_commit,  port_trim, port_lookup,  port_forget,
                        port_event};
    w->bridge = bridge_new(&config, &port, &w->stats, now_read());
    return w->bridge == NULL ? ERR_NO_MEMORY : 0;
}

static rd_kafka_conf_t *member_conf(const struct worker *w, char *error)
{
    const struct config *c = w->config.config;
    rd_kafka_conf_t *conf = client_conf(c, CLIENT_INTAKE, error);
    const char *instance = config_property(c, CLIENT_INTAKE, "group.instance.id");
    if (conf == NULL || instance == NULL)
        return conf;
    char id[256];
    snprintf(id, sizeof id, "%s-%d", instance, w->config.number);
    rd_kafka_conf_set(conf, "group.instance.id", id, NULL, 0);
    return conf;
}

static int connect_all(struct worker *w, char error[CLIENT_ERROR_MAX])
{
    rd_kafka_conf_t *conf = client_conf(w->config.config, CLIENT_LEVELS, error);
    w->levels = conf == NULL ? NULL : client_new(RD_KAFKA_CONSUMER, conf, error);
    if (w->levels == NULL)
        return ERR_CONFIG;
    rd_kafka_poll_set_consumer(w->levels);
    if (client_prime(w->levels, w->topics, w->slots, error) != 0)
        return ERR_KAFKA;
    struct producer_config producer = {.config = w->config.config,
                                       .topics = w->topics,
                                       .slots = w->slots,
                                       .dead_letter = w->dead_letter,
                                       .bell = &w->bell,
                                       .reported = on_reported,
                                       .landed = on_landed,
                                       .ctx = w};
    w->producer = producer_new(&producer, error, CLIENT_ERROR_MAX);
    conf = w->producer == NULL ? NULL : member_conf(w, error);
    if (conf == NULL)
        return ERR_CONFIG;
    struct group_config group = {w->topics, w->slots, w->config.lanes, &w->bell,
                                 on_gained, on_lost,  on_committed,    w};
    w->group = group_new(&group, conf, error);
    if (w->group == NULL)
        return ERR_KAFKA;
    struct source_config source = {.intake = group_handle(w->group),
                                   .levels = w->levels,
                                   .topics = w->topics,
                                   .slots = w->slots,
                                   .lanes = w->config.lanes,
                                   .pulse_topic = w->pulse,
                                   .bell = &w->bell};
    w->source = source_new(&source);
    if (w->source == NULL)
        return ERR_NO_MEMORY;
    if (source_check_pulses(w->source, producer_handle(w->producer)))
        w->pulse_checked_ms = now_read().mono_ms;
    return 0;
}

static void worker_free(struct worker *w)
{
    if (w->producer != NULL)
        producer_free(w->producer); /* first: it still reads the records that fly */
    w->producer = NULL;
    if (w->bridge != NULL)
        bridge_free(w->bridge); /* then the records go back, while their handles live */
    if (w->source != NULL)
        source_free(w->source);
    if (w->group != NULL)
        group_free(w->group);
    /* Without the consumer's close: it has no group to leave, and waits for ever for a topic that
       was deleted meanwhile. */
    if (w->levels != NULL)
        rd_kafka_destroy_flags(w->levels, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    bell_deinit(&w->bell);
    free(w->names);
    free(w->topics);
    free(w->lanes);
    free(w);
}

struct worker *worker_start(const struct worker_config *config, char *error, size_t error_size)
{
    struct worker *w = calloc(1, sizeof *w);
    if (w == NULL || bell_init(&w->bell) != 0) {
        snprintf(error, error_size, "out of memory or file descriptors");
        free(w);
        return NULL;
    }
    w->config = *config;
    w->settle_ms = REVOKE_MS;
    char why[CLIENT_ERROR_MAX] = "out of memory";
    if (name_topics(w) != 0 || start_bridge(w) != 0 || connect_all(w, why) != 0 ||
        pthread_create(&w->thread, NULL, run, w) != 0) {
        snprintf(error, error_size, "%s", why);
        worker_free(w);
        return NULL;
    }
    return w;
}

const struct stats *worker_stats(const struct worker *worker)
{
    return &worker->stats;
}

bool worker_failed(const struct worker *w)
{
    return atomic_load(&w->failed);
}

void worker_stop(struct worker *w)
{
    atomic_store(&w->stop, true);
    bell_ring(&w->bell, BELL_WAKE);
}

void worker_join(struct worker *w)
{
    pthread_join(w->thread, NULL);
    worker_free(w);
}
