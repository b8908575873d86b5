/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns the ranges to some handles, each with a thread that polls it. */
#include "consumer/admin/scan.h"

#include "bridge/base/clock.h"
#include "consumer/admin/offsets.h"
#include "consumer/admin/polled.h"
#include "consumer/client/client.h"
#include "levels/counted.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    POLL_MS = 50,
    BATCH = 256,
    PROGRESS_MS = 100,
    PARTS_MAX = 8,
    GENTLE_PARTS = 2,
    PART_OFFSETS = 200000,
    FEW_OFFSETS = 50000
};

/* One handle and its ranges. */
struct part {
    struct shared *shared;
    rd_kafka_t *rk;
    rd_kafka_topic_partition_list_t *list; /* the assignment */
    struct scan_range *ranges;             /* of the caller */
    int *open;                             /* indexes of this part's ranges; -1: read */
    struct scan_range *last; /* the range of the last message, which most often fits the next */
    const rd_kafka_topic_t *last_topic;
    pthread_t thread;
    atomic_llong read;
    int open_n, left;
    int err;
    bool started;
    struct error error;
};

struct shared {
    struct scan *scan;
    atomic_bool ending;
    pthread_mutex_t mutex; /* of running and scan->denied */
    pthread_cond_t ended;
    int running;
};

/* Each fetch brings that much of each partition, needed or not. This is fastest for many records. A
   scan of a few records of a hundred partitions would read a hundred megabytes. */
static void many_conf(const struct scan *scan, rd_kafka_conf_t *conf)
{
    static const char *const settings[][2] = {{"fetch.message.max.bytes", "1048576"},
                                              {"queued.max.messages.kbytes", "16384"}};
    offsets_conf(scan->config, conf);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        rd_kafka_conf_set(conf, settings[i][0], settings[i][1], NULL, 0);
    if (scan->is_gentle)
        rd_kafka_conf_set(conf, "queued.max.messages.kbytes", "4096", NULL, 0);
}

/* Returns the open range of a message, or NULL if its range is read. */
static struct scan_range *range_find(struct part *part, const rd_kafka_message_t *message)
{
    struct scan_range *last = part->last;
    if (last != NULL && part->last_topic == message->rkt && last->partition == message->partition)
        return last;
    const char *topic = rd_kafka_topic_name(message->rkt);
    for (int i = 0; i < part->open_n; i++) {
        if (part->open[i] < 0)
            continue;
        struct scan_range *range = &part->ranges[part->open[i]];
        if (range->partition != message->partition || strcmp(range->topic, topic) != 0)
            continue;
        part->last = range;
        part->last_topic = message->rkt;
        return range;
    }
    return NULL;
}

/* Ends a range. Its partition stays assigned: a pause would outlive the assignment. */
static void range_close(struct part *part, struct scan_range *range)
{
    for (int i = 0; i < part->open_n; i++)
        if (part->open[i] >= 0 && &part->ranges[part->open[i]] == range)
            part->open[i] = -1;
    part->left--;
    part->last = NULL;
}

static void deny(struct part *part, const rd_kafka_message_t *message)
{
    struct shared *shared = part->shared;
    pthread_mutex_lock(&shared->mutex);
    snprintf(shared->scan->denied, sizeof shared->scan->denied, "%s",
             rd_kafka_topic_name(message->rkt));
    pthread_mutex_unlock(&shared->mutex);
    part->err = polled_denied(message, ERR_CONFIG, &part->error);
}

/* Passes a record of the range to the caller. */
static void give(struct part *part, struct scan_range *range, const rd_kafka_message_t *message)
{
    struct scan *scan = part->shared->scan;
    if (message->offset < range->end) {
        atomic_fetch_add_explicit(&part->read, 1, memory_order_relaxed);
        if (!scan->each(scan->ctx, range, message))
            atomic_store(&part->shared->ending, true);
    }
    if (message->offset + 1 >= range->end)
        range_close(part, range);
}

static void take(struct part *part, const rd_kafka_message_t *message)
{
    enum polled polled = polled_of(message);
    struct scan_range *range = message->rkt == NULL ? NULL : range_find(part, message);
    switch (polled) {
    case POLLED_DENIED:
        deny(part, message);
        break;
    case POLLED_RECORD:
        if (range != NULL)
            give(part, range, message);
        break;
    case POLLED_UNREADABLE:
    case POLLED_END:
        if (range == NULL)
            break;
        if (polled == POLLED_UNREADABLE)
            range->unreadable = message->offset;
        range_close(part, range);
        break;
    case POLLED_NOTHING:
    case POLLED_ABSENT:
        break;
    }
}

