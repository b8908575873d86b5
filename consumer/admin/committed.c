/* SPDX-License-Identifier: Apache-2.0 */
/* OffsetFetch while the coordinator moves, and the refusal of a group that the client hides. */
#include "consumer/admin/committed.h"

#include "bridge/base/clock.h"

#include <poll.h>
#include <stdbool.h>

/* Long enough for a coordinator to refuse the group. */
enum { FIRST_MS = 500, PAUSE_MS = 50 };

/* Returns whether the coordinator has refused the group. The client retries, so its calls only time
   out, and an error event has the reason. */
static bool is_denied(rd_kafka_t *rk)
{
    bool denied = false;
    rd_kafka_message_t *event;
    while (!denied && (event = rd_kafka_consumer_poll(rk, 0)) != NULL) {
        denied = event->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
        rd_kafka_message_destroy(event);
    }
    return denied;
}

static rd_kafka_resp_err_t try_once(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                    int timeout_ms)
{
    rd_kafka_resp_err_t code = rd_kafka_committed(rk, list, timeout_ms);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR && is_denied(rk))
        return RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
    for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
        code = list->elems[i].err;
    return code;
}

/* Returns whether a broker answered that it is not the coordinator, or not yet. The client retries
   a commit, but not this request. */
static bool is_moving(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ||
           code == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE ||
           code == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS;
}

rd_kafka_resp_err_t committed_read(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                   int timeout_ms)
{
    const int64_t until_mono_ms = clock_mono_ms() + timeout_ms;
    rd_kafka_resp_err_t code = try_once(rk, list, timeout_ms < FIRST_MS ? timeout_ms : FIRST_MS);
    while (code == RD_KAFKA_RESP_ERR__TIMED_OUT || is_moving(code)) {
        int left_ms = (int)(until_mono_ms - clock_mono_ms()) - PAUSE_MS;
        if (left_ms <= 0)
            break;
        poll(NULL, 0, PAUSE_MS);
        code = try_once(rk, list, left_ms);
    }
    return code;
}
