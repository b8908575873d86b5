/* SPDX-License-Identifier: Apache-2.0 */
/* The requests, made in a blocking_call. */
#include "consumer/lane_ends.h"

#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/blocking_call.h"
#include "consumer/client/client.h"
#include "consumer/client/log_ends.h"

#include <stdlib.h>
#include <string.h>

enum {
    STOP_MS = 1000,
    METADATA_MS = 3500, /* of each attempt */
    METADATA_ATTEMPTS = 2,
    ASK_MS = 2000,
    LOG_AGAIN_MS = 10000,
    IDLE_MS = 3000, /* a restore queries more often */
    NO_LEADER = -1
};

/* A broker without an answer for so long counts as away. Then the client queries other brokers. */
#define ANSWER_TEXT_MS "3000"

/* A lane whose ends are wanted. RUNNING_AGAIN: the running query began before the last call. */
enum wanted { WANTED_NOT, WANTED, WANTED_RUNNING, WANTED_RUNNING_AGAIN };

struct lane_ends {
    struct lane_ends_config config;
    struct blocking_call *blocking_call;
    enum wanted *wanted; /* by lane */
    bool any_wanted, running;
    bool connected;         /* the handles may be open */
    bool closing;           /* the thread closes them */
    int64_t logged_mono_ms; /* of the last message about a failure */
    int64_t asked_mono_ms;  /* end of the last query */

    /* Of the running query; the thread owns them while it runs. */
    rd_kafka_t *uncommitted, *committed; /* NULL before the first query */
    int *lanes;
    int lanes_n;
    struct log_ends *ends; /* by index in lanes, then topic */
    int32_t *leaders;      /* as ends. NO_LEADER: none, or its answer is missing */
    bool *whole;           /* by index in lanes */
};

static void close_handles(void *arg)
{
    struct lane_ends *e = arg;
    if (e->uncommitted != NULL)
        rd_kafka_destroy(e->uncommitted);
    if (e->committed != NULL)
        rd_kafka_destroy(e->committed);
    e->uncommitted = e->committed = NULL;
}

static void free_all(struct lane_ends *e)
{
    free(e->wanted);
    free(e->lanes);
    free(e->ends);
    free(e->leaders);
    free(e->whole);
    free(e);
}

struct lane_ends *lane_ends_new(const struct lane_ends_config *config)
{
    struct lane_ends *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    size_t lanes = (size_t)config->lanes;
    e->config = *config;
    e->wanted = calloc(lanes, sizeof *e->wanted);
    e->lanes = calloc(lanes, sizeof *e->lanes);
    e->ends = calloc(lanes * (size_t)config->topics_n, sizeof *e->ends);
    e->leaders = calloc(lanes * (size_t)config->topics_n, sizeof *e->leaders);
    e->whole = calloc(lanes, sizeof *e->whole);
    if (e->wanted != NULL && e->lanes != NULL && e->ends != NULL && e->leaders != NULL &&
        e->whole != NULL)
        e->blocking_call = blocking_call_new(config->wakeup);
    if (e->blocking_call != NULL)
        return e;
    free_all(e);
    return NULL;
}

bool lane_ends_free(struct lane_ends *e)
{
    if (!blocking_call_free(e->blocking_call, STOP_MS))
        return false;
    close_handles(e);
    free_all(e);
    return true;
}

/* ListOffsets follows the isolation level of the handle. A producer has one too, and no group. */
static rd_kafka_t *new_client(const struct config *config, const char *isolation)
{
    struct error error;
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, &error);
    rd_kafka_t *rk = NULL;
    if (conf != NULL) {
        rd_kafka_conf_set(conf, "isolation.level", isolation, NULL, 0);
        rd_kafka_conf_set(conf, "socket.timeout.ms", ANSWER_TEXT_MS, NULL, 0);
        rd_kafka_conf_set_error_cb(conf, NULL); /* other handles report the same outage */
        rd_kafka_conf_set_log_cb(conf, NULL);
        rk = client_new(RD_KAFKA_PRODUCER, conf, &error);
    }
    if (rk == NULL)
        log_warn(
            "cannot start the client for the ends of logs, cancels stay in force, trying again",
            F_TEXT("reason", error.text));
    return rk;
}

static bool is_connected(struct lane_ends *e)
{
    if (e->uncommitted == NULL)
        e->uncommitted = new_client(e->config.config, "read_uncommitted");
    if (e->uncommitted != NULL && e->committed == NULL)
        e->committed = new_client(e->config.config, "read_committed");
    return e->committed != NULL;
}

