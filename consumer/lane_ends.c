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

enum { STOP_MS = 1000, ASK_MS = 5000, LOG_AGAIN_MS = 10000 };

/* A lane whose ends are wanted. RUNNING_AGAIN: the running query began before the last call. */
enum wanted { WANTED_NOT, WANTED, WANTED_RUNNING, WANTED_RUNNING_AGAIN };

struct lane_ends {
    struct lane_ends_config config;
    struct blocking_call *blocking_call;
    enum wanted *wanted; /* by lane */
    bool any_wanted, running;
    int64_t logged_mono_ms; /* of the last message about a failure */

    /* Of the running query; the thread owns them while it runs. */
    rd_kafka_t *uncommitted, *committed; /* NULL before the first query */
    int *lanes;
    int lanes_n;
    struct log_ends *ends; /* by index in lanes, then topic */
    bool *whole;           /* by index in lanes */
    bool known;
};

static void free_all(struct lane_ends *e)
{
    free(e->wanted);
    free(e->lanes);
    free(e->ends);
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
    e->whole = calloc(lanes, sizeof *e->whole);
    if (e->wanted != NULL && e->lanes != NULL && e->ends != NULL && e->whole != NULL)
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
    if (e->uncommitted != NULL)
        rd_kafka_destroy(e->uncommitted);
    if (e->committed != NULL)
        rd_kafka_destroy(e->committed);
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

static struct log_ends *ends_of(struct lane_ends *e, int index, int topic)
{
    return &e->ends[index * e->config.topics_n + topic];
}

/* Lists the first topics of each lane, lane by lane. */
static rd_kafka_topic_partition_list_t *list_logs(const struct lane_ends *e, int topics)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(e->lanes_n * topics);
    for (int i = 0; i < e->lanes_n; i++)
        for (int topic = 0; topic < topics; topic++)
            rd_kafka_topic_partition_list_add(list, e->config.topics[topic], e->lanes[i]);
    return list;
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

/* The client may sort a list, so each answer is searched for. */
static bool ask(struct lane_ends *e, enum which which)
{
    int topics = which == STABLE_ENDS ? 1 : e->config.topics_n;
    rd_kafka_topic_partition_list_t *list = list_logs(e, topics);
    bool known = log_ends_await(which == STABLE_ENDS ? e->committed : e->uncommitted, list,
                                which == STARTS ? LOG_BEGINNING : LOG_END, ASK_MS) == 0;
    for (int i = 0; known && i < e->lanes_n; i++) {
        for (int topic = 0; known && topic < topics; topic++) {
            const rd_kafka_topic_partition_t *log =
                rd_kafka_topic_partition_list_find(list, e->config.topics[topic], e->lanes[i]);
            known = log != NULL && log->err == 0 && log->offset >= 0;
            if (known)
                put(ends_of(e, i, topic), which, log->offset);
        }
    }
    rd_kafka_topic_partition_list_destroy(list);
    return known;
}

static int topic_index(const struct lane_ends *e, const char *name)
{
    for (int topic = 0; topic < e->config.topics_n; topic++)
        if (strcmp(e->config.topics[topic], name) == 0)
            return topic;
    return -1;
}

static bool is_whole(const rd_kafka_metadata_topic_t *topic, int lane)
{
    for (int i = 0; i < topic->partition_cnt; i++) {
        const rd_kafka_metadata_partition_t *p = &topic->partitions[i];
        if (p->id == lane)
            return p->err == 0 && p->leader >= 0 && p->isr_cnt == p->replica_cnt;
    }
    return false;
}

/* Lists all topics: a request by name could create the topic. */
static bool ask_whole(struct lane_ends *e)
{
    const rd_kafka_metadata_t *metadata;
    if (rd_kafka_metadata(e->committed, 1, NULL, &metadata, ASK_MS) != 0)
        return false;
    int found = 0;
    for (int i = 0; i < e->lanes_n; i++)
        e->whole[i] = true;
    for (int t = 0; t < metadata->topic_cnt; t++) {
        const rd_kafka_metadata_topic_t *topic = &metadata->topics[t];
        if (topic_index(e, topic->topic) < 0)
            continue;
        found++;
        for (int i = 0; i < e->lanes_n; i++)
            e->whole[i] = e->whole[i] && is_whole(topic, e->lanes[i]);
    }
    for (int i = 0; i < e->lanes_n; i++)
        e->whole[i] = e->whole[i] && found == e->config.topics_n;
    rd_kafka_metadata_destroy(metadata);
    return true;
}

/* The last stable offset comes last: it must not be above the high watermark. */
static void answer(void *arg)
{
    struct lane_ends *e = arg;
    e->known =
        is_connected(e) && ask_whole(e) && ask(e, STARTS) && ask(e, STABLE_ENDS) && ask(e, ENDS);
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

static void log_failure(struct lane_ends *e)
{
    int64_t now_mono_ms = clock_mono_ms();
    if (now_mono_ms - e->logged_mono_ms < LOG_AGAIN_MS)
        return;
    e->logged_mono_ms = now_mono_ms;
    log_warn("cannot read the ends of logs, lanes that restore their cancels wait, trying again: "
             "run 'delaybridge check'",
             F_INT("lanes", e->lanes_n));
}

/* answered may ask again. */
static void take_answer(struct lane_ends *e)
{
    e->running = false;
    if (!e->known)
        log_failure(e);
    for (int i = 0; i < e->lanes_n; i++) {
        enum wanted *wanted = &e->wanted[e->lanes[i]];
        bool answers = *wanted == WANTED_RUNNING;
        if (*wanted == WANTED_RUNNING_AGAIN)
            *wanted = WANTED;
        else if (answers)
            *wanted = WANTED_NOT;
        if (answers && e->known)
            e->config.answered(e->config.ctx, e->lanes[i], ends_of(e, i, 0), e->whole[i]);
    }
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
    if (e->running)
        blocking_call_begin(e->blocking_call, answer, e);
}

void lane_ends_serve(struct lane_ends *lane_ends)
{
    if (lane_ends->running && blocking_call_is_over(lane_ends->blocking_call))
        take_answer(lane_ends);
    if (lane_ends->any_wanted && !lane_ends->running)
        begin_query(lane_ends);
}
