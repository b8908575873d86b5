/* SPDX-License-Identifier: Apache-2.0 */
/* client_report: which delivery reports are an acknowledgement. */
#include "consumer/client/client_report.h"

#include <criterion/criterion.h>

static rd_kafka_resp_err_t judged(rd_kafka_resp_err_t err, int64_t offset)
{
    return client_report_err(&(rd_kafka_message_t){.err = err, .offset = offset});
}

Test(client_report, record_with_an_offset_is_acknowledged)
{
    cr_expect_eq(judged(0, 0), 0);
    cr_expect_eq(judged(0, INT64_MAX), 0);
    cr_expect_eq(judged(0, -1), 0, "some brokers send no offsets");
}

Test(client_report, success_without_a_response_is_an_unknown_outcome)
{
    cr_expect_eq(judged(0, RD_KAFKA_OFFSET_INVALID), CLIENT_REPORT_UNKNOWN);
}

Test(client_report, error_keeps_its_code)
{
    cr_expect_eq(judged(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_OFFSET_INVALID),
                 RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
}
