/* SPDX-License-Identifier: Apache-2.0 */
/* Admin requests over librdkafka's event queue. */
#include "consumer/client/admin.h"

#include <stdio.h>

/* The broker must answer before the client gives up, so that its reason is received. */
static rd_kafka_AdminOptions_t *options(struct admin *admin, rd_kafka_admin_op_t op)
{
    char why[128];
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(admin->rk, op);
    rd_kafka_AdminOptions_set_request_timeout(options, admin->timeout_ms, why, sizeof why);
    if (op == RD_KAFKA_ADMIN_OP_CREATETOPICS || op == RD_KAFKA_ADMIN_OP_CREATEPARTITIONS)
        rd_kafka_AdminOptions_set_operation_timeout(options, admin->timeout_ms * 3 / 4, why,
                                                    sizeof why);
    if (op == RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS && admin->ask > 0)
        rd_kafka_AdminOptions_set_broker(options, admin->ask, why, sizeof why);
    return options;
}

/* Returns the answer on queue, or NULL with the error in admin. Destroys the queue and the options.
 */
static rd_kafka_event_t *await(struct admin *admin, rd_kafka_queue_t *queue,
                               rd_kafka_AdminOptions_t *sent)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, admin->timeout_ms + 1000);
    rd_kafka_AdminOptions_destroy(sent);
    rd_kafka_queue_destroy(queue);
    admin->code = event == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(event);
    if (admin->code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return event;
    const char *why = event == NULL ? NULL : rd_kafka_event_error_string(event);
    (void)error_set(&admin->error, ERR_KAFKA, "%s",
                    why != NULL ? why : rd_kafka_err2str(admin->code));
    if (event != NULL)
        rd_kafka_event_destroy(event);
    return NULL;
}

rd_kafka_event_t *admin_create(struct admin *admin, rd_kafka_NewTopic_t **topics, size_t n)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin->rk);
    rd_kafka_AdminOptions_t *sent = options(admin, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_CreateTopics(admin->rk, topics, n, sent, queue);
    return await(admin, queue, sent);
}

rd_kafka_event_t *admin_grow(struct admin *admin, rd_kafka_NewPartitions_t **topics, size_t n)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin->rk);
    rd_kafka_AdminOptions_t *sent = options(admin, RD_KAFKA_ADMIN_OP_CREATEPARTITIONS);
    rd_kafka_CreatePartitions(admin->rk, topics, n, sent, queue);
    return await(admin, queue, sent);
}

rd_kafka_event_t *admin_describe(struct admin *admin, rd_kafka_ConfigResource_t **topics, size_t n)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin->rk);
    rd_kafka_AdminOptions_t *sent = options(admin, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(admin->rk, topics, n, sent, queue);
    return await(admin, queue, sent);
}

rd_kafka_event_t *admin_alter(struct admin *admin, rd_kafka_ConfigResource_t **topics, size_t n)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin->rk);
    rd_kafka_AdminOptions_t *sent = options(admin, RD_KAFKA_ADMIN_OP_ALTERCONFIGS);
    rd_kafka_AlterConfigs(admin->rk, topics, n, sent, queue);
    return await(admin, queue, sent);
}

bool admin_is_denied(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE ||
           code == RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION ||
           code == RD_KAFKA_RESP_ERR_INVALID_REQUEST ||
           code == RD_KAFKA_RESP_ERR_POLICY_VIOLATION ||
           code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
           code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
}
