/* SPDX-License-Identifier: Apache-2.0 */
/* The member: joining, rebalances, committed offsets, leaving. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/group_parts.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_MS = 1000, ASK_TRIES = 5, ASK_PAUSE_MS = 200, LOG_AGAIN_MS = 1000 };
enum { OUTSIDE_LOOK_MS = 10 * 1000, OUTSIDE_LOOKS = 3 }; /* a line each 30 s */
enum { JOIN_MS = 1000, REJOIN_MS = 1000, LEAVE_MS = 2000, LEAVE_STEP_MS = 5 };

/* Lists the partitions of all slots, lane by lane, and then those with the witnesses. */
static rd_kafka_topic_partition_list_t *list_lanes(const struct group *g, const int *lanes, int n)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(n * (g->config.slots + 1));
    for (int i = 0; i < n; i++) {
        for (int slot = 0; slot < g->config.slots; slot++)
            rd_kafka_topic_partition_list_add(list, g->config.topics[slot], lanes[i]);
    }
    for (int i = 0; i < n; i++)
        rd_kafka_topic_partition_list_add(list, g->config.topics[g->config.slots], lanes[i]);
    return list;
}

/* Returns whether the partition has the witnesses of a lane. */
static bool has_witnesses(const struct group *g, const rd_kafka_topic_partition_t *p)
{
    return strcmp(p->topic, g->config.topics[g->config.slots]) == 0;
}

/* Reads committed offsets. The error of one slot fails the whole list: otherwise that partition
   would look like one without a commit. */
static rd_kafka_resp_err_t ask_committed(const struct group *g,
                                         rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t err = rd_kafka_committed(g->rk, list, ASK_MS);
    for (int i = 0; err == 0 && i < list->cnt; i++)
        err = has_witnesses(g, &list->elems[i]) ? 0 : list->elems[i].err;
    return err;
}

static struct start *starts_of(const struct group *g, const rd_kafka_topic_partition_list_t *list)
{
    struct start *starts = calloc((size_t)list->cnt + 1, sizeof *starts), *schedule = starts;
    for (int i = 0; starts != NULL && i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *p = &list->elems[i];
        if (has_witnesses(g, p)) {
            schedule->witnesses = bytes_of(p->metadata, p->metadata_size);
            schedule += g->config.slots;
            continue;
        }
        starts[i].offset = p->offset < 0 ? WINDOW_UNSET : p->offset;
        starts[i].text = bytes_of(p->metadata, p->metadata_size);
        starts[i].kept = g->kept;
    }
    return starts;
}

/* Keeps the member's identity in this generation, for the offsets of its transactions. With the
   identity of a later generation, the coordinator would accept the offsets of an earlier one. */
static void keep_member(struct group *g)
{
    if (g->member != NULL)
        rd_kafka_consumer_group_metadata_destroy(g->member);
    g->member = rd_kafka_consumer_group_metadata(g->rk);
}

static bool gain(struct group *g, const int *lanes, int n, int tries_max)
{
    rd_kafka_topic_partition_list_t *list = list_lanes(g, lanes, n);
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__TIMED_OUT;
    struct start *starts = NULL;
    for (int tries = 0; starts == NULL && tries < tries_max; tries++) {
        /* This delays no record: no lane is owned between lost and gained. */
        if (tries > 0)
            poll(NULL, 0, ASK_PAUSE_MS);
        err = n == 0 ? 0 : ask_committed(g, list);
        starts = err == 0 ? starts_of(g, list) : NULL;
    }
    if (starts != NULL) {
        g->owning = true;
        g->config.gained(g->config.ctx, lanes, n, starts);
    } else if (clock_mono_ms() - g->logged_mono_ms >= LOG_AGAIN_MS) {
        g->logged_mono_ms = clock_mono_ms();
        log_error("cannot read committed offsets, trying again: run 'delaybridge check'",
                  F_TEXT("error", err == 0 ? "NO_MEMORY" : rd_kafka_err2name(err)));
    }
    bool ok = starts != NULL;
    free(starts);
    rd_kafka_topic_partition_list_destroy(list);
    return ok;
}