static int index_of(const struct lane_ends *e, int lane_index, int topic)
{
    return lane_index * e->config.topics_n + topic;
}

enum which { STARTS, ENDS, STABLE_ENDS };

static void put(struct log_ends *ends, enum which which, int64_t offset)
{
    if (which == STARTS)
        ends->start = offset;
    else if (which == ENDS)
        ends->end = offset;
    else
        ends->stable_end = offset;
}

/* Lists the logs that this broker leads, among the first topics of each lane. */
static rd_kafka_topic_partition_list_t *list_logs(const struct lane_ends *e, int topics,
                                                  int32_t leader)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(e->lanes_n * topics);
    for (int i = 0; i < e->lanes_n; i++)
        for (int topic = 0; topic < topics; topic++)
            if (e->leaders[index_of(e, i, topic)] == leader)
                rd_kafka_topic_partition_list_add(list, e->config.topics[topic], e->lanes[i]);
    return list;
}

/* Queries one broker. A log without an answer counts as one without a leader, so that a broker that
   is away delays a query once. The client may sort a list, so each answer is searched for. */
static void ask_leader(struct lane_ends *e, enum which which, int32_t leader)
{
    int topics = which == STABLE_ENDS ? 1 : e->config.topics_n;
    rd_kafka_topic_partition_list_t *list = list_logs(e, topics, leader);
    (void)!log_ends_await(which == STABLE_ENDS ? e->committed : e->uncommitted, list,
                          which == STARTS ? LOG_BEGINNING : LOG_END, ASK_MS);
    for (int i = 0; i < e->lanes_n; i++) {
        for (int topic = 0; topic < topics; topic++) {
            const rd_kafka_topic_partition_t *log =
                rd_kafka_topic_partition_list_find(list, e->config.topics[topic], e->lanes[i]);
            if (log == NULL)
                continue;
            if (log->err == 0 && log->offset >= 0)
                put(&e->ends[index_of(e, i, topic)], which, log->offset);
            else
                e->leaders[index_of(e, i, topic)] = NO_LEADER;
        }
    }
    rd_kafka_topic_partition_list_destroy(list);
}

/* One call for all brokers would fail if one of them is away, or if one log has no leader. */
static void ask(struct lane_ends *e, enum which which)
{
    int32_t asked = NO_LEADER;
    for (;;) {
        int32_t next = INT32_MAX;
        for (int i = 0; i < e->lanes_n * e->config.topics_n; i++)
            if (e->leaders[i] > asked && e->leaders[i] < next)
                next = e->leaders[i];
        if (next == INT32_MAX)
            return;
        ask_leader(e, which, next);
        asked = next;
    }
}

static int topic_index(const struct lane_ends *e, const char *name)
{
    for (int topic = 0; topic < e->config.topics_n; topic++)
        if (strcmp(e->config.topics[topic], name) == 0)
            return topic;
    return -1;
}

static void note_partition(struct lane_ends *e, int topic, const rd_kafka_metadata_partition_t *p)
{
    for (int i = 0; i < e->lanes_n; i++) {
        if (e->lanes[i] != p->id || p->leader < 0)
            continue;
        e->leaders[index_of(e, i, topic)] = p->leader;
        e->whole[i] = e->whole[i] && p->err == 0 && p->isr_cnt == p->replica_cnt;
    }
}

/* Lists all topics: a request by name could create the topic. Tries again, because the client may
   choose a broker that hangs. It leaves this broker before the first attempt has timed out. */
static bool list_topics(rd_kafka_t *rk, const rd_kafka_metadata_t **metadata)
{
    for (int i = 0; i < METADATA_ATTEMPTS; i++)
        if (rd_kafka_metadata(rk, 1, NULL, metadata, METADATA_MS) == 0)
            return true;
    return false;
}

/* Finds the leaders, and the lanes with all replicas. Each client has its own list of leaders, and
   with an old one it would query a broker that hangs. So both clients read the list. */
static bool find_leaders(struct lane_ends *e)
{
    const rd_kafka_metadata_t *metadata;
    for (int i = 0; i < e->lanes_n; i++)
        e->whole[i] = true;
    for (int i = 0; i < e->lanes_n * e->config.topics_n; i++) {
        e->leaders[i] = NO_LEADER;
        e->ends[i] = (struct log_ends){0};
    }
    if (!list_topics(e->uncommitted, &metadata))
        return false;
    rd_kafka_metadata_destroy(metadata);
    if (!list_topics(e->committed, &metadata))
        return false;
    for (int t = 0; t < metadata->topic_cnt; t++) {
        const rd_kafka_metadata_topic_t *topic = &metadata->topics[t];
        int index = topic_index(e, topic->topic);
        for (int p = 0; index >= 0 && p < topic->partition_cnt; p++)
            note_partition(e, index, &topic->partitions[p]);
    }
    rd_kafka_metadata_destroy(metadata);
    return true;
}

