/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the messages of readers. */
#include "consumer/admin/polled.h"

#include "consumer/unreadable.h"

enum polled polled_of(const rd_kafka_message_t *message)
{
    if (message == NULL || message->rkt == NULL)
        return POLLED_NOTHING;
    switch ((int)message->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return POLLED_RECORD;
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        return POLLED_END;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        return POLLED_DENIED;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
        return POLLED_ABSENT;
    default:
        return unreadable_is(message->err) ? POLLED_UNREADABLE : POLLED_NOTHING;
    }
}

int polled_denied(const rd_kafka_message_t *message, int err, struct error *error)
{
    return error_set(error, err, "cannot read %s: allow Read on it",
                     rd_kafka_topic_name(message->rkt));
}
