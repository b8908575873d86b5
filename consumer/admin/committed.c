/* SPDX-License-Identifier: Apache-2.0 */
/* OffsetFetch, and the refusal of a group that the client hides. */
#include "consumer/admin/committed.h"

#include <stdbool.h>

/* Long enough for a coordinator to refuse the group. */
enum { FIRST_MS = 500 };

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

rd_kafka_resp_err_t committed_read(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                   int timeout_ms)
{
    if (timeout_ms <= FIRST_MS)
        return try_once(rk, list, timeout_ms);
    rd_kafka_resp_err_t code = try_once(rk, list, FIRST_MS);
    return code == RD_KAFKA_RESP_ERR__TIMED_OUT ? try_once(rk, list, timeout_ms - FIRST_MS) : code;
}
