/* SPDX-License-Identifier: Apache-2.0 */
/* The largest record, from the brokers' limit of a request. */
#include "consumer/admin/request_limit.h"

#include "consumer/admin/broker_limits.h"

enum {
    /* Upper bound for the bytes of a request without its record: the names of topic, client and
       transaction, and the header of the batch. */
    FRAME_BYTES = 4096,
    RECORD_LEAST = 1000, /* range of message.max.bytes */
    RECORD_MOST = 1000000000
};

size_t record_max_of_request(int64_t request_max_bytes)
{
    if (request_max_bytes < RECORD_LEAST + FRAME_BYTES)
        return RECORD_LEAST;
    int64_t most = request_max_bytes - FRAME_BYTES;
    return most > RECORD_MOST ? RECORD_MOST : (size_t)most;
}

size_t request_limit_ask(rd_kafka_t *rk, int timeout_ms, bool *known, struct error *error)
{
    struct admin admin = {.rk = rk, .timeout_ms = timeout_ms};
    struct broker_limit limit = {.name = "socket.request.max.bytes"};
    *known = broker_limits_ask(&admin, &limit, 1) == 0 && limit.known;
    *error = admin.error;
    return record_max_of_request(*known ? limit.least : REQUEST_LIMIT_DEFAULT);
}
