/* SPDX-License-Identifier: Apache-2.0 */
/* Commits of progress, by the member or in a producer's transaction, and initial offsets. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/client/log_ends.h"
#include "consumer/group_parts.h"

#include <stdlib.h>

/* The broker writes a request as one batch of at most 1 MB. OFFSET_BYTES: topic name and numbers of
   one offset. */
enum { COMMIT_BYTES_MAX = 512 * 1024, OFFSET_BYTES = 192, INITIAL_OFFSETS_MAX = 2048 };

enum { INITIAL_MS = 2000, OMIT_MS = 60 * 1000 };

static rd_kafka_resp_err_t first_error(rd_kafka_resp_err_t err,
                                       const rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; err == 0 && list != NULL && i < list->cnt; i++)
        err = list->elems[i].err;
    return err;
}

/* Counts one answered request. A commit succeeds when all its requests have succeeded. An answer
   to an earlier commit counts as a failure. The broker may have handled that request after the
   later one, and so overwritten the later offsets. */
static void part_answered(struct group *g, uint64_t seq, bool ok)
{
    if (seq != g->seq) {
        g->config.committed(g->config.ctx, seq, false);
        return;
    }
    g->parts_ok &= ok;
    if (--g->parts_out == 0)
        g->config.committed(g->config.ctx, seq, g->parts_ok);
}

static void on_commit(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                      rd_kafka_topic_partition_list_t *list, void *opaque)
{
    (void)rk;
    struct group *g = rd_kafka_opaque(rk);
    g->commits_out--;
    err = first_error(err, list);
    if (err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        group_omit_witnesses(g, OMIT_MS);
    if (err != 0)
        log_warn(
            "commit failed, trying again, a crash now repeats deliveries: run 'delaybridge check'",
            F_TEXT("error", rd_kafka_err2name(err)),
            F_HINT(err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
                       ? "allow Read on the schedule and level topics"
                       : NULL));
    part_answered(g, (uint64_t)(uintptr_t)opaque, err == 0);
}

/* Adds an offset with its metadata. Returns false if memory for the metadata is lacking. The bare
   offset is still correct, but does not name the records that are done above it. */
static bool add_offset(rd_kafka_topic_partition_t *p, int64_t offset, const char *text, size_t len)
{
    p->offset = offset;
    p->metadata = malloc(len);
    p->metadata_size = p->metadata == NULL ? 0 : len;
    if (p->metadata != NULL)
        memcpy(p->metadata, text, len);
    return p->metadata != NULL;
}

static bool add_progress(const struct group *g, rd_kafka_topic_partition_list_t *list,
                         const struct progress *progress)
{
    const char *const *topics = g->config.topics;
    int slot = progress->queue.slot, lane = progress->queue.lane;
    bool whole = add_offset(rd_kafka_topic_partition_list_add(list, topics[slot], lane),
                            progress->base, progress->text, progress->text_len);
    if (progress->witnesses_len > 0 && clock_mono_ms() >= g->omit_until_mono_ms)
        whole &= add_offset(rd_kafka_topic_partition_list_add(list, topics[g->config.slots], lane),
                            progress->cancels_end, progress->witnesses, progress->witnesses_len);
    return whole;
}

static size_t wire_bytes(const struct progress *progress)
{
    return progress->text_len + progress->witnesses_len + (size_t)2 * OFFSET_BYTES;
}

/* Adds as many offsets as one request may hold. Returns how many. */
static size_t fill_request(const struct group *g, rd_kafka_topic_partition_list_t *list,
                           const struct progress *progress, size_t n)
{
    size_t bytes = 0, i = 0;
    for (; i < n && bytes + wire_bytes(&progress[i]) <= COMMIT_BYTES_MAX; i++) {
        (void)add_progress(g, list, &progress[i]);
        bytes += wire_bytes(&progress[i]);
    }
    return i;
}

void group_omit_witnesses(struct group *g, int64_t for_ms)
{
    g->omit_until_mono_ms = clock_mono_ms() + for_ms;
}

rd_kafka_topic_partition_list_t *group_offsets(const struct group *g,
                                               const struct progress *progress, size_t n)
{
    if (!g->owning || g->member == NULL)
        return NULL;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)n);
    bool whole = true;
    for (size_t i = 0; i < n; i++)
        whole &= add_progress(g, list, &progress[i]);
    if (whole)
        return list;
    rd_kafka_topic_partition_list_destroy(list);
    return NULL;
}

rd_kafka_consumer_group_metadata_t *group_identity(const struct group *g)
{
    void *bytes = NULL;
    size_t size = 0;
    rd_kafka_consumer_group_metadata_t *copy = NULL;
    rd_kafka_error_t *error =
        g->member == NULL ? NULL : rd_kafka_consumer_group_metadata_write(g->member, &bytes, &size);
    if (error == NULL && bytes != NULL)
        error = rd_kafka_consumer_group_metadata_read(&copy, bytes, size);
    if (error != NULL)
        rd_kafka_error_destroy(error);
    rd_kafka_mem_free(NULL, bytes);
    return copy;
}