/* Lists the assigned lanes, except those that were added to the schedule topic after the start. */
static int known_lanes(const struct group *g, const rd_kafka_topic_partition_list_t *given,
                       int *lanes)
{
    int n = 0;
    for (int i = 0; i < given->cnt; i++) {
        if (given->elems[i].partition < g->config.lanes)
            lanes[n++] = given->elems[i].partition;
    }
    return n;
}

/* Assigns an empty list. With NULL, the member would wait for an assignment indefinitely. */
static void read_none(struct group *g)
{
    rd_kafka_topic_partition_list_t *none = rd_kafka_topic_partition_list_new(1);
    rd_kafka_assign(g->rk, none);
    rd_kafka_topic_partition_list_destroy(none);
}

static void on_assign(struct group *g, const rd_kafka_topic_partition_list_t *given)
{
    g->lanes_n = known_lanes(g, given, g->lanes);
    g->rejoin = g->kept = false;
    keep_member(g);
    g->rereading = !g->config.may_gain(g->config.ctx);
    if (!g->rereading && gain(g, g->lanes, g->lanes_n, ASK_TRIES))
        return;
    read_none(g);
    g->rejoin |= !g->rereading;
}

static void on_revoke(struct group *g)
{
    bool fenced = rd_kafka_assignment_lost(g->rk) != 0;
    if (g->owning)
        g->config.lost(g->config.ctx, fenced);
    else
        rd_kafka_assign(g->rk, NULL);
    g->owning = g->rereading = false;
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                         rd_kafka_topic_partition_list_t *given, void *opaque)
{
    (void)rk;
    struct group *g = opaque;
    if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
        on_assign(g, given);
    else
        on_revoke(g);
}

