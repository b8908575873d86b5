/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a delivery report. */
#include "consumer/client/writing.h"

#include "consumer/client/client_report.h"

static void on_written(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    struct writing *writing = message->_private;
    (void)rk, (void)opaque;
    if (writing == NULL)
        return;
    writing->err = client_report_err(message);
    writing->is_unknown = client_report_is_unknown(message);
    writing->reported = true;
}

void writing_conf(rd_kafka_conf_t *conf)
{
    rd_kafka_conf_set_dr_msg_cb(conf, on_written);
}

rd_kafka_resp_err_t writing_await(struct writing *w)
{
    rd_kafka_flush(w->rk, w->timeout_ms);
    if (!w->reported) {
        rd_kafka_purge(w->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        /* The callback writes to *w, so it must run before this function returns. */
        rd_kafka_flush(w->rk, w->timeout_ms);
    }
    if (w->reported)
        return w->err;
    w->is_unknown = true;
    return w->err = RD_KAFKA_RESP_ERR__TIMED_OUT;
}
