/* SPDX-License-Identifier: Apache-2.0 */
/* Last stable offsets and high watermarks of the schedule topic. */
#include "consumer/admin/open_records.h"

#include "bridge/base/clock.h"
#include "consumer/admin/offsets.h"
#include "consumer/admin/topics_survey.h"
#include "consumer/client/log_ends.h"
#include "levels/counted.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LASTING_MS = 1000, LIST_MAX = 128, ELECT_MS = 100 };

int open_records_init(struct open_records *open, const struct config *config, rd_kafka_t *committed,
                      struct error *error)
{
    *open = (struct open_records){.config = config, .committed = committed};
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, error);
    if (conf == NULL)
        return ERR_CONFIG;
    rd_kafka_conf_set(conf, "isolation.level", "read_uncommitted", NULL, 0);
    rd_kafka_conf_set_error_cb(conf, NULL); /* the other handle reports the same outage */
    rd_kafka_conf_set_log_cb(conf, NULL);
    open->uncommitted = client_new(RD_KAFKA_PRODUCER, conf, error);
    return open->uncommitted == NULL ? ERR_CONFIG : 0;
}

void open_records_deinit(struct open_records *open)
{
    rd_kafka_destroy(open->uncommitted);
    open->uncommitted = NULL;
}

/* Requests the high watermarks first. A record that is written between the two requests would
   otherwise look like one of an open transaction. */
int open_records_ask(const struct open_records *open, struct open_lane *lanes, int n,
                     int timeout_ms)
{
    const char *schedule = open->config->schedule;
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_new(n);
    rd_kafka_topic_partition_list_add_range(ends, schedule, 0, n - 1);
    rd_kafka_topic_partition_list_t *stables = rd_kafka_topic_partition_list_copy(ends);
    bool answered = log_ends_ask(open->uncommitted, ends, LOG_END, timeout_ms) == 0 &&
                    log_ends_ask(open->committed, stables, LOG_END, timeout_ms) == 0;
    for (int i = 0; answered && i < n; i++) {
        const rd_kafka_topic_partition_t *end =
            rd_kafka_topic_partition_list_find(ends, schedule, i);
        const rd_kafka_topic_partition_t *stable =
            rd_kafka_topic_partition_list_find(stables, schedule, i);
        bool known = end != NULL && end->err == 0 && stable != NULL && stable->err == 0;
        lanes[i] = known ? (struct open_lane){stable->offset, end->offset} : (struct open_lane){0};
    }
    rd_kafka_topic_partition_list_destroy(ends);
    rd_kafka_topic_partition_list_destroy(stables);
    return answered ? 0 : ERR_KAFKA;
}

int64_t open_records_of(const struct open_lane *lane)
{
    return lane->end_offset > lane->stable_offset ? lane->end_offset - lane->stable_offset : 0;
}

int64_t open_records_lasting(const struct open_lane *before, const struct open_lane *now)
{
    bool lasts = open_records_of(before) > 0 && before->stable_offset == now->stable_offset;
    return lasts ? open_records_of(now) : 0;
}

/* Appends a lane to a list such as "1, 2, 3", or "..." once if there is no room. */
static void list_lane(char list[LIST_MAX], int lane)
{
    size_t n = strlen(list);
    if (n < LIST_MAX - 16)
        snprintf(list + n, LIST_MAX - n, "%s%d", n == 0 ? "" : ", ", lane);
    else if (list[n - 1] != '.')
        snprintf(list + n, LIST_MAX - n, " ...");
}

static void add_finding(const struct open_records *open, const struct open_lane *before,
                        const struct open_lane *now, struct findings *findings)
{
    const char *schedule = open->config->schedule;
    char list[LIST_MAX] = "";
    int64_t records = 0;
    int first = -1;
    for (int i = 0; i < findings->partitions; i++) {
        if (open_records_lasting(&before[i], &now[i]) == 0)
            continue;
        records += open_records_lasting(&before[i], &now[i]);
        first = first < 0 ? i : first;
        list_lane(list, i);
    }
    char text[COUNTED_MAX];
    if (records > 0)
        finding_add(findings, FINDING_WARN, schedule, NULL,
                    "a producer's open transaction holds back %s of %s in partitions %s. Find the "
                    "producer with 'kafka-transactions.sh --bootstrap-server BROKER "
                    "describe-producers --topic %s --partition %d'. If it has ended, use "
                    "'find-hanging --topic %s'",
                    counted(records, "record", text), schedule, list, schedule, first, schedule);
}

/* Repeats the requests for a while. The broker of a partition that was just created denies at first
   that it is the leader, and check often follows topics apply. */
static int request_patiently(const struct open_records *open, struct open_lane *lanes, int n,
                             int timeout_ms)
{
    int64_t until_mono_ms = clock_mono_ms() + timeout_ms;
    int err;
    while ((err = open_records_ask(open, lanes, n, timeout_ms)) != 0 &&
           clock_mono_ms() < until_mono_ms)
        poll(NULL, 0, ELECT_MS);
    return err;
}

int open_records_judge(const struct open_records *open, int timeout_ms, struct findings *findings)
{
    int lanes = findings->partitions;
    if (lanes == 0)
        return 0; /* the schedule topic does not exist */
    struct open_lane *seen = calloc(2 * (size_t)lanes, sizeof *seen);
    if (seen == NULL)
        return ERR_NO_MEMORY;
    struct open_lane *now = seen + lanes;
    int64_t records = 0;
    int err = request_patiently(open, seen, lanes, timeout_ms);
    for (int i = 0; err == 0 && i < lanes; i++)
        records += open_records_of(&seen[i]);
    if (err == 0 && records > 0) { /* only a transaction that is still open later is reported */
        poll(NULL, 0, LASTING_MS);
        err = open_records_ask(open, now, lanes, timeout_ms);
        if (err == 0)
            add_finding(open, seen, now, findings);
    }
    free(seen);
    return err;
}