/* The last stable offset comes before the end: it must not be above the high watermark. */
static void answer(void *arg)
{
    struct lane_ends *e = arg;
    if (!is_connected(e) || !find_leaders(e))
        return;
    ask(e, STARTS);
    ask(e, STABLE_ENDS);
    ask(e, ENDS);
}

void lane_ends_ask(struct lane_ends *lane_ends, int lane)
{
    bool runs = lane_ends->wanted[lane] == WANTED_RUNNING ||
                lane_ends->wanted[lane] == WANTED_RUNNING_AGAIN;
    lane_ends->wanted[lane] = runs ? WANTED_RUNNING_AGAIN : WANTED;
    lane_ends->any_wanted = true;
}

void lane_ends_drop_all(struct lane_ends *lane_ends)
{
    for (int lane = 0; lane < lane_ends->config.lanes; lane++)
        lane_ends->wanted[lane] = WANTED_NOT;
    lane_ends->any_wanted = false;
}

static void log_failure(struct lane_ends *e, int lanes)
{
    int64_t now_mono_ms = clock_mono_ms();
    if (lanes == 0 || now_mono_ms - e->logged_mono_ms < LOG_AGAIN_MS)
        return;
    e->logged_mono_ms = now_mono_ms;
    log_warn("cannot read the ends of logs, lanes that restore their cancels wait, trying again: "
             "run 'delaybridge check'",
             F_INT("lanes", lanes));
}

static bool is_known(const struct lane_ends *e, int lane_index, int topic)
{
    return e->leaders[index_of(e, lane_index, topic)] != NO_LEADER;
}

/* Passes on the ends of a lane. A restore needs the first and the last topic, a seal needs all.
   Returns false without those of the first and the last. */
static bool pass_on(struct lane_ends *e, int lane_index)
{
    int last = e->config.topics_n - 1;
    bool whole = e->whole[lane_index];
    if (!is_known(e, lane_index, 0) || !is_known(e, lane_index, last))
        return false;
    for (int topic = 0; topic <= last; topic++)
        whole = whole && is_known(e, lane_index, topic);
    e->config.answered(e->config.ctx, e->lanes[lane_index], &e->ends[index_of(e, lane_index, 0)],
                       whole);
    return true;
}

/* answered may ask again. */
static void take_answer(struct lane_ends *e)
{
    int missing = 0;
    e->running = false;
    e->asked_mono_ms = clock_mono_ms();
    for (int i = 0; i < e->lanes_n; i++) {
        enum wanted *wanted = &e->wanted[e->lanes[i]];
        bool answers = *wanted == WANTED_RUNNING;
        if (*wanted == WANTED_RUNNING_AGAIN)
            *wanted = WANTED;
        else if (answers)
            *wanted = WANTED_NOT;
        if (answers)
            missing += !pass_on(e, i);
    }
    log_failure(e, missing);
}

static void begin_query(struct lane_ends *e)
{
    e->lanes_n = 0;
    for (int lane = 0; lane < e->config.lanes; lane++) {
        if (e->wanted[lane] != WANTED)
            continue;
        e->wanted[lane] = WANTED_RUNNING;
        e->lanes[e->lanes_n++] = lane;
    }
    e->any_wanted = false;
    e->running = e->lanes_n > 0;
    e->connected |= e->running;
    if (e->running)
        blocking_call_begin(e->blocking_call, answer, e);
}

static void begin_close(struct lane_ends *e)
{
    e->connected = false;
    e->closing = true;
    blocking_call_begin(e->blocking_call, close_handles, e);
}

void lane_ends_serve(struct lane_ends *lane_ends)
{
    bool busy = lane_ends->running || lane_ends->closing;
    if (busy && !blocking_call_is_over(lane_ends->blocking_call))
        return;
    lane_ends->closing = false;
    if (lane_ends->running)
        take_answer(lane_ends);
    if (lane_ends->any_wanted)
        begin_query(lane_ends);
    else if (lane_ends->connected && clock_mono_ms() - lane_ends->asked_mono_ms >= IDLE_MS)
        begin_close(lane_ends);
}
