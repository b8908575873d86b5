/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's loop, and its start and end. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "bridge/service/labels.h"
#include "bridge/service/worker_parts.h"
#include "consumer/client/client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    REVOKE_MS = 2000,   /* a rebalance waits for the slowest member */
    GROUP_POLL_MS = 50, /* without a wakeup; far below max.poll.interval.ms */
    SURVEY_MS = 1000,
    BUSY_MS = 1,   /* longest time from one turn to the next while the worker is busy */
    LOST_MS = 500, /* longest time that one turn spends on queries of the ends of logs */
    KEEPALIVE_CHECK_MS = 60 * 1000,
    KEEPALIVE_AGAIN_MS = 1000, /* while no partition is chosen */
    REJOIN_MS = 1000,
    FENCED_MS = 5000,           /* a fenced member waits for its records in flight */
    FENCED_AGAIN_MS = 60 * 1000 /* a member that is fenced sooner again has a rival */
};

/* The loop. */

static void find_lost_positions(struct worker *w)
{
    struct queue_id queue;
    int64_t start, end;
    int64_t until_mono_ms = worker_now(w).mono_ms + LOST_MS;
    while (worker_now(w).mono_ms < until_mono_ms &&
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

/* Reads the lanes again after a broken transaction. Only committed offsets count then, so all lanes
   are lost before the next transaction begins, and assigned again afterwards. */
static void read_again(struct worker *w)
{
    if (bridge_must_reread(w->bridge))
        group_reread(w->group);
    if (bridge_may_gain(w->bridge))
        group_regain(w->group);
}

static void take_live(struct worker *w)
{
    const struct config *live = atomic_load(&w->next);
    size_t record_max_bytes = atomic_load_explicit(&w->record_max_bytes, memory_order_relaxed);
    if (live == atomic_load_explicit(&w->live, memory_order_relaxed) &&
        record_max_bytes == w->record_max_taken)
        return;
    const struct config *config = live != NULL ? live : w->config.config;
    struct bridge_live taken = {.rules = worker_rules(w, config),
                                .max_attempts = config->max_attempts,
                                .target_rules = config->target_rules,
                                .record_max_bytes = record_max_bytes,
                                .events = config->events};
    labels_number(LABEL_TARGETS, (const char *const *)config->targets, config->targets_n,
                  taken.target_labels);
    labels_number_policies(config->retry, config->retry_n, taken.retry_labels);
    bridge_reconfigure(w->bridge, &taken);
    w->notices.targets = taken.rules.allowlist;
    w->record_max_taken = record_max_bytes;
    atomic_store(&w->live, live);
}

static void note_turn(struct worker *w, struct now now)
{
    int64_t last_mono_ms = atomic_load_explicit(&w->turned_mono_ms, memory_order_relaxed);
    w->busy = now.mono_ms - last_mono_ms <= BUSY_MS;
    atomic_store_explicit(&w->turned_mono_ms, now.mono_ms, memory_order_relaxed);
}

static void survey(struct worker *w, struct now now)
{
    if (now.mono_ms - w->surveyed_mono_ms < SURVEY_MS)
        return;
    w->surveyed_mono_ms = now.mono_ms;
    bridge_survey(w->bridge, now);
}

/* While queues signal in every millisecond, a turn for each signal would cost more than its work.
   So after a turn that followed another one, the worker rests until the next millisecond. New
   records and reports then wait for at most a millisecond. Records that become due do not wait,
   since they become due when a millisecond begins. A turn that left work waits for 0 ms, and a rest
   is never longer than the wait. So a worker that always has work left does not rest. With
   exactly-once the worker does not rest, because each step of a transaction would wait. */
static int64_t rest_us(const struct worker *w, struct now now)
{
    enum { MS_IN_US = 1000 };
    if (!w->busy || w->config.config->exactly_once)
        return 0;
    int64_t left_us = clock_until_us(w->config.clock, now.wall_ms + 1);
    return left_us < MS_IN_US ? left_us : MS_IN_US;
}

/* Waits until the millisecond begins in which a record is due. A wait of whole ms from now would
   make records late by half a ms on average, and by the time that the turn took. */
static void wait_for_work(struct worker *w, struct now now, int64_t wait_ms)
{
    int64_t wait_us = clock_until_us(w->config.clock, now.wall_ms + wait_ms);
    wakeup_wait(&w->wakeup, rest_us(w, now), wait_us < wait_ms * 1000 ? wait_us : wait_ms * 1000,
                worker_on_wakeup, w);
}

/* The group comes first: after a long stall the lanes may be lost. */
static void turn(struct worker *w)
{
    struct now now = worker_now(w);
    if (w->group_signaled || now.mono_ms - w->group_polled_mono_ms >= GROUP_POLL_MS) {
        w->group_signaled = false;
        w->group_polled_mono_ms = now.mono_ms;
        group_poll(w->group);
        serve_levels_handle(w);
        now = worker_now(w);
    }
    read_again(w);
    take_live(w);
    lane_ends_serve(w->lane_ends);
    control_log_serve(w->control_log, now.mono_ms);
    bool loads_more = loads_serve(w->loads, now.mono_ms);
    int64_t wait_ms = bridge_turn(w->bridge, now);
    note_turn(w, now);
    survey(w, now);
    find_lost_positions(w);
    worker_serve_unreadable(w, now);
    worker_find_missing(w, now);
    source_update_idle(w->source, now.mono_ms);
    int64_t held_ms = producer_wait_ms(w->producer);
    wait_for_work(w, now, loads_more ? 0 : held_ms < wait_ms ? held_ms : wait_ms);
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

/* Joins with a new client, because the client of a fenced member stays unusable. The windows of the
   lanes remain in memory. */
static void replace_member(struct worker *w)
{
    struct error error;
    w->fenced_mono_ms = 0;
    worker_disconnect_member(w);
    while (!is_stopping(w) && worker_connect_member(w, &error) != 0) {
        log_warn("cannot rejoin the group, lanes wait, trying again: run 'delaybridge check'",
                 F_TEXT("reason", error.text));
        worker_disconnect_member(w);
        atomic_store(&w->turned_mono_ms,
                     worker_now(w).mono_ms); /* alive, although no turn happens */
        poll(NULL, 0, REJOIN_MS);
    }
    w->rejoined_mono_ms = worker_now(w).mono_ms;
}

/* A generated id belongs to this process alone: it was fenced by its own late commit (group.h). The
   operator's id may also belong to another process. Two such processes fence each other, so one of
   them must end. It is the one that is fenced a second time: the older one. */
bool worker_may_rejoin(const struct worker *w, int64_t now_mono_ms)
{
    return w->transient || w->rejoined_mono_ms == 0 ||
           now_mono_ms - w->rejoined_mono_ms >= FENCED_AGAIN_MS;
}

static void log_fenced(const struct worker *w, bool rejoins)
{
    char text[256] = "";
    rd_kafka_resp_err_t err = rd_kafka_fatal_error(group_handle(w->group), text, sizeof text);
    if (rejoins)
        log_warn("fenced by the group coordinator, rejoining", F_TEXT("instance", w->instance),
                 F_TEXT("error", rd_kafka_err2name(err)), F_TEXT("reason", text));
    else
        log_error("fenced by the group coordinator again within a minute, exiting: give each "
                  "process its own group.instance.id",
                  F_TEXT("instance", w->instance), F_TEXT("error", rd_kafka_err2name(err)),
                  F_TEXT("reason", text));
}

/* Ends the worker, or joins again when no record is in flight. */
static void member_fenced(struct worker *w)
{
    int64_t now_mono_ms = worker_now(w).mono_ms;
    bool rejoins = worker_may_rejoin(w, now_mono_ms);
    if (w->fenced_mono_ms == 0) {
        w->fenced_mono_ms = now_mono_ms;
        log_fenced(w, rejoins);
    }
    if (now_mono_ms - w->fenced_mono_ms > FENCED_MS)
        producer_purge(w->producer); /* a partition without a leader must not stop all lanes */
    if (!rejoins)
        worker_fail(w);
    else if (bridge_in_flight(w->bridge) == 0) /* records in flight belong to the old client */
        replace_member(w);
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
    int err = worker_make(w, error);
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
    atomic_store(&w->turned_mono_ms, worker_now(w).mono_ms);
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
    return bridge_in_flight(w->bridge);
}
