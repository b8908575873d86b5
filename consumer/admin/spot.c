/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns one partition at one offset, and reads until the client answers. */
#include "consumer/admin/spot.h"

#include "bridge/base/clock.h"
#include "consumer/admin/polled.h"
#include "consumer/client/client.h"
#include "consumer/unreadable.h"

#include <inttypes.h>
#include <string.h>

enum { POLL_MS = 100 };

static int open_handle(struct spot *spot, struct error *error)
{
    if (spot->rk != NULL)
        return 0;
    rd_kafka_conf_t *conf = client_conf(spot->config, CLIENT_LEVELS, error);
    if (conf == NULL)
        return ERR_CONFIG;
    unreadable_conf(conf);
    spot->rk = client_new(RD_KAFKA_CONSUMER, conf, error);
    if (spot->rk == NULL)
        return ERR_CONFIG;
    rd_kafka_poll_set_consumer(spot->rk);
    return 0;
}

static int assign_at(struct spot *spot, const char *topic, int partition, int64_t offset,
                     struct error *error)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, topic, partition)->offset = offset;
    rd_kafka_resp_err_t code = rd_kafka_assign(spot->rk, one);
    rd_kafka_topic_partition_list_destroy(one);
    return code == 0 ? 0
                     : error_set(error, ERR_KAFKA, "cannot assign %s/%d: %s", topic, partition,
                                 rd_kafka_err2str(code));
}

/* Returns 1 when *message or its absence is known, 0 to poll again, or ERR_CONFIG. */
static int judge(rd_kafka_message_t *answer, const struct range *at, rd_kafka_message_t **message,
                 struct error *error)
{
    enum polled polled = polled_of(answer);
    if (polled == POLLED_NOTHING || answer->partition != at->partition ||
        strcmp(rd_kafka_topic_name(answer->rkt), at->topic) != 0)
        return 0; /* or an answer to an earlier read */
    switch (polled) {
    case POLLED_DENIED:
        return polled_denied(answer, ERR_CONFIG, error);
    case POLLED_RECORD:
        if (answer->offset == at->from)
            *message = answer;
        return answer->offset >= at->from;
    case POLLED_END:
        return answer->offset >= at->from;
    case POLLED_ABSENT:
    case POLLED_UNREADABLE:
        return 1;
    case POLLED_NOTHING:
        break;
    }
    return 0;
}

int spot_read(struct spot *spot, const char *topic, int partition, int64_t offset,
              rd_kafka_message_t **message, struct error *error)
{
    const struct range at = {topic, partition, offset, offset + 1};
    *message = NULL;
    int64_t until_mono_ms = clock_mono_ms() + spot->timeout_ms;
    int err = open_handle(spot, error);
    if (err == 0)
        err = assign_at(spot, topic, partition, offset, error);
    while (err == 0 && clock_mono_ms() < until_mono_ms) {
        rd_kafka_message_t *answer = rd_kafka_consumer_poll(spot->rk, POLL_MS);
        if (answer == NULL)
            continue;
        err = judge(answer, &at, message, error);
        if (*message != answer)
            rd_kafka_message_destroy(answer);
    }
    if (spot->rk != NULL)
        rd_kafka_assign(spot->rk, NULL);
    if (err < 0)
        return err;
    return err > 0 ? 0
                   : error_set(error, ERR_KAFKA, "%s/%d did not answer in time for offset %" PRId64,
                               topic, partition, offset);
}

int spot_pass(struct spot *spot, const char *topic, int partition, int64_t offset, int64_t *end,
              struct error *error)
{
    struct range range = {topic, partition, offset, offset};
    int err = open_handle(spot, error);
    if (err == 0 && unreadable_find(spot->rk, &range) != 0)
        err = error_set(error, ERR_KAFKA, "the brokers do not answer for %s/%d", topic, partition);
    *end = range.end;
    return err;
}

void spot_deinit(struct spot *spot)
{
    if (spot->rk != NULL)
        rd_kafka_destroy(spot->rk);
    spot->rk = NULL;
}
