/* SPDX-License-Identifier: Apache-2.0 */
/* The end of each partition of the schedule topic, and the lanes of its keys. */
#include "consumer/admin/sample.h"

#include "bridge/base/quote.h"
#include "consumer/admin/offsets.h"
#include "consumer/admin/scan.h"
#include "consumer/admin/topics_survey.h"
#include "consumer/client/client.h"
#include "consumer/client/log_ends.h"
#include "levels/counted.h"
#include "levels/murmur2.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The records of one kind, and the first of them. */
struct kind {
    int n, partition;
    int64_t offset;
    char key[QUOTE_BYTES_TEXT_MAX];
    int lane; /* of its key, by murmur2 */
};

struct sample {
    int partitions, n;
    pthread_mutex_t mutex; /* of all below: the scan has several threads */
    struct kind misplaced, keyless;
};

static void note(struct kind *kind, const rd_kafka_message_t *message, int lane)
{
    if (kind->n++ > 0)
        return;
    kind->partition = message->partition;
    kind->offset = message->offset;
    kind->lane = lane;
    quote_bytes(bytes_of(message->key, message->key_len), kind->key);
}

static bool voids(const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers;
    const void *value;
    size_t len;
    if (rd_kafka_message_headers(message, &headers) != 0 ||
        rd_kafka_header_get_last(headers, "dlb-op", &value, &len) != 0)
        return false;
    struct bytes op = bytes_of(value, len);
    return bytes_equal(op, bytes_text("cancel")) || bytes_equal(op, bytes_text("replace"));
}

static bool each(void *ctx, const struct scan_range *range, const rd_kafka_message_t *message)
{
    struct sample *sample = ctx;
    struct bytes key = bytes_of(message->key, message->key_len);
    int lane =
        message->key == NULL ? message->partition : murmur2_partition(key, sample->partitions);
    (void)range;
    pthread_mutex_lock(&sample->mutex);
    sample->n++;
    if (lane != message->partition)
        note(&sample->misplaced, message, lane);
    if (message->key == NULL && voids(message))
        note(&sample->keyless, message, lane);
    pthread_mutex_unlock(&sample->mutex);
    return true;
}

static void add_findings(const struct config *config, const struct sample *sample,
                         struct findings *findings)
{
    const struct kind *misplaced = &sample->misplaced, *keyless = &sample->keyless;
    char requests[COUNTED_MAX];
    if (misplaced->n > 0)
        finding_add(
            findings, FINDING_WARN, config->schedule, NULL,
            "%d of %s in the sample are in another partition than murmur2 computes for their key. "
            "Cancels do not reach them. One has the key %s, is at %s/%d/%" PRId64
            ", and belongs in "
            "partition %d. Set partitioner=murmur2_random in producers based on librdkafka (kcat, "
            "Python, Go, .NET). Remove partitioner.class from Java producers. Requests older than "
            "added partitions need 'delaybridge cancel --all-lanes', whose copies count here, too",
            misplaced->n, counted(sample->n, "request", requests), misplaced->key, config->schedule,
            misplaced->partition, misplaced->offset, misplaced->lane);
    if (keyless->n > 0)
        finding_add(findings, FINDING_FAULT, config->schedule, NULL,
                    "%d of %s in the sample cancel or replace without a record key, and become "
                    "dead letters (bad_id). One is at %s/%d/%" PRId64 ". Set the record key of the "
                    "request, which decides the partition",
                    keyless->n, counted(sample->n, "request", requests), config->schedule,
                    keyless->partition, keyless->offset);
}

/* Sets the ranges to the last offsets of each partition. */
static int find_ends(const struct scan *scan, struct scan_range *ranges, int n, struct error *error)
{
    const char *schedule = scan->config->schedule;
    rd_kafka_topic_partition_list_t *starts = rd_kafka_topic_partition_list_new(n);
    rd_kafka_topic_partition_list_add_range(starts, schedule, 0, n - 1);
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_copy(starts);
    rd_kafka_resp_err_t code = log_ends_await(scan->rk, starts, LOG_BEGINNING, scan->timeout_ms);
    code = code != 0 ? code : log_ends_await(scan->rk, ends, LOG_END, scan->timeout_ms);
    const int64_t each_n = n < SAMPLE_MAX ? SAMPLE_MAX / n : 1;
    for (int i = 0; code == 0 && i < n; i++) {
        int64_t start = starts->elems[i].offset, end = ends->elems[i].offset;
        ranges[i] = (struct scan_range){.partition = starts->elems[i].partition,
                                        .from = end - start > each_n ? end - each_n : start,
                                        .end = end};
        snprintf(ranges[i].topic, sizeof ranges[i].topic, "%s", schedule);
    }
    rd_kafka_topic_partition_list_destroy(starts);
    rd_kafka_topic_partition_list_destroy(ends);
    return code == 0 ? 0
                     : error_set(error, ERR_KAFKA, "cannot read the offsets of %s: %s", schedule,
                                 rd_kafka_err2str(code));
}

static int read_sample(struct scan *scan, struct sample *sample, struct error *error)
{
    int n = sample->partitions < SAMPLE_MAX ? sample->partitions : SAMPLE_MAX;
    struct scan_range *ranges = calloc((size_t)n, sizeof *ranges);
    if (ranges == NULL)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    int err = find_ends(scan, ranges, n, error);
    if (err == 0)
        err = scan_read(scan, ranges, n, error);
    free(ranges);
    return err;
}

int sample_judge(const struct config *config, int timeout_ms, struct findings *findings, int *n,
                 struct error *error)
{
    struct sample sample = {.partitions = findings->partitions, .mutex = PTHREAD_MUTEX_INITIALIZER};
    struct scan scan = {.config = config, .timeout_ms = timeout_ms, .each = each, .ctx = &sample};
    *n = 0;
    if (sample.partitions == 0)
        return 0; /* no schedule topic, which is a finding */
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, error);
    if (conf == NULL)
        return ERR_CONFIG;
    offsets_conf(config, conf);
    scan.rk = client_new(RD_KAFKA_CONSUMER, conf, error);
    if (scan.rk == NULL)
        return ERR_CONFIG;
    int err = read_sample(&scan, &sample, error);
    rd_kafka_destroy(scan.rk);
    if (err == 0)
        add_findings(config, &sample, findings);
    *n = sample.n;
    return err;
}
