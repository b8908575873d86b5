/* SPDX-License-Identifier: Apache-2.0 */
/* Separates acknowledged records from those whose storage the client inferred. */
#include "consumer/client/client_report.h"

rd_kafka_resp_err_t client_report_err(const rd_kafka_message_t *report)
{
    /* The offset of a response is never RD_KAFKA_OFFSET_INVALID: brokers without one send -1. */
    bool is_inferred = report->err == 0 && report->offset == RD_KAFKA_OFFSET_INVALID;
    return is_inferred ? CLIENT_REPORT_UNKNOWN : report->err;
}

bool client_report_is_unknown(const rd_kafka_message_t *report)
{
    return client_report_err(report) != 0 &&
           rd_kafka_message_status(report) != RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
}

const char *client_report_why(rd_kafka_resp_err_t err)
{
    return err == CLIENT_REPORT_UNKNOWN
               ? "no broker acknowledged this record, so it may be stored or not"
               : rd_kafka_err2str(err);
}