/* Lists the partitions without a committed offset. The opaque of each points to its start. */
static rd_kafka_topic_partition_list_t *list_without_offset(const struct group *g, const int *lanes,
                                                            int n, struct start *starts)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(n * g->config.slots);
    for (int i = 0; i < n * g->config.slots; i++) {
        int lane = lanes[i / g->config.slots], slot = i % g->config.slots;
        if (starts[i].offset == WINDOW_UNSET && !starts[i].missing)
            rd_kafka_topic_partition_list_add(list, g->config.topics[slot], lane)->opaque =
                &starts[i];
    }
    return list;
}

static void on_initial_commit(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                              rd_kafka_topic_partition_list_t *list, void *opaque)
{
    (void)rk;
    *(rd_kafka_resp_err_t *)opaque = first_error(err, list);
}

/* Commits, and waits for INITIAL_MS at most, since rd_kafka_commit has no timeout. An answer after
   that time is dropped with its queue, and does not write to the local variable. */
static rd_kafka_resp_err_t commit_and_wait(struct group *g,
                                           const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t answer = RD_KAFKA_RESP_ERR__IN_PROGRESS;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(g->rk);
    rd_kafka_resp_err_t err = rd_kafka_commit_queue(g->rk, list, queue, on_initial_commit, &answer);
    int64_t until_mono_ms = clock_mono_ms() + INITIAL_MS;
    while (err == 0 && answer == RD_KAFKA_RESP_ERR__IN_PROGRESS && clock_mono_ms() < until_mono_ms)
        rd_kafka_queue_poll_callback(queue, INITIAL_MS / 10);
    rd_kafka_queue_destroy(queue);
    return err != 0 ? err : answer;
}

static rd_kafka_resp_err_t commit_initial_offsets(struct group *g,
                                                  const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t err = 0;
    for (int i = 0; err == 0 && i < list->cnt;) {
        rd_kafka_topic_partition_list_t *part =
            rd_kafka_topic_partition_list_new(INITIAL_OFFSETS_MAX);
        for (; i < list->cnt && part->cnt < INITIAL_OFFSETS_MAX; i++) {
            const rd_kafka_topic_partition_t *initial = &list->elems[i];
            rd_kafka_topic_partition_list_add(part, initial->topic, initial->partition)->offset =
                initial->offset;
            *(struct start *)initial->opaque =
                (struct start){.offset = initial->offset, .fresh = true};
        }
        err = commit_and_wait(g, part);
        rd_kafka_topic_partition_list_destroy(part);
    }
    return err;
}

int group_commit_initial(struct group *g, rd_kafka_t *ask, const int *lanes, int n,
                         struct start *starts)
{
    rd_kafka_topic_partition_list_t *list = list_without_offset(g, lanes, n, starts);
    rd_kafka_resp_err_t err = log_ends_await(ask, list, LOG_BEGINNING, INITIAL_MS);
    if (err == 0)
        err = commit_initial_offsets(g, list);
    rd_kafka_topic_partition_list_destroy(list);
    return err == 0 ? 0 : ERR_KAFKA;
}

static void send_request(struct group *g, const rd_kafka_topic_partition_list_t *list)
{
    g->commits_out++;
    rd_kafka_resp_err_t err =
        rd_kafka_commit_queue(g->rk, list, g->commits, on_commit, (void *)(uintptr_t)g->seq);
    if (err == 0)
        return;
    g->commits_out--;
    log_warn("commit could not be sent, trying again, a crash now repeats deliveries: restart this "
             "process if this repeats",
             F_TEXT("error", rd_kafka_err2name(err)));
    part_answered(g, g->seq, false);
}

void group_commit(struct group *g, uint64_t seq, const struct progress *progress, size_t n)
{
    if (!g->owning) {
        g->config.committed(g->config.ctx, seq, false);
        return;
    }
    g->seq = seq;
    g->parts_ok = true;
    g->parts_out = 1; /* one extra, so that the commit does not end before all requests are sent */
    for (size_t sent = 0; sent < n;) {
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)(n - sent));
        sent += fill_request(g, list, progress + sent, n - sent);
        g->parts_out++;
        send_request(g, list);
        rd_kafka_topic_partition_list_destroy(list);
    }
    part_answered(g, seq, true);
}

bool group_await(struct group *g, int timeout_ms)
{
    int64_t until_mono_ms = clock_mono_ms() + timeout_ms;
    while (g->commits_out > 0 && clock_mono_ms() < until_mono_ms)
        rd_kafka_queue_poll_callback(g->commits, 10);
    return g->commits_out == 0;
}