static bool is_finished(const struct part *part)
{
    return part->err != 0 || part->left == 0 || atomic_load(&part->shared->ending);
}

/* Returns whether the call for many messages is safe. In versions 2.1 it ends the process if one of
   them is an error without a partition. */
static bool can_batch(void)
{
    return rd_kafka_version() < 0x02010000 || rd_kafka_version() >= 0x02020000;
}

/* Takes all that the client has fetched, up to BATCH messages. A call for each message would read
   the clock and lock the queue several times. Before 2.1 the call for many may lose messages after
   a pause, and a scan never pauses. Returns false if nothing came within POLL_MS. */
static bool take_some(struct part *part, rd_kafka_queue_t *queue)
{
    rd_kafka_message_t *batch[BATCH] = {rd_kafka_consumer_poll(part->rk, POLL_MS)};
    if (batch[0] == NULL)
        return false;
    ssize_t more = can_batch() ? rd_kafka_consume_batch_queue(queue, 0, batch + 1, BATCH - 1) : 0;
    for (ssize_t i = 0; i < 1 + (more > 0 ? more : 0); i++) {
        if (!is_finished(part))
            take(part, batch[i]);
        rd_kafka_message_destroy(batch[i]);
    }
    return true;
}

static void poll_part(struct part *part, rd_kafka_queue_t *queue)
{
    char partitions[COUNTED_MAX];
    int64_t seen_mono_ms = clock_mono_ms();
    while (!is_finished(part)) {
        if (take_some(part, queue)) {
            seen_mono_ms = 0;
            continue;
        }
        int64_t now_mono_ms = clock_mono_ms();
        seen_mono_ms = seen_mono_ms == 0 ? now_mono_ms : seen_mono_ms;
        if (now_mono_ms - seen_mono_ms > part->shared->scan->timeout_ms)
            part->err = error_set(&part->error, ERR_KAFKA, "%s did not answer in time",
                                  counted(part->left, "partition", partitions));
    }
}

static void *run(void *ctx)
{
    struct part *part = ctx;
    struct shared *shared = part->shared;
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(part->rk);
    rd_kafka_resp_err_t code = rd_kafka_assign(part->rk, part->list);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        part->err = error_set(&part->error, ERR_KAFKA, "cannot assign partitions: %s",
                              rd_kafka_err2str(code));
    else
        poll_part(part, queue);
    rd_kafka_assign(part->rk, NULL);
    rd_kafka_queue_destroy(queue);
    if (part->err != 0)
        atomic_store(&shared->ending, true);
    pthread_mutex_lock(&shared->mutex);
    shared->running--;
    pthread_cond_signal(&shared->ended);
    pthread_mutex_unlock(&shared->mutex);
    return NULL;
}

static int64_t read_of(const struct part *parts, int n)
{
    int64_t read = 0;
    for (int i = 0; i < n; i++)
        read += atomic_load_explicit(&parts[i].read, memory_order_relaxed);
    return read;
}

static void await(struct shared *shared, const struct part *parts, int n, int64_t all)
{
    struct scan *scan = shared->scan;
    pthread_mutex_lock(&shared->mutex);
    while (shared->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PROGRESS_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        int waited = pthread_cond_timedwait(&shared->ended, &shared->mutex, &until);
        if (waited == ETIMEDOUT && scan->progress != NULL)
            scan->progress(scan->ctx, read_of(parts, n), all);
    }
    pthread_mutex_unlock(&shared->mutex);
}

/* Creates the handle of a part, unless the scan uses the caller's. */
static int part_init(struct part *part, struct shared *shared, bool few, int ranges_n)
{
    struct scan *scan = shared->scan;
    part->shared = shared;
    part->list = rd_kafka_topic_partition_list_new(ranges_n);
    part->open = calloc((size_t)ranges_n, sizeof *part->open);
    if (part->open == NULL)
        return error_set(&part->error, ERR_NO_MEMORY, "%s", err_text(ERR_NO_MEMORY));
    part->rk = scan->rk;
    if (few)
        return 0;
    rd_kafka_conf_t *conf = client_conf(scan->config, CLIENT_ALL, &part->error);
    if (conf != NULL)
        many_conf(scan, conf);
    part->rk = conf == NULL ? NULL : client_new(RD_KAFKA_CONSUMER, conf, &part->error);
    return part->rk == NULL ? ERR_CONFIG : 0;
}