static int subscribe(const struct group *g, struct error *error)
{
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, g->config.topics[SLOT_SCHEDULE],
                                      RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t err = rd_kafka_subscribe(g->rk, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    return err == 0
               ? 0
               : error_set(error, ERR_KAFKA, "cannot join the group: %s", rd_kafka_err2str(err));
}

static int start(struct group *g, rd_kafka_conf_t *conf, struct error *error)
{
    rd_kafka_conf_set_opaque(conf, g);
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    g->rk = client_new(RD_KAFKA_CONSUMER, conf, error);
    if (g->rk == NULL)
        return client_failure();
    rd_kafka_poll_set_consumer(g->rk);
    g->events = rd_kafka_queue_get_consumer(g->rk);
    g->commits = rd_kafka_queue_new(g->rk);
    wakeup_attach(g->config.wakeup, g->events, WAKEUP_GROUP);
    wakeup_attach(g->config.wakeup, g->commits, WAKEUP_COMMITS);
    if (client_prime(g->rk, g->config.topics, g->config.slots, error) != 0 ||
        subscribe(g, error) != 0)
        return ERR_KAFKA;
    return 0;
}

int group_new(const struct group_config *config, rd_kafka_conf_t *conf, struct group **group,
              struct error *error)
{
    struct group *g = calloc(1, sizeof *g);
    int *lanes = calloc((size_t)config->lanes + 1, sizeof *lanes);
    if (g == NULL || lanes == NULL) {
        rd_kafka_conf_destroy(conf);
        free(lanes);
        free(g);
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    }
    g->config = *config;
    g->lanes = lanes;
    g->looked_mono_ms = clock_mono_ms();
    int err = start(g, conf, error);
    if (err == 0)
        *group = g;
    else
        group_free(g);
    return err;
}

rd_kafka_t *group_handle(const struct group *g)
{
    return g->rk;
}

static void join_again(struct group *g)
{
    struct error error;
    g->rejoin = false;
    g->joined_mono_ms = clock_mono_ms();
    rd_kafka_unsubscribe(g->rk);
    if (subscribe(g, &error) == 0)
        return;
    g->rejoin = true;
    log_error(
        "cannot subscribe to the schedule topic, lanes wait, trying again: restart this process "
        "if this repeats",
        F_TEXT("reason", error.text));
}

/* Handles a fatal error: calls lost, since the client revokes the partitions without a rebalance
   callback. */
static void on_fatal(struct group *g)
{
    g->fenced = true;
    if (g->owning)
        g->config.lost(g->config.ctx, true);
    g->owning = g->rereading = false;
}

static bool is_member(const struct group *g)
{
    char *id = rd_kafka_memberid(g->rk);
    bool member = id != NULL && *id != '\0';
    rd_kafka_mem_free(g->rk, id);
    return member;
}

/* Logs that this process is in no group. While the group has no coordinator, the client tries again
   without an error. */
static void log_outside(struct group *g)
{
    int64_t now_mono_ms = clock_mono_ms();
    if (g->fenced || now_mono_ms - g->looked_mono_ms < OUTSIDE_LOOK_MS)
        return;
    g->looked_mono_ms = now_mono_ms;
    g->outside_looks = g->owning || is_member(g) ? 0 : g->outside_looks + 1;
    if (g->outside_looks > 0 && g->outside_looks % OUTSIDE_LOOKS == 0)
        log_error("no coordinator admits this process to its group, lanes wait, trying again: run "
                  "'delaybridge check'",
                  F_MS("waited_ms", (int64_t)g->outside_looks * OUTSIDE_LOOK_MS));
}

void group_poll(struct group *g)
{
    rd_kafka_message_t *message;
    while ((message = rd_kafka_consumer_poll(g->rk, 0)) != NULL) {
        if (message->err != 0 && message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF &&
            message->err != RD_KAFKA_RESP_ERR__FATAL) /* the worker logs it */
            log_warn("consumer group error, the client tries again",
                     F_TEXT("error", rd_kafka_err2name(message->err)),
                     F_TEXT("reason", rd_kafka_message_errstr(message)),
                     F_HINT(message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED
                                ? "allow Read on the group"
                                : NULL));
        rd_kafka_message_destroy(message);
    }
    rd_kafka_queue_poll_callback(g->commits, 0);
    if (g->rejoin && !g->fenced && clock_mono_ms() - g->joined_mono_ms >= REJOIN_MS)
        join_again(g);
    if (!g->fenced && rd_kafka_fatal_error(g->rk, NULL, 0) != 0)
        on_fatal(g);
    log_outside(g);
}

void group_rejoin(struct group *g)
{
    g->rejoin = true;
}

void group_reread(struct group *g)
{
    if (!g->owning)
        return;
    g->config.lost(g->config.ctx, true);
    g->owning = false;
    g->rereading = g->kept = true;
}

void group_regain(struct group *g)
{
    if (g->rereading)
        g->rereading = !gain(g, g->lanes, g->lanes_n, 1);
}

bool group_is_fenced(const struct group *g)
{
    return g->fenced;
}

static bool is_owning(const struct group *g)
{
    return g->owning;
}

static bool is_outside(const struct group *g)
{
    return !is_member(g);
}

static void poll_while(struct group *g, bool (*condition)(const struct group *), int timeout_ms)
{
    int64_t until_mono_ms = clock_mono_ms() + timeout_ms;
    while (condition(g) && clock_mono_ms() < until_mono_ms) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(g->rk, LEAVE_STEP_MS);
        if (message != NULL)
            rd_kafka_message_destroy(message);
    }
}

/* Leaves the group. For a static member rd_kafka_consumer_close does not do so. An unsubscription
   does, if the client knows its member id. The client forgets the id after the request is sent. */
static void leave(struct group *g)
{
    poll_while(g, is_outside, JOIN_MS);
    rd_kafka_unsubscribe(g->rk);
    poll_while(g, is_owning, ASK_TRIES * (ASK_MS + ASK_PAUSE_MS));
    poll_while(g, is_member, LEAVE_MS);
}

void group_close(struct group *g)
{
    if (g->closed)
        return;
    g->closed = true;
    if (g->config.transient && !g->fenced)
        leave(g);
    rd_kafka_consumer_close(g->rk);
}

void group_free(struct group *g)
{
    if (g->events != NULL)
        rd_kafka_queue_destroy(g->events);
    if (g->commits != NULL)
        rd_kafka_queue_destroy(g->commits);
    if (g->member != NULL)
        rd_kafka_consumer_group_metadata_destroy(g->member);
    if (g->rk != NULL)
        rd_kafka_destroy(g->rk);
    free(g->lanes);
    free(g);
}
