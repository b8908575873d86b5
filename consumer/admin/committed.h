/* SPDX-License-Identifier: Apache-2.0 */
/* committed: the committed offsets of a group, for commands. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_COMMITTED_H
#define DELAYBRIDGE_CONSUMER_ADMIN_COMMITTED_H

#include <librdkafka/rdkafka.h>

/* Reads the offset and the metadata that the group of the handle has committed for each partition
   in list. Repeats the request while the coordinator moves. Returns the first error of the call or
   of a partition, or GROUP_AUTHORIZATION_FAILED if the coordinator refuses the group. The handle is
   a consumer without an assignment. */
rd_kafka_resp_err_t committed_read(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                   int timeout_ms);

#endif