static void part_deinit(struct part *part)
{
    if (part->list != NULL)
        rd_kafka_topic_partition_list_destroy(part->list);
    if (part->rk != NULL && part->rk != part->shared->scan->rk)
        rd_kafka_destroy(part->rk);
    free(part->open);
}

static void part_add(struct part *part, int i)
{
    const struct scan_range *range = &part->ranges[i];
    assert(part->open != NULL);
    rd_kafka_topic_partition_list_add(part->list, range->topic, range->partition)->offset =
        range->from;
    part->open[part->open_n++] = i;
    part->left++;
}

/* Gives each range to the part with the fewest offsets, and returns the number of offsets. */
static int64_t divide(struct part *parts, int parts_n, struct scan_range *ranges, int n)
{
    int64_t load[PARTS_MAX] = {0}, all = 0;
    for (int i = 0; i < n; i++) {
        int least = 0;
        ranges[i].unreadable = -1;
        if (ranges[i].from >= ranges[i].end)
            continue;
        for (int p = 1; p < parts_n; p++)
            least = load[p] < load[least] ? p : least;
        part_add(&parts[least], i);
        load[least] += ranges[i].end - ranges[i].from;
        all += ranges[i].end - ranges[i].from;
    }
    return all;
}

static int64_t offsets_of(const struct scan_range *ranges, int n)
{
    int64_t all = 0;
    for (int i = 0; i < n; i++)
        all += ranges[i].end > ranges[i].from ? ranges[i].end - ranges[i].from : 0;
    return all;
}

static int parts_for(int64_t all, bool is_gentle)
{
    int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t parts = all / PART_OFFSETS + 1;
    parts = parts > cores ? cores : parts;
    if (is_gentle && parts > GENTLE_PARTS)
        return GENTLE_PARTS;
    return parts > PARTS_MAX ? PARTS_MAX : parts < 1 ? 1 : (int)parts;
}

static void run_all(struct shared *shared, struct part *parts, int n, int64_t all)
{
    for (int i = 0; i < n; i++) {
        if (parts[i].left == 0)
            continue;
        pthread_mutex_lock(&shared->mutex);
        shared->running++;
        pthread_mutex_unlock(&shared->mutex);
        parts[i].started = pthread_create(&parts[i].thread, NULL, run, &parts[i]) == 0;
        if (parts[i].started)
            continue;
        parts[i].err = error_set(&parts[i].error, ERR_NO_MEMORY, "cannot start a thread");
        atomic_store(&shared->ending, true);
        pthread_mutex_lock(&shared->mutex);
        shared->running--;
        pthread_mutex_unlock(&shared->mutex);
    }
    await(shared, parts, n, all);
    for (int i = 0; i < n; i++)
        if (parts[i].started)
            pthread_join(parts[i].thread, NULL);
}

int scan_read(struct scan *scan, struct scan_range *ranges, int n, struct error *error)
{
    struct part parts[PARTS_MAX] = {0};
    struct shared shared = {
        .scan = scan, .mutex = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
    int64_t all = offsets_of(ranges, n);
    int err = 0, parts_n = parts_for(all, scan->is_gentle);
    scan->denied[0] = '\0';
    for (int i = 0; i < parts_n && err == 0; i++) {
        err = part_init(&parts[i], &shared, all <= FEW_OFFSETS, n > 0 ? n : 1);
        parts[i].ranges = ranges;
        if (err != 0)
            *error = parts[i].error;
    }
    if (err == 0) {
        run_all(&shared, parts, parts_n, divide(parts, parts_n, ranges, n));
        scan->read += read_of(parts, parts_n);
    }
    for (int i = 0; i < parts_n; i++) {
        if (err == 0 && parts[i].err != 0) {
            err = parts[i].err;
            *error = parts[i].error;
        }
        part_deinit(&parts[i]);
    }
    return err;
}
